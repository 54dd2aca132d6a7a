"""Corporate accounts: organizations that pay later, up to a limit."""

from datetime import datetime

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from leyden.domain.times import to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Run
from leyden.storage.tables_money import corporate_accounts as accounts

_new = insert(accounts).values(
    organization_id=bindparam("organization_id"),
    most_owed=bindparam("most_owed"),
    since=bindparam("since"),
)
_SET = _new.on_conflict_do_update(
    index_elements=["organization_id"], set_={"most_owed": _new.excluded.most_owed}
)
_END = delete(accounts).where(accounts.c.organization_id == bindparam("of"))
_LIMIT = select(accounts.c.most_owed).where(
    accounts.c.organization_id == bindparam("organization_id")
)


class CorporateAccounts:
    """The rows of corporate_account."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def limit(self, organization_id: str) -> Sats | None:
        """Give how much an organization may owe; None when it has no such account."""
        rows = await self._run(_LIMIT, organization_id=organization_id)
        return Sats(rows[0][0]) if rows else None

    async def set_limit(
        self, organization_id: str, most_owed: Sats, *, since: datetime
    ) -> None:
        """Let an organization owe that much from now on."""
        await self._run(
            _SET,
            organization_id=organization_id,
            most_owed=most_owed,
            since=to_us(since),
        )

    async def end(self, organization_id: str) -> None:
        """Let it owe nothing more; what it owes, it owes."""
        await self._run(_END, of=organization_id)
