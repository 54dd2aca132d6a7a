"""A node's folder: what we put into it before lnd starts, and where lnd puts its own.

HOME/                     0700
├── lnd.conf              0600  written anew at each start, read back, compared
├── tls.cert, tls.key     0600  the platform's chain; lnd takes them from here alone
├── remote-signer.*       0600  only while remote signing is on; never in argv
├── data/chain/bitcoin/…  lnd's own
└── logs/bitcoin/…        lnd's own, capped
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden import files
from leyden.domain import remote_signers
from leyden.domain.node_settings import NodeSettings
from leyden.errors import Malformed, SetupError
from leyden.lnd import conf, keys
from leyden.lnd.chains import Chain
from leyden.lnd.options import REPEATABLE, Options, lines
from leyden.values import Struct, hiding

CONF: Final = "lnd.conf"
CERTIFICATE: Final = "tls.cert"
PRIVATE_KEY: Final = "tls.key"
_FOLDER_MODE = 0o700


class Tls(Struct, frozen=True, kw_only=True):
    """The certificate chain a node shows, and its key."""

    chain_pem: bytes
    key_pem: bytes

    __repr__ = hiding("key_pem")


class Owner(Struct, frozen=True):
    """Whose the files are, where each node has a user of its own."""

    uid: int
    gid: int


def log_file(home: Path, chain: Chain) -> Path:
    """Say where lnd writes its log."""
    return home / "logs" / "bitcoin" / chain / "lnd.log"


def network_folder(home: Path, chain: Chain) -> Path:
    """Say where lnd keeps the wallet, and macaroons if it is let."""
    return home / "data" / "chain" / "bitcoin" / chain


def wallet(home: Path, chain: Chain) -> Path:
    """Say where lnd keeps the wallet; without it lnd would make a new one."""
    return network_folder(home, chain) / "wallet.db"


def channel_backup(home: Path, chain: Chain) -> Path:
    """Say where lnd keeps its own encrypted backup of channels."""
    return network_folder(home, chain) / "channel.backup"


def certificate(home: Path) -> bytes:
    """Give the chain that lnd serves; nothing where there is none yet."""
    try:
        with _open_folder(home) as folder:
            return _get(folder, CERTIFICATE)
    except OSError:
        return b""


def origins(home: Path) -> tuple[str, ...]:
    """Give the origins whose pages may talk to the lnd that was started last."""
    try:
        with _open_folder(home) as folder:
            read = conf.read(_get(folder, CONF))
    except (OSError, Malformed):
        return ()
    return tuple(value for key, value in read if key == "restcors")


def render(settings: NodeSettings, options: Options, home: Path) -> dict[str, bytes]:
    """Give the files that follow from the settings, by name; pure, for any runtime.

    Raises when lnd would read the configuration as anything else than was meant.
    """
    if not home.is_absolute() or "$" in str(home):  # lnd expands $NAME in paths
        raise SetupError("a node's folder needs an absolute path without $ in it")
    wanted = lines(settings, options, home)
    files = {CONF: conf.write(wanted)}
    conf.verify(files[CONF], wanted, repeatable=REPEATABLE)
    if settings.remotesigning:
        files[keys.SIGNER_MACAROON] = remote_signers.macaroon_bytes(
            settings.remotesigningmacaroon, field="remotesigningmacaroon"
        )
        files[keys.SIGNER_CERTIFICATE] = remote_signers.certificate_pem(
            settings.remotesigningcert, field="remotesigningcert"
        )
    return files


def write(
    home: Path,
    settings: NodeSettings,
    options: Options,
    *,
    tls: Tls,
    owner: Owner | None = None,
) -> None:
    """Make the folder ready for lnd to start in; doing it again changes nothing.

    1. Render everything, so that a refusal leaves the folder as it was.
    2. Make the folder, or take it as it is, for its owner alone.
    3. Put each file in place whole; take away what is wanted no more.
    4. Read lnd.conf back from the disk and compare it with what was proved in 1.

    Nothing is synced to disk: all of it can be written again, and is at each start.
    """
    wanted = render(settings, options, home)
    wanted[CERTIFICATE], wanted[PRIVATE_KEY] = tls.chain_pem, tls.key_pem
    with _opened(home, owner) as folder:
        files.remove_abandoned_drafts(folder)
        for name, content in wanted.items():
            _put(folder, name, content, owner)
        for name in {keys.SIGNER_MACAROON, keys.SIGNER_CERTIFICATE} - set(wanted):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        if _get(folder, CONF) != wanted[CONF]:
            raise SetupError(f"{home / CONF} does not hold what was written to it")


@contextlib.contextmanager
def _opened(home: Path, owner: Owner | None) -> Iterator[int]:
    """Make the folder, or take it as it is, for its owner alone."""
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=_FOLDER_MODE)
    with _open_folder(home) as folder:
        os.fchmod(folder, _FOLDER_MODE)
        if owner is not None:
            before = os.fstat(folder).st_uid
            if before != owner.uid:
                _hand_over(folder, before, owner)
            os.fchown(folder, owner.uid, owner.gid)
        yield folder


def _hand_over(folder: int, before: int, owner: Owner) -> None:
    """Give all that is in the folder to its new owner; the folder itself comes last.

    So it is begun again when it was broken off. Only what was the old owner's is given:
    a hard link to somebody else's file stays somebody else's.
    """
    for _, folders, others, here in os.fwalk(dir_fd=folder):
        for name in (*folders, *others):
            if os.stat(name, dir_fd=here, follow_symlinks=False).st_uid == before:
                os.chown(name, owner.uid, owner.gid, dir_fd=here, follow_symlinks=False)


@contextlib.contextmanager
def _open_folder(home: Path) -> Iterator[int]:
    """Open the folder itself, never where a link of that name may lead."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(home, flags)
    try:
        yield folder
    finally:
        os.close(folder)


def _put(folder: int, name: str, content: bytes, owner: Owner | None) -> None:
    """Put a file in place whole, with its mode and owner from its first byte."""
    with files.draft_in(folder, name, mode=files.PRIVATE, lasting=False) as file:
        if owner is not None:
            os.fchown(file.fileno(), owner.uid, owner.gid)
        file.write(content)


def _get(folder: int, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        return file.read()
