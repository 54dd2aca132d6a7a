"""The onion services of nodes: sealed keys, and where Tor forwards each."""

from collections.abc import Iterable

from leyden.base.database.statements import Run, SqlFile
from leyden.errors import NotFound

sql = SqlFile(__file__)


class NodeOnions:
    """The rows of node_onion."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, node_id: str, seed: bytes) -> None:
        """Store a node's sealed key; its service is not in Tor yet."""
        await self._run(sql.add, node_id=node_id, seed=seed)

    async def seed(self, node_id: str) -> bytes:
        """Return a node's sealed key, or raise NotFound."""
        if not (rows := await self._run(sql.seed, node_id=node_id)):
            raise NotFound
        return bytes(rows[0][0])

    async def targets(self) -> dict[str, str]:
        """Return the target that each node's service has in Tor, by node id."""
        return dict(await self._run(sql.targets))

    async def set_target(self, node_id: str, target: str) -> None:
        """Store the target that a node's service has in Tor."""
        await self._run(sql.set_target, node_id=node_id, told=target)

    async def ours(self, hosts: Iterable[str]) -> set[str]:
        """Return which of these hosts belong, or belonged, to our nodes."""
        rows = await self._run(sql.ours, hosts=tuple(hosts))
        return {host for (host,) in rows}

    async def delete(self, node_id: str) -> None:
        """Delete a node's key."""
        await self._run(sql.delete, node_id=node_id)
