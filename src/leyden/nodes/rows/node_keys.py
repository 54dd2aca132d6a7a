"""The public keys of hosted nodes, read from lnd's files."""

from collections.abc import Iterable

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

    async def of_nodes(self, node_ids: Iterable[str]) -> set[str]:
        """Return those of these nodes whose public key is known."""
        rows = await self._run(sql.of_nodes, node_ids=tuple(node_ids))
        return {node_id for (node_id,) in rows}

    async def with_keys(
        self, organization_id: str, pubkeys: Iterable[str]
    ) -> dict[str, str]:
        """Return which of an organization's nodes have these public keys, by key."""
        wanted = tuple(pubkeys)
        return dict(
            await self._run(
                sql.with_keys, organization_id=organization_id, pubkeys=wanted
            )
        )

    async def keep(self, node_id: str, pubkey: str) -> None:
        """Store a node's public key; it replaces the previous one."""
        await self._run(sql.keep, node_id=node_id, pubkey=pubkey)

    async def delete(self, node_id: str) -> None:
        """Delete a node's public key."""
        await self._run(sql.delete, node_id=node_id)
