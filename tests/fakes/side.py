"""A side of moves in memory, for tests: a node's only data is its launch spec."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from leyden.domain.nodes import Node
from leyden.domain.starts import Start, next_number
from leyden.errors import ClusterAway, CopyGone, SetupError
from leyden.runtimes.base import LaunchSpec
from leyden.runtimes.copies import Content
from tests.fakes.runtime import FakeRuntime


class FakeSide:
    """A side of moves between fake runtimes: a home holds only its launch spec."""

    def __init__(self, runtime: FakeRuntime) -> None:
        self.runtime = runtime
        self.sealed: dict[str, LaunchSpec] = {}
        self.copies: dict[tuple[str, str], LaunchSpec] = {}
        self.fails = ""  # why nothing can be written here
        self.damages = False  # the bytes written here

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and hide its home."""
        if node.id in self.sealed:
            return
        self.runtime.end(node.id)
        self.sealed[node.id] = self.runtime.homes.pop(node.id, launch_spec)

    async def content(self, node: Node) -> Content:
        """Return a digest of the sealed home."""
        return _content(node, damaged=False)

    async def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield the node's id."""
        yield node.id.encode()

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        copy: str,
        archive: AsyncIterator[bytes],
    ) -> Content:
        """Store a copy; delete those of earlier attempts."""
        if self.fails:
            raise ClusterAway(self.fails)
        async for _ in archive:
            pass
        for each in self._copies(node):
            del self.copies[each]
        self.copies[node.id, copy] = launch_spec
        return _content(node, damaged=self.damages)

    async def settle(
        self, node: Node, launch_spec: LaunchSpec, copy: str, last_start: Start
    ) -> Start:
        """Move a copy to where it can be started."""
        del launch_spec
        if (node.id, copy) in self.copies:
            if node.id in self.runtime.homes:
                raise SetupError(
                    f"node {node.id}: its home is not the copy that arrived"
                )
            self.runtime.homes[node.id] = self.copies.pop((node.id, copy))
        elif node.id not in self.runtime.homes:
            raise CopyGone(f"node {node.id}: the copy that arrived is not there")
        return Start(number=next_number(last_start, last_start), copy="")

    async def unseal(self, node: Node) -> None:
        """Unseal the home."""
        if node.id in self.sealed:
            self.runtime.homes[node.id] = self.sealed.pop(node.id)

    @asynccontextmanager
    async def leftovers(
        self, node: Node
    ) -> AsyncGenerator[Callable[[], Awaitable[None]], None]:
        """Find the sealed home, and copies."""
        sealed = self.sealed.get(node.id)
        copies = {each: self.copies[each] for each in self._copies(node)}

        async def delete() -> None:
            if sealed is not None and self.sealed.get(node.id) is sealed:
                del self.sealed[node.id]
            for each, found in copies.items():
                if self.copies.get(each) is found:
                    del self.copies[each]

        yield delete

    def _copies(self, node: Node) -> list[tuple[str, str]]:
        return [each for each in self.copies if each[0] == node.id]


def _content(node: Node, *, damaged: bool) -> Content:
    return Content(digest="damaged" if damaged else node.id, size=len(node.id))
