"""Authorities from before a rotation, until no node shows their certificates.

FOLDER/
├── former/DIGEST.pem  the root of one, without its key
├── anchors.pem        the root and those of former ones: what clients trust meanwhile
└── next/              a new authority on its way to FOLDER; `complete` goes on with it
"""

import hashlib
import shutil
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from leyden.base.files import write_whole
from leyden.base.processes import locked
from leyden.nodes.certificates.signing import ROOT_KEY, SEALED_ROOT_KEY

NEXT: Final = "next"
_FORMER: Final = "former"
_ANCHORS: Final = "anchors.pem"
_PUBLIC: Final = 0o644
# An authority has one of these, or none where the key is kept elsewhere.
_KEYS: Final = (ROOT_KEY, SEALED_ROOT_KEY)
# In the order in which a new authority's are put in place.
_FILES: Final = ("root.pem", *_KEYS, "intermediate.pem")


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Let one process at a time change an authority: renew, rotate or reseal it."""
    with locked(folder.with_name(f".{folder.name}.change.lock")):
        yield


def sealed_keys(folder: Path) -> list[Path]:
    """List the sealed keys of the root, and of one on its way to the folder."""
    found = (folder / SEALED_ROOT_KEY, folder / NEXT / SEALED_ROOT_KEY)
    return [path for path in found if path.exists()]


def roots(folder: Path) -> tuple[bytes, ...]:
    """Return the roots of former authorities, as PEM."""
    found = []
    for path in _paths(folder):
        with suppress(FileNotFoundError):  # forgotten by another process just now
            found.append(path.read_bytes())
    return tuple(found)


def digests(folder: Path) -> set[str]:
    """Return the SHA-256 digests of former roots."""
    return {path.stem for path in _paths(folder)}


def _paths(folder: Path) -> list[Path]:
    return sorted((folder / _FORMER).glob("*.pem"))


def is_under_way(folder: Path) -> bool:
    """Return whether a rotation was begun that has to be gone on with."""
    return (folder / NEXT / "intermediate.pem").exists()


def complete(folder: Path) -> None:
    """Put the new authority in place, or delete one that is only half made.

    Killed anywhere, the next call goes on: its intermediate.pem is moved last. The
    keys of the authority before are gone afterwards: it signs nothing any more.
    """
    new = folder / NEXT
    if not is_under_way(folder):
        shutil.rmtree(new, ignore_errors=True)  # the settings may be others by now
        return
    if (root := new / "root.pem").exists():
        _remember((folder / "root.pem").read_bytes(), folder)
        chain = b"".join((root.read_bytes(), *roots(folder)))
        write_whole(folder / _ANCHORS, chain, mode=_PUBLIC)
        for name in _KEYS:
            if not (new / name).exists():
                (folder / name).unlink(missing_ok=True)
    for name in _FILES:
        if (new / name).exists():
            (new / name).replace(folder / name)
    shutil.rmtree(new)
    (folder / f".{NEXT}.lock").unlink(missing_ok=True)


def _remember(root_pem: bytes, folder: Path) -> None:
    der = ssl.PEM_cert_to_DER_cert(root_pem.decode())
    (folder / _FORMER).mkdir(mode=0o700, exist_ok=True)
    path = folder / _FORMER / f"{hashlib.sha256(der).hexdigest()}.pem"
    write_whole(path, root_pem, mode=_PUBLIC)


def forget(folder: Path) -> None:
    """Forget former authorities: no node shows a certificate of theirs."""
    root = (folder / "root.pem").read_bytes()
    write_whole(folder / _ANCHORS, root, mode=_PUBLIC)
    shutil.rmtree(folder / _FORMER, ignore_errors=True)


def anchors_path(folder: Path) -> Path:
    """Return the file that clients of all nodes trust."""
    path = folder / _ANCHORS
    return path if path.exists() else folder / "root.pem"
