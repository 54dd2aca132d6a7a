"""Moving a node's folder from this machine, or to it.

ROOT/<node id>                 lnd is started in it, and nowhere else
ROOT/<node id>.sealed          the same folder, while it is moved elsewhere
ROOT/<node id>.copy-<copy>     an arriving copy, until it is complete
ROOT/<node id>.copy-*.deleted  a copy that is being deleted

Only the name differs: nothing can start a renamed folder, not even a process that was
asked to start it earlier and was suspended since.
"""

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from leyden import processes
from leyden.domain.nodes import Node
from leyden.domain.starts import NEVER, Start
from leyden.errors import CopyGone, NodeAway, SetupError
from leyden.files import sync
from leyden.processes import claims
from leyden.runtimes import copies, counter
from leyden.runtimes.base import LaunchSpec
from leyden.runtimes.copies import Content
from leyden.runtimes.layout import Layout

_LND: Final = "lnd"
_DELETED: Final = ".deleted"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalSide:
    """The folders of nodes on this machine."""

    def __init__(self, layout: Layout, *, grace_s: float) -> None:
        self._layout = layout
        self._grace_s = grace_s

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and rename its folder while holding the claim."""
        del launch_spec
        folder, sealed = self._layout.folder(node), self._sealed(node)
        if folder.is_dir():
            # A worker that slept made it below, when the node had left already.
            with suppress(OSError):
                (sealed / _LND).rmdir()
                sealed.rmdir()
        if folder.is_dir() and not sealed.is_dir():
            await self._rename(node)
        if not node.has_wallet:  # it may never have been started
            (sealed / _LND).mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not sealed.is_dir():
            raise SetupError(f"node {node.id}: {folder} is missing")

    async def _rename(self, node: Node) -> None:
        folder, sealed = self._layout.folder(node), self._sealed(node)
        while True:
            try:
                held = await claims.take(self._layout.claim(node))
            except SetupError as error:
                raise NodeAway(f"node {node.id}: {error.message}") from None
            if isinstance(held, int):
                break
            await processes.stop(held, grace_s=self._grace_s)
        try:
            folder.rename(sealed)
            sync(self._layout.root)
        finally:
            os.close(held)

    async def content(self, node: Node) -> Content:
        """Return the digest of the sealed folder."""
        return await asyncio.to_thread(copies.content, self._sealed(node) / _LND)

    def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield lnd's files in the sealed folder."""
        return copies.packed(self._sealed(node) / _LND)

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        copy: str,
        archive: AsyncIterator[bytes],
    ) -> Content:
        """Store a copy in its own folder; delete copies of earlier attempts."""
        del launch_spec
        await asyncio.to_thread(self._delete_copies, node)
        arriving = self._arriving(node, copy)
        arriving.mkdir(mode=0o711)
        await copies.unpack(arriving / _LND, archive)
        return await asyncio.to_thread(copies.content, arriving / _LND)

    async def settle(
        self, node: Node, launch_spec: LaunchSpec, copy: str, last_start: Start
    ) -> Start:
        """Rename the copy to where lnd is started from, after counting the start."""
        del launch_spec
        folder, arriving = self._layout.folder(node), self._arriving(node, copy)
        if arriving.is_dir():
            if folder.exists():
                raise SetupError(
                    f"node {node.id}: {folder} is there, and is not the copy that "
                    "arrived; move it away"
                )
            number = Start(number=last_start.number, copy="")
            if counter.read(arriving / "starts") == NEVER:
                counter.count(arriving / "starts", number)
            arriving.chmod(0o711)
            arriving.rename(folder)
            sync(self._layout.root)
        elif not folder.is_dir():
            raise CopyGone(f"node {node.id}: the copy that arrived is not there")
        return counter.read(self._layout.starts(node))

    async def unseal(self, node: Node) -> None:
        """Rename the sealed folder back."""
        sealed, folder = self._sealed(node), self._layout.folder(node)
        if not sealed.is_dir():
            return
        if folder.exists():
            raise SetupError(
                f"node {node.id}: {folder} and {sealed} are there; move the first away"
            )
        sealed.rename(folder)
        sync(self._layout.root)

    @asynccontextmanager
    async def leftovers(
        self, node: Node
    ) -> AsyncGenerator[Callable[[], Awaitable[None]], None]:
        """Find the sealed folder and copies; never the folder lnd is started in."""
        arrived = await asyncio.to_thread(self._copies, node)
        with ExitStack() as opened:
            found: dict[Path, int] = {}
            for path in (self._sealed(node), *arrived):
                with suppress(FileNotFoundError):
                    # While it is open no other folder can have its number.
                    found[path] = folder = os.open(path, _FOLDER)
                    opened.callback(os.close, folder)

            async def delete() -> None:
                for path, folder in found.items():
                    await asyncio.to_thread(_delete, path, folder)

            yield delete

    def _sealed(self, node: Node) -> Path:
        return self._layout.root / f"{node.id}.sealed"

    def _arriving(self, node: Node, copy: str) -> Path:
        return self._layout.root / f"{node.id}.copy-{copy}"

    def _copies(self, node: Node) -> list[Path]:
        return list(self._layout.root.glob(f"{node.id}.copy-*"))

    def _delete_copies(self, node: Node) -> None:
        for each in self._copies(node):
            shutil.rmtree(_marked(each))


def _marked(copy: Path) -> Path:
    """Rename a copy, so that nobody settles it while it is deleted."""
    if copy.suffix == _DELETED:  # whoever renamed it was killed
        return copy
    return copy.rename(f"{copy}.{secrets.token_hex(4)}{_DELETED}")


def _delete(path: Path, folder: int) -> None:
    """Delete an open folder, and its name unless another folder has that by now."""
    with os.scandir(folder) as entries:
        for each in list(entries):
            with suppress(FileNotFoundError):
                if each.is_dir(follow_symlinks=False):
                    shutil.rmtree(each.name, dir_fd=folder)
                else:
                    os.unlink(each.name, dir_fd=folder)
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(folder), path.lstat()):
            path.rmdir()
