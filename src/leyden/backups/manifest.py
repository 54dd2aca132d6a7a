"""The manifest of a backup: what it is of, and what it must contain."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from leyden.backups.facts import Facts
from leyden.errors import SetupError
from leyden.values import Struct

NAME: Final = "manifest.json"
FORMAT: Final = 1


class File(Struct, frozen=True, kw_only=True):
    """A file of a backup."""

    size: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The description of a backup."""

    format: int = FORMAT
    leyden: str
    schema: str
    installation: str
    made: str
    database: str  # the name of its file
    files: dict[str, File]
    facts: Facts


def file(path: Path) -> File:
    """Return the size and the digest of a file."""
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return File(size=content.tell(), sha256=digest)


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a backup."""
    content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (folder / NAME).write_bytes(content)


def read(folder: Path) -> Manifest:
    """Read the manifest of a backup; raise SetupError for one of a newer version."""
    try:
        content = (folder / NAME).read_bytes()
        form = msgspec.json.decode(content, type=_Form).format
        if form > FORMAT:
            raise SetupError(
                f"the backup has format {form}, which this version of Leyden does not "
                "know; install the version that made it, or a newer one"
            )
        return msgspec.json.decode(content, type=Manifest)
    except FileNotFoundError:
        raise SetupError(f"the backup has no {NAME}: it is not one of Leyden") from None
    except msgspec.MsgspecError as error:
        raise SetupError(f"the backup's {NAME} cannot be read: {error}") from None


class _Form(Struct):
    format: int


def differences(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield differences between a fetched backup and its manifest."""
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file():
            yield f"{name}: missing in the backup"
        elif file(path) != expected:
            yield f"{name}: differs from what was backed up"
    if manifest.database not in manifest.files:
        yield "the backup has no database"


def compare(found: Facts, expected: Facts, *, what: str) -> Iterator[str]:
    """Yield differences between a database's facts and the manifest's."""
    for name in sorted(found.rows.keys() | expected.rows.keys()):
        is_, was = found.rows.get(name, 0), expected.rows.get(name, 0)
        if is_ != was:
            yield f"{what}: table {name} has {is_} rows, but had {was}"
    for name in sorted(found.books.keys() | expected.books.keys()):
        is_, was = found.books.get(name, 0), expected.books.get(name, 0)
        if is_ != was:
            yield f"{what}: the ledger's {name} is {is_:,} sat, but was {was:,}"
