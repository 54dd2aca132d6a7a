"""The treasury's public key, as first seen."""

from leyden.base.database.statements import Run, SqlFile
from leyden.values import Struct

sql = SqlFile(__file__)


class RememberedTreasury(Struct, frozen=True):
    """The treasury's public key, and that of another lnd in its place."""

    pubkey: str
    stranger: str


class TreasuryRow:
    """The one row of treasury."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> RememberedTreasury | None:
        """Return the treasury's public key; None if it was never seen."""
        rows = await self._run(sql.find)
        return RememberedTreasury(*rows[0]) if rows else None

    async def add(self, pubkey: str) -> None:
        """Store the treasury's public key; no-op if one is stored."""
        await self._run(sql.add, pubkey=pubkey)

    async def replace(self, pubkey: str) -> None:
        """Replace the treasury's public key."""
        await self._run(sql.replace, pubkey=pubkey)

    async def set_stranger(self, stranger: str) -> None:
        """Store the public key of an lnd in the treasury's place; empty if none."""
        await self._run(sql.set_stranger, stranger=stranger)
