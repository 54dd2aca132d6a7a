"""The public key of the seller's lnd, as first seen."""

from leyden.storage.statements import Run, SqlFile

sql = SqlFile("seller")


class Seller:
    """The one row of seller."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> str:
        """Return the seller's public key; "" if it was never seen."""
        rows = await self._run(sql.find)
        return str(rows[0][0]) if rows else ""

    async def lock(self) -> None:
        """Let nobody else promise coins until the commit."""
        await self._run(sql.lock)

    async def add(self, pubkey: str) -> None:
        """Store the seller's public key; no-op if one is stored."""
        await self._run(sql.add, pubkey=pubkey)

    async def replace(self, pubkey: str) -> None:
        """Replace the seller's public key."""
        await self._run(sql.replace, pubkey=pubkey)
