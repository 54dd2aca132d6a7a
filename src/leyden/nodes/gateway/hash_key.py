"""The key of the hashes by which the connection limits count, one for each gateway.

Sources and nodes are counted under some bits of a hash. With a hash that everybody can
compute, a stranger chose an address that is counted together with somebody else's, and
used up their connections. So a random key is put into the filter before Envoy loads it.
"""

import secrets
from importlib.resources import files
from pathlib import Path
from typing import Final

from leyden.base.files import write_private
from leyden.errors import SetupError
from leyden.nodes.gateway.filters import LIMITS

BYTES: Final = 16
PLACEHOLDER: Final = b"leyden hash key!"  # where the compiled filter has room for it
_FILE: Final = "limits.key"


def new() -> bytes:
    """Return a new key."""
    return secrets.token_bytes(BYTES)


def load_or_create(folder: Path) -> bytes:
    """Return a folder's key; the first call creates it.

    It stays, so that an Envoy that runs there is recognized again.
    """
    path = folder / _FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            write_private(path, new())
        return path.read_bytes()
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None


def with_key(key: bytes) -> bytes:
    """Return the filter with this key in it."""
    if len(key) != BYTES:
        raise SetupError(f"{_FILE}: must have {BYTES} bytes; delete it, for a new one")
    compiled = files(__package__).joinpath(LIMITS).read_bytes()
    before, after = compiled.split(PLACEHOLDER)
    return before + key + after
