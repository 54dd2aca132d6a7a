"""Objects beside the snapshots in a store: small files, written once.

They lie in `changes/` of the store's folder or bucket, where restic does not look.
"""

import asyncio
import contextlib
import re
from pathlib import Path
from typing import Final, Protocol

from leyden.backups.store.s3 import S3
from leyden.backups.store.store import StoreAccess, shown
from leyden.base.files import write_private
from leyden.errors import SetupError

FOLDER: Final = "changes"
_S3: Final = re.compile(r"s3:(?:(https?)://)?([^/]+)/([^/]+)/?(.*)")


class Objects(Protocol):
    """Where objects are kept, by name; a name may have slashes in it."""

    async def put(self, name: str, content: bytes) -> None:
        """Store an object, durably; replace one of this name."""

    async def get(self, name: str) -> bytes | None:
        """Return an object; None if there is none."""

    async def names(self, prefix: str) -> list[str]:
        """List the names that begin so, in order."""

    async def delete(self, name: str) -> None:
        """Delete an object; no-op if there is none."""


def objects(access: StoreAccess) -> Objects:
    """Return the objects of a store; raise SetupError for one that keeps none."""
    if found := _S3.fullmatch(access.location):
        scheme, host, bucket, prefix = found.groups()
        return S3(
            url=f"{scheme or 'https'}://{host}/{bucket}",
            prefix="/".join(part for part in (prefix.strip("/"), FOLDER) if part),
            key_id=access.s3_key_id,
            secret=access.s3_secret,
        )
    if ":" in access.location.partition("/")[0]:
        raise SetupError(
            f"backup_store: {shown(access.location)} keeps no changes between backups: "
            "use a folder or an S3-compatible store, or lower backup_every_s"
        )
    return Folder(Path(access.location) / FOLDER)


class Folder:
    """Objects as files."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, name: str, content: bytes) -> None:
        """Write a file, and rename it into place once it is on the disk."""

        def write() -> None:
            if not self._root.parent.is_dir():
                raise FileNotFoundError(2, "is not there", str(self._root.parent))
            path = self._root / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, content)

        await asyncio.to_thread(write)

    async def get(self, name: str) -> bytes | None:
        """Read a file."""
        try:
            return await asyncio.to_thread((self._root / name).read_bytes)
        except FileNotFoundError:
            return None

    async def names(self, prefix: str) -> list[str]:
        """List the files, but for drafts."""

        def found() -> list[str]:
            paths = (path for path in self._root.rglob("[!.]*") if path.is_file())
            return sorted(str(path.relative_to(self._root)) for path in paths)

        return [
            name for name in await asyncio.to_thread(found) if name.startswith(prefix)
        ]

    async def delete(self, name: str) -> None:
        """Delete a file, and its folder with the last one."""

        def remove() -> None:
            path = self._root / name
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                path.parent.rmdir()

        await asyncio.to_thread(remove)
