"""The interface for moving a node's data between runtimes.

Any process may repeat all steps from the beginning. No method starts an lnd, and nobody
can start a node with sealed data.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Protocol

from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.copies import Content


class MoveEndpoint(Protocol):
    """A runtime that a node's data is moved from or to."""

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """Stop the node's lnd, and seal its data so that it cannot be started here."""
        ...

    async def content(self, node: Node) -> Content:
        """Return the digest of the sealed data, read from the disk now."""
        ...

    def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield the sealed data as a tar archive."""
        ...

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        archive: AsyncIterator[bytes],
        sealed: Content,
    ) -> str:
        """Store a copy durably, and return its name.

        Raise SetupError if it differs from what was sealed, read from the disk. Data
        that lnd is started with is never replaced.
        """
        ...

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Make a copy what lnd is started with; count this as a start."""
        ...

    async def unseal(self, node: Node) -> None:
        """Unseal the data, so that the node can be started; no-op if not sealed."""
        ...

    async def leftovers(self, node: Node) -> Sequence[str]:
        """Return what a move has left here, by names that are never used again.

        The node is on the other side.
        """
        ...

    async def delete(self, node: Node, found: Sequence[str]) -> None:
        """Delete what `leftovers` found, and nothing that a later move brought here."""
        ...
