"""The part of a backup that only the recovery key opens: keys, authority, settings.

The content is a tar file that exists only in memory:

    secrets.json        the sealing keys
    settings.toml       all settings that are not the default
    files/SETTING       the small files that settings name: macaroons, certificates
    home/...            of the home folder: authority, tickets of a simulated market,
                        and what the next backup needs
"""

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from leyden.base import settings
from leyden.base.database.secrets import Sealer
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.values import Struct, hiding

NAME: Final = "keys.age"
SECRETS: Final = "secrets.json"
SETTINGS: Final = "settings.toml"
IN_HOME: Final = ("authority", "tickets.json", "backup/password", "backup/recipients")
# Settings that name a file without which the installation does not run.
NAMING_FILES: Final = (
    *("api_tls_certificate", "api_tls_key", "gateway_control_ca", "kubeconfig"),
    *("acme_authorities", "testnet_rpc_certificate", "mainnet_rpc_certificate"),
    *("treasury_certificate", "treasury_macaroon", "pool_certificate"),
    *("pool_macaroon", "seller_certificate", "seller_macaroon"),
    *("jit_certificate", "jit_macaroon", "buy_certificate", "buy_macaroon"),
    *("webhook_authorities", "smtp_authorities"),
)
# Settings about this machine; a restore on another one asks for them again.
_OF_THE_MACHINE: Final = frozenset({"home", "database_url", "secrets_file"})
_LIMIT: Final = 16 << 20
_PURPOSE: Final = "installation of a backup"
_ID_BYTES: Final = 8


class Bundle(Struct, frozen=True):
    """The files of a bundle by name."""

    files: dict[str, bytes]

    __repr__ = hiding("files")


def gather(settings: Settings) -> Bundle:
    """Read all files of the bundle."""
    files = {
        SECRETS: _content(settings.secrets_path),
        SETTINGS: _toml(settings).encode(),
    }
    for name in NAMING_FILES:
        if path := getattr(settings, name):
            files[f"files/{name}"] = _content(Path(path).expanduser(), setting=name)
    for name in IN_HOME:
        for path in _below(settings.home_path / name):
            files[f"home/{path.relative_to(settings.home_path)}"] = _content(path)
    return Bundle(files)


def pack(bundle: Bundle) -> bytes:
    """Return the bundle as one tar."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in sorted(bundle.files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def unpack(content: bytes) -> Bundle:
    """Return the files of a tar file; raise SetupError if one is missing."""
    files = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for entry in tar:
                path = PurePosixPath(entry.name)
                if not entry.isfile() or path.is_absolute() or ".." in path.parts:
                    raise SetupError(f"the backup's {NAME} contains an invalid name")
                file = tar.extractfile(entry)
                files[entry.name] = file.read() if file is not None else b""
    except tarfile.TarError as error:
        raise SetupError(f"the backup's {NAME} cannot be read: {error}") from None
    if missing := {SECRETS, SETTINGS} - files.keys():
        raise SetupError(f"the backup's {NAME} lacks {', '.join(sorted(missing))}")
    return Bundle(files)


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (each for each in sorted(path.rglob("*")) if each.is_file())


def _content(path: Path, *, setting: str = "") -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LIMIT + 1)
    except OSError as error:
        where = f"{setting}: {path}" if setting else str(path)
        raise SetupError(f"{where}: cannot be backed up: {error.strerror}") from None
    if len(content) > _LIMIT:
        raise SetupError(f"{path}: is too large to be a key or a certificate")
    return content


def _toml(given: Settings) -> str:
    lines = ["# The settings of this installation when it was backed up."]
    lines += [
        line(name, value)
        for name, default, _ in settings.every_setting()
        if name not in _OF_THE_MACHINE and (value := getattr(given, name)) != default
    ]
    return "\n".join(lines) + "\n"


def line(name: str, value: Any) -> str:
    """Return a setting as a line of TOML, whose values look almost as in JSON.

    TOML knows no pairs of surrogates, such as JSON's of an emoji, and no DEL.
    """
    shown = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"{name} = {shown}"


def installation_id(sealer: Sealer) -> str:
    """Return the permanent id of this installation.

    It is derived from the keys, survives their rotation and every restore, and reveals
    nothing about them.
    """
    return sealer.digest(b"", purpose=_PURPOSE)[:_ID_BYTES].hex()
