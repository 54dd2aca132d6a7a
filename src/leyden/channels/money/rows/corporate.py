"""Corporate accounts: organizations that pay later, up to a limit."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import to_us
from leyden.base.rules.units import Sats

sql = SqlFile(__file__)


class CorporateAccounts:
    """The rows of corporate_account."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def limit(self, organization_id: str) -> Sats | None:
        """Return the account's limit; None if there is no corporate account."""
        rows = await self._run(sql.limit, organization_id=organization_id)
        return Sats(rows[0][0]) if rows else None

    async def set_limit(
        self, organization_id: str, most_owed: Sats, *, since: datetime
    ) -> None:
        """Open the account, or change its limit."""
        await self._run(
            sql.set_limit,
            organization_id=organization_id,
            most_owed=most_owed,
            since=to_us(since),
        )

    async def end(self, organization_id: str) -> None:
        """Close the account; its debt remains."""
        await self._run(sql.end, organization_id=organization_id)
