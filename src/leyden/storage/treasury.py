"""The lnd that takes our payments, as it was first seen."""

from leyden.storage.statements import Run
from leyden.storage.written import treasury as sql
from leyden.values import Struct


class Remembered(Struct, frozen=True):
    """Who the treasury is, and who was found in its place; empty is nobody."""

    pubkey: str
    stranger: str


class Treasury:
    """The one row of treasury."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> Remembered | None:
        """Give who it is, once it was seen."""
        rows = await self._run(sql.FIND)
        return Remembered(*rows[0]) if rows else None

    async def add(self, pubkey: str) -> None:
        """Remember who it is; nothing when somebody is remembered already."""
        await self._run(sql.ADD, pubkey=pubkey)

    async def take(self, pubkey: str) -> None:
        """Let it be this one from now on."""
        await self._run(sql.TAKE, known=pubkey)

    async def notice(self, stranger: str) -> None:
        """Note who is in its place; empty once it is back."""
        await self._run(sql.NOTICE, found=stranger)
