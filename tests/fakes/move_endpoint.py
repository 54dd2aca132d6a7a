"""A side of moves in memory, for tests: a node's only data is its launch spec."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from leyden.errors import ClusterAway, SetupError
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start, next_number
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.copies import Content
from tests.fakes.runtime import FakeRuntime


class FakeMoveEndpoint:
    """A side of moves between fake runtimes: a home holds only its launch spec."""

    def __init__(self, runtime: FakeRuntime) -> None:
        self.runtime = runtime
        self.sealed: dict[str, LaunchSpec] = {}
        self.copies: dict[str, LaunchSpec] = {}
        self.fails = ""  # why nothing can be written here
        self.damages = False  # the bytes written here
        self._names = 0

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and hide its home."""
        if not _of(node, self.sealed):
            self.runtime.end(node.id)
            home = self.runtime.homes.pop(node.id, launch_spec)
            self.sealed[self._name(node)] = home

    async def content(self, node: Node) -> Content:
        """Return a digest of the sealed home."""
        return Content(digest=node.id, size=len(node.id))

    async def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield the node's id."""
        yield node.id.encode()

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        archive: AsyncIterator[bytes],
        sealed: Content,
    ) -> str:
        """Store a copy."""
        if self.fails:
            raise ClusterAway(self.fails)
        async for _ in archive:
            pass
        if self.damages:
            sealed.refuse_difference(Content(digest="damaged", size=0))
        copy = self._name(node)
        self.copies[copy] = launch_spec
        return copy

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Move a copy to where it can be started."""
        if copy in self.copies:
            if node.id in self.runtime.homes:
                raise SetupError(
                    f"node {node.id}: its home is not the copy that arrived"
                )
            self.runtime.homes[node.id] = self.copies[copy]
        elif node.id not in self.runtime.homes:
            raise SetupError(f"node {node.id}: the copy is missing")
        await self.delete(node, _of(node, self.copies))
        return Start(number=next_number(last_start, last_start), copy="")

    async def unseal(self, node: Node) -> None:
        """Unseal the home."""
        for each in _of(node, self.sealed):
            self.runtime.homes[node.id] = self.sealed.pop(each)

    async def leftovers(self, node: Node) -> Sequence[str]:
        """Return the names of sealed homes and copies."""
        return [*_of(node, self.sealed), *_of(node, self.copies)]

    async def delete(self, node: Node, found: Sequence[str]) -> None:
        """Delete these."""
        del node
        for each in found:
            self.sealed.pop(each, None)
            self.copies.pop(each, None)

    def _name(self, node: Node) -> str:
        self._names += 1
        return f"{node.id}.{self._names}"


def _of(node: Node, found: dict[str, LaunchSpec]) -> list[str]:
    return [each for each in found if each.startswith(f"{node.id}.")]
