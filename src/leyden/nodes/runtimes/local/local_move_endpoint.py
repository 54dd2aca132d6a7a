"""Moving a node's folder from this machine, or to it.

ROOT/<node id>                 lnd is started in it, and nowhere else
ROOT/<node id>.sealed-<name>   the same folder, while it is moved elsewhere
ROOT/<node id>.copy-<name>     a copy, until the node is assigned to this machine

Only the name differs: nothing can start a renamed folder, not even a process that was
asked to start it earlier. Each seal and each copy has a name of its own, so that a
process that deletes one, or still writes one, never touches a later one.
"""

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from leyden.base import processes
from leyden.base.files import sync
from leyden.base.processes import claims
from leyden.errors import NodeAway, SetupError
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start
from leyden.nodes.runtimes import copies
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.copies import Content
from leyden.nodes.runtimes.local import counter
from leyden.nodes.runtimes.local.layout import Layout

_LND: Final = "lnd"


class LocalMoveEndpoint:
    """The folders of nodes on this machine."""

    def __init__(self, layout: Layout, *, grace_s: float) -> None:
        self._layout = layout
        self._grace_s = grace_s

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and rename its folder while holding the claim."""
        del launch_spec
        if not self._found(node, "sealed"):
            folder = self._layout.folder(node)
            if not node.has_wallet:  # it may never have been started
                (folder / _LND).mkdir(mode=0o700, parents=True, exist_ok=True)
            elif not folder.is_dir():
                raise SetupError(f"node {node.id}: {folder} is missing")
            await self._rename(node)
        self._sealed(node)

    async def _rename(self, node: Node) -> None:
        while True:
            try:
                held = await claims.take(self._layout.claim(node))
            except SetupError as error:
                raise NodeAway(f"node {node.id}: {error.message}") from None
            if isinstance(held, int):
                break
            await processes.stop(held, grace_s=self._grace_s)
        try:
            self._layout.folder(node).rename(self._new(node, "sealed"))
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
        archive: AsyncIterator[bytes],
        sealed: Content,
    ) -> str:
        """Store a copy in a folder of its own, which is deleted if this fails."""
        del launch_spec
        copy = self._new(node, "copy")
        copy.mkdir(mode=0o711)
        try:
            await copies.unpack(copy / _LND, archive)
            sealed.refuse_difference(
                await asyncio.to_thread(copies.content, copy / _LND)
            )
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, copy)
            raise
        sync(copy)
        sync(self._layout.root)
        return copy.name

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Count the start, rename the copy to where lnd is started, delete others."""
        folder, stored = self._layout.folder(node), self._layout.root / copy
        if stored.is_dir():
            if folder.exists():
                raise SetupError(
                    f"node {node.id}: {folder} is there, and is not the copy that "
                    "arrived; move it away"
                )
            counter.count(stored / "starts", last_start)
            stored.rename(folder)
            sync(self._layout.root)
        elif not folder.is_dir():
            raise SetupError(f"node {node.id}: the copy {stored} is missing")
        await self.delete(node, self._found(node, "copy"))  # of processes that died
        return counter.read(self._layout.starts(node))

    async def unseal(self, node: Node) -> None:
        """Rename the sealed folder back."""
        if self._found(node, "sealed"):
            self._sealed(node).rename(self._layout.folder(node))
            sync(self._layout.root)

    async def leftovers(self, node: Node) -> Sequence[str]:
        """Return sealed folders and copies; never the folder lnd is started in."""
        return [*self._found(node, "sealed"), *self._found(node, "copy")]

    async def delete(self, node: Node, found: Sequence[str]) -> None:
        """Delete these folders."""
        del node
        for each in found:
            if (path := self._layout.root / each).is_dir():
                await asyncio.to_thread(shutil.rmtree, path)

    def _new(self, node: Node, kind: str) -> Path:
        return self._layout.root / f"{node.id}.{kind}-{secrets.token_hex(8)}"

    def _found(self, node: Node, kind: str) -> list[str]:
        return [p.name for p in self._layout.root.glob(f"{node.id}.{kind}-*")]

    def _sealed(self, node: Node) -> Path:
        """Return the sealed folder; raise unless it is the node's only one."""
        root, folder = self._layout.root, self._layout.folder(node)
        paths = [root / each for each in self._found(node, "sealed")]
        if len(paths) != 1 or folder.exists():
            existing = ", ".join(str(p) for p in (folder, *paths) if p.exists())
            raise SetupError(
                f"node {node.id}: one sealed folder is expected, and there is "
                f"{existing or 'none'}; move the others away"
            )
        return paths[0]
