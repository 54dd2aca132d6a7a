"""Moving a node's data: what is asked of the runtime that has it, or is to have it.

All of it may be done again from the beginning, by whichever process. Nothing here
starts an lnd, and what is sealed cannot be started by anybody.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

from leyden.domain.nodes import Node
from leyden.domain.starts import Start
from leyden.runtimes.base import LaunchSpec
from leyden.runtimes.copies import Content


class Side(Protocol):
    """A runtime that a node's data is moved from, or to."""

    async def seal(self, node: Node, launch_spec: LaunchSpec) -> None:
        """End the node's lnd, and keep everybody from starting it here."""
        ...

    async def content(self, node: Node) -> Content:
        """Return the digest of what is sealed, as it is read from the disk now."""
        ...

    def read(self, node: Node) -> AsyncGenerator[bytes, None]:
        """Yield what is sealed, as a tar archive."""
        ...

    async def write(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        copy: str,
        archive: AsyncIterator[bytes],
    ) -> Content:
        """Store a copy beside all others, durably; return its digest from the disk."""
        ...

    async def settle(self, node: Node, copy: str, last_start: Start) -> Start:
        """Put a copy where lnd is started from, counted as a start."""
        ...

    async def unseal(self, node: Node) -> None:
        """Let what was sealed be started again; nothing where nothing is sealed."""
        ...

    async def clean(self, node: Node) -> None:
        """Delete what a move has left here of a node that is elsewhere."""
        ...
