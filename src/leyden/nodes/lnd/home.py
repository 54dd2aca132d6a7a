"""A node's folder: the files we write before lnd starts, and lnd's own.

HOME/                     0700
├── lnd.conf              0600  rewritten and verified at each start
├── tls.cert, tls.key     0600  the platform's chain; lnd reads no other
├── remote-signer.*       0600  only with remote signing; never in argv
├── data/chain/bitcoin/…  lnd's own
└── logs/bitcoin/…        lnd's own, capped
"""

import contextlib
import os
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from leyden.base import files
from leyden.errors import Malformed, SetupError
from leyden.nodes.lnd import conf, keys
from leyden.nodes.lnd.chains import Chain
from leyden.nodes.lnd.options import REPEATABLE, Options, lines
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.values import Struct, hiding

CONF: Final = "lnd.conf"
CERTIFICATE: Final = "tls.cert"
PRIVATE_KEY: Final = "tls.key"
_FOLDER_MODE = 0o700
_FOLDERS_ABOVE = 3  # from the log, and from the graph, to lnd's own folder


class Tls(Struct, frozen=True, kw_only=True):
    """The certificate chain a node serves, and its key."""

    chain_pem: bytes
    key_pem: bytes

    __repr__ = hiding("key_pem")


class FileOwner(Struct, frozen=True):
    """The user who owns the files, if each node has its own user."""

    uid: int
    gid: int


def open_theirs(path: str | Path) -> BufferedReader:
    """Open lnd's log, or its graph, to read; raise OSError behind any link.

    Its user may have replaced the file, or a folder on the way: we may be root.
    """
    path = Path(path)
    opened = files.open_theirs_below(path.parents[_FOLDERS_ABOVE], path)
    return os.fdopen(opened, "rb")


def log_file(home: Path, chain: Chain) -> Path:
    """Return the path of lnd's log."""
    return home / "logs" / "bitcoin" / chain / "lnd.log"


def network_folder(home: Path, chain: Chain) -> Path:
    """Return the folder of lnd's wallet, and of macaroons if enabled."""
    return home / "data" / "chain" / "bitcoin" / chain


def has_wallet(home: Path) -> bool:
    """Return whether the folder has a wallet, on any chain."""
    return any(home.glob("data/chain/*/*/wallet.db"))


def wallet(home: Path, chain: Chain) -> Path:
    """Return the path of the wallet file."""
    return network_folder(home, chain) / "wallet.db"


def channel_backup(home: Path, chain: Chain) -> Path:
    """Return the path of lnd's own encrypted channel backup."""
    return network_folder(home, chain) / "channel.backup"


def graph(home: Path, chain: Chain) -> Path:
    """Return the path of lnd's database of channels and the graph."""
    return home / "data" / "graph" / chain / "channel.db"


def certificate(home: Path) -> bytes:
    """Return the certificate chain that lnd serves; empty if there is none yet."""
    try:
        with _open_folder(home) as folder:
            return _get(folder, CERTIFICATE)
    except OSError:
        return b""


def origins(home: Path) -> tuple[str, ...]:
    """Return the origins that may call lnd, as configured at its last start."""
    try:
        with _open_folder(home) as folder:
            read = conf.read(_get(folder, CONF))
    except (OSError, Malformed):
        return ()
    return tuple(value for key, value in read if key == "restcors")


def render(settings: NodeSettings, options: Options, home: Path) -> dict[str, bytes]:
    """Return the files for these settings, by name; pure, for any runtime.

    Raise if lnd would read the configuration differently.
    """
    if not home.is_absolute() or "$" in str(home):  # lnd expands $NAME in paths
        raise SetupError("a node's folder needs an absolute path without $ in it")
    wanted = lines(settings, options, home)
    files = {CONF: conf.write(wanted)}
    conf.verify(files[CONF], wanted, repeatable=REPEATABLE)
    files |= keys.files(settings)
    return files


def write(
    home: Path,
    settings: NodeSettings,
    options: Options,
    *,
    tls: Tls,
    owner: FileOwner | None = None,
) -> None:
    """Prepare the folder for lnd's start; a second call changes nothing.

    1. Render everything first, so that an error leaves the folder unchanged.
    2. Create the folder if it is missing, for its owner only.
    3. Replace each file atomically; delete files that are no longer needed.
    4. Read lnd.conf back from the disk and compare it with the result of 1.

    Nothing is synced to disk, as every file is written again at each start.
    """
    wanted = render(settings, options, home)
    wanted[CERTIFICATE], wanted[PRIVATE_KEY] = tls.chain_pem, tls.key_pem
    with _opened(home, owner) as folder:
        files.remove_abandoned_drafts(folder)
        for name, content in wanted.items():
            _put(folder, name, content, owner)
        for name in keys.FILES - set(wanted):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        if _get(folder, CONF) != wanted[CONF]:
            raise SetupError(f"{home / CONF} does not contain what was written to it")


@contextlib.contextmanager
def _opened(home: Path, owner: FileOwner | None) -> Iterator[int]:
    """Open the folder, created if missing, for its owner only."""
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


def _hand_over(folder: int, before: int, owner: FileOwner) -> None:
    """Change the owner of the folder's content, then of the folder itself.

    In this order an interrupted run is repeated in full. Only the old owner's
    files change: a hard link to another user's file keeps its owner.
    """
    for _, folders, others, here in os.fwalk(dir_fd=folder):
        for name in (*folders, *others):
            if os.stat(name, dir_fd=here, follow_symlinks=False).st_uid == before:
                os.chown(name, owner.uid, owner.gid, dir_fd=here, follow_symlinks=False)


@contextlib.contextmanager
def _open_folder(home: Path) -> Iterator[int]:
    """Open the folder itself, never the target of a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(home, flags)
    try:
        yield folder
    finally:
        os.close(folder)


def _put(folder: int, name: str, content: bytes, owner: FileOwner | None) -> None:
    """Replace a file atomically, with mode and owner from the first byte."""
    with files.draft_in(folder, name, mode=files.PRIVATE, lasting=False) as file:
        if owner is not None:
            os.fchown(file.fileno(), owner.uid, owner.gid)
        file.write(content)


def _get(folder: int, name: str) -> bytes:
    with os.fdopen(files.open_theirs(name, folder=folder), "rb") as file:
        return file.read()
