"""On-chain outputs that pay for orders, and what was booked for each."""

from collections.abc import Iterable, Sequence

from leyden.base.database.statements import Row, Run, SqlFile, Value
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.rules.payments import KnownOutput, Outpoint, OutputState
from leyden.errors import Stale

sql = SqlFile(__file__)


class Outputs:
    """The rows of chain_output."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, new: Sequence[KnownOutput]) -> None:
        """Store outputs not seen before."""
        await self._run.many(sql.add, [row_of(output) for output in new])

    async def save(self, changed: Sequence[tuple[KnownOutput, KnownOutput]]) -> None:
        """Write changed outputs; raise Stale if one changed since it was read."""
        touched = await self._run.many(
            sql.save,
            [{**row_of(after), "was": str(before.state)} for before, after in changed],
        )
        if touched != len(changed):
            raise Stale("an output changed in the meantime")

    async def of_orders(self, order_ids: Iterable[str]) -> list[KnownOutput]:
        """Return every output ever seen for these orders."""
        rows = await self._run(sql.of_orders, order_ids=tuple(order_ids))
        return [output_of(row) for row in rows]

    async def of_order(self, order_id: str) -> list[KnownOutput]:
        """Return every output ever seen for an order."""
        rows = await self._run(sql.of_order, order_id=order_id)
        return [output_of(row) for row in rows]

    async def watched(self, *, after: str = "", limit: int = 500) -> list[str]:
        """Return the ids of orders with an output that may still change."""
        rows = await self._run(sql.watched, after=after, limit=limit)
        return [row[0] for row in rows]


def row_of(output: KnownOutput) -> dict[str, Value]:
    """Convert the output to a row."""
    return {
        "txid": output.outpoint.txid,
        "vout": output.outpoint.vout,
        "order_id": output.order_id,
        "sats": output.sats,
        "state": str(output.state),
        "seen": to_us(output.first_seen),
        "bookings": output.bookings,
        "to_order": output.to_order,
    }


def output_of(row: Row) -> KnownOutput:
    """Build the output from a row."""
    txid, vout, order_id, sats, state, first_seen, bookings, to_order = row
    return KnownOutput(
        outpoint=Outpoint(txid, vout),
        order_id=order_id,
        sats=Sats(sats),
        state=OutputState(state),
        first_seen=from_us(first_seen),
        bookings=bookings,
        to_order=Sats(to_order),
    )
