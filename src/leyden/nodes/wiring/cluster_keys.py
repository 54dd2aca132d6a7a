"""The keys of an installation in a cluster: a Secret that is created once.

Replicas mount it read-only. They never create keys: two that did would not be able to
read what the other has stored.
"""

import base64
import secrets
import tempfile
from pathlib import Path
from typing import Final

import yaml

from leyden.base.database.secrets import Keyring, Sealer, save_keyring
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.nodes.wiring import authorities
from leyden.values import replace

KEYRING: Final = "secrets.json"
GATEWAY_TOKEN: Final = "gateway_token"  # noqa: S105  a name
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder that is on no disk
_AUTHORITY: Final = ("root.pem", "intermediate.pem", authorities.ROOT_KEY)


def manifest(settings: Settings, *, name: str) -> str:
    """Return a Secret with new keys, as YAML; created in memory if possible."""
    memory = str(_MEMORY) if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        home = Path(folder)
        keyring = Keyring.new()
        save_keyring(home / KEYRING, keyring)
        own = replace(settings, home=folder, secrets_file="")
        authorities.ensure(own, Sealer(keyring), now=utc_now())
        content = {
            KEYRING: (home / KEYRING).read_bytes(),
            GATEWAY_TOKEN: secrets.token_urlsafe(32).encode(),
            **{
                each: (authorities.folder_of(own) / each).read_bytes()
                for each in _AUTHORITY
            },
        }
    made = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "Opaque",
        "data": {key: base64.b64encode(each).decode() for key, each in content.items()},
    }
    return yaml.safe_dump(made, sort_keys=False)
