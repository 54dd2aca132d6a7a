"""Chain outputs that pay for orders, and what was booked for each."""

from collections.abc import Iterable, Sequence

from leyden.domain.payments import KnownOutput, Outpoint, OutputState
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.errors import Stale
from leyden.storage.statements import Row, Run
from leyden.storage.words import written_words
from leyden.storage.written import outputs as sql


class Outputs:
    """The rows of chain_output."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, new: Sequence[KnownOutput]) -> None:
        """Keep outputs that were not seen before."""
        await self._run.many(
            sql.ADD,
            [
                {
                    "txid": output.outpoint.txid,
                    "vout": output.outpoint.vout,
                    "order_id": output.order_id,
                    "sats": output.sats,
                    "state": output.state,
                    "seen": to_us(output.seen),
                    "bookings": output.bookings,
                    "to_order": output.to_order,
                }
                for output in new
            ],
        )

    async def save(self, changed: Sequence[tuple[KnownOutput, KnownOutput]]) -> None:
        """Write what may change; Stale when someone changed one of them first."""
        touched = await self._run.many(
            sql.SAVE,
            [
                {
                    "of_txid": before.outpoint.txid,
                    "of_vout": before.outpoint.vout,
                    "was": before.state,
                    "state": after.state,
                    "bookings": after.bookings,
                    "to_order": after.to_order,
                }
                for before, after in changed
            ],
        )
        if touched != len(changed):
            raise Stale("an output has changed meanwhile")

    async def of_orders(self, order_ids: Iterable[str]) -> list[KnownOutput]:
        """Give every output that was ever seen for these orders."""
        rows = await self._run(sql.OF_ORDERS, order_ids=written_words(order_ids))
        return [_output(row) for row in rows]

    async def of_order(self, order_id: str) -> list[KnownOutput]:
        """Give every output that was ever seen for an order."""
        rows = await self._run(sql.OF_ORDER, order_id=order_id)
        return [_output(row) for row in rows]

    async def watched(self, *, after: str = "", most: int = 500) -> list[str]:
        """Give the ids of orders with an output that may still change."""
        rows = await self._run(sql.WATCHED, after=after, most=most)
        return [row[0] for row in rows]


def _output(row: Row) -> KnownOutput:
    txid, vout, order_id, sats, state, seen, bookings, to_order = row
    return KnownOutput(
        outpoint=Outpoint(txid, vout),
        order_id=order_id,
        sats=Sats(sats),
        state=OutputState(state),
        seen=from_us(seen),
        bookings=bookings,
        to_order=Sats(to_order),
    )
