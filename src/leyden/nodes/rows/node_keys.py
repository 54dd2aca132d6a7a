"""The public keys of hosted nodes, read from lnd's files."""

from leyden.base.database.statements import Run, SqlFile

sql = SqlFile(__file__)


class NodeKeys:
    """The rows of node_key."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self, node_id: str) -> str:
        """Return a node's public key; "" until it is known."""
        rows = await self._run(sql.find, node_id=node_id)
        return str(rows[0][0]) if rows else ""

    async def keep(self, node_id: str, pubkey: str) -> None:
        """Store a node's public key; it replaces the previous one."""
        await self._run(sql.keep, node_id=node_id, pubkey=pubkey)

    async def delete(self, node_id: str) -> None:
        """Delete a node's public key."""
        await self._run(sql.delete, node_id=node_id)
