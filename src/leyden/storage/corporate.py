"""Corporate accounts: organizations that pay later, up to a limit."""

from datetime import datetime

from leyden.domain.times import to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Run
from leyden.storage.written import corporate as sql


class CorporateAccounts:
    """The rows of corporate_account."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def limit(self, organization_id: str) -> Sats | None:
        """Give how much an organization may owe; None when it has no such account."""
        rows = await self._run(sql.LIMIT, organization_id=organization_id)
        return Sats(rows[0][0]) if rows else None

    async def set_limit(
        self, organization_id: str, most_owed: Sats, *, since: datetime
    ) -> None:
        """Let an organization owe that much from now on."""
        await self._run(
            sql.SET,
            organization_id=organization_id,
            most_owed=most_owed,
            since=to_us(since),
        )

    async def end(self, organization_id: str) -> None:
        """Let it owe nothing more; what it owes, it owes."""
        await self._run(sql.END, of=organization_id)
