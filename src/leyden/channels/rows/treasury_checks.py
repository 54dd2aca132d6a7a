"""The last comparison of the ledger with the treasury."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct

sql = SqlFile(__file__)


class TreasuryCheck(Struct, frozen=True, kw_only=True):
    """When the treasury was last compared with the ledger, and what differed."""

    at: datetime
    orders: int  # whose payments were compared
    unknown: int  # of them, whose invoice the treasury does not know
    differences: int


class TreasuryChecks:
    """The one row of treasury_check."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> TreasuryCheck | None:
        """Return the last comparison; None if there was none."""
        rows = await self._run(sql.find)
        if not rows:
            return None
        at, orders, unknown, differences = rows[0]
        return TreasuryCheck(
            at=from_us(at), orders=orders, unknown=unknown, differences=differences
        )

    async def save(self, done: TreasuryCheck) -> None:
        """Store a comparison as the last one."""
        await self._run(
            sql.save,
            at=to_us(done.at),
            orders=done.orders,
            unknown=done.unknown,
            differences=done.differences,
        )
