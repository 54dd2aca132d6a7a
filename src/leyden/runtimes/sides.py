"""The interface for moving a node's data between runtimes.

Any process may repeat all steps from the beginning. No method starts an lnd, and nobody
can start a node with sealed data.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from leyden.domain.nodes import Node
from leyden.domain.starts import Start
from leyden.runtimes.base import LaunchSpec
from leyden.runtimes.copies import Content


class Side(Protocol):
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
        copy: str,
        archive: AsyncIterator[bytes],
    ) -> Content:
        """Store a copy durably; return its digest, read from the disk.

        It replaces copies, and never what was settled: whoever calls this may have
        been suspended since another process went on with the move.
        """
        ...

    async def settle(
        self, node: Node, launch_spec: LaunchSpec, copy: str, last_start: Start
    ) -> Start:
        """Make a copy what lnd is started with; count this as a start.

        Raise CopyGone unless this copy is there: another one may have replaced it.
        """
        ...

    async def unseal(self, node: Node) -> None:
        """Unseal the data, so that the node can be started; no-op if not sealed."""
        ...

    def leftovers(
        self, node: Node
    ) -> AbstractAsyncContextManager[Callable[[], Awaitable[None]]]:
        """Find what a move has left here; yield a function that deletes only that.

        The node is on the other side. A process that is suspended between finding and
        deleting may resume after a later move has put the node's data here.
        """
        ...
