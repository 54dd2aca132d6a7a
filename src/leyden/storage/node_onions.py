"""The onion services of nodes: sealed keys, and what Tor was told of them."""

from collections.abc import Iterable

from leyden.errors import NotFound
from leyden.storage.statements import Run, SqlFile

sql = SqlFile("node_onions")


class NodeOnions:
    """The rows of node_onion."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node_id: str, seed: bytes) -> None:
        """Store a node's sealed key; Tor was told nothing of it."""
        await self._run(sql.add, node_id=node_id, seed=seed)

    async def seed(self, node_id: str) -> bytes:
        """Return a node's sealed key, or raise NotFound."""
        if not (rows := await self._run(sql.seed, node_id=node_id)):
            raise NotFound
        return bytes(rows[0][0])

    async def told(self) -> dict[str, str]:
        """Return where Tor was told to lead each node's service, by the node's id."""
        return dict(await self._run(sql.told))

    async def tell(self, node_id: str, told: str) -> None:
        """Store what Tor was told of a node's service."""
        await self._run(sql.tell, node_id=node_id, told=told)

    async def ours(self, hosts: Iterable[str]) -> set[str]:
        """Return which of these hosts are, or were, our nodes'."""
        rows = await self._run(sql.ours, hosts=tuple(hosts))
        return {host for (host,) in rows}

    async def forget(self, node_id: str) -> None:
        """Delete a node's key."""
        await self._run(sql.forget, node_id=node_id)
