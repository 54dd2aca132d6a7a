"""Chain outputs that pay for orders, and what was booked for each."""

from collections.abc import Iterable, Sequence

from sqlalchemy import BigInteger, bindparam, insert, literal_column, select, update

from leyden.domain.payments import KnownOutput, Outpoint, OutputState
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.errors import Stale
from leyden.storage.statements import Row, Run
from leyden.storage.tables_money import outputs
from leyden.storage.words import is_among, written_words

_this = (
    outputs.c.txid == bindparam("of_txid"),
    outputs.c.vout == bindparam("of_vout"),
)
_ADD = insert(outputs)
_OF_ORDERS = select(outputs).where(is_among(outputs.c.order_id, "order_ids"))
_SAVE = (
    update(outputs)
    .where(*_this, outputs.c.state == bindparam("was"))
    .values(
        state=bindparam("state"),
        bookings=bindparam("bookings"),
        to_order=bindparam("to_order"),
    )
)
_OF_ORDER = (
    select(outputs)
    .where(outputs.c.order_id == bindparam("order_id"))
    .order_by(outputs.c.seen, outputs.c.txid, outputs.c.vout)
)
_WATCHED = (
    select(outputs.c.order_id)
    .where(
        # Spelled out, so that the index on just these rows is used.
        outputs.c.state.in_([literal_column("'seen'"), literal_column("'booked'")]),
        outputs.c.order_id > bindparam("after"),
    )
    .distinct()
    .order_by(outputs.c.order_id)
    .limit(bindparam("most", type_=BigInteger))
)


class Outputs:
    """The rows of chain_output."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, new: Sequence[KnownOutput]) -> None:
        """Keep outputs that were not seen before."""
        await self._run.many(
            _ADD,
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
            _SAVE,
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
        rows = await self._run(_OF_ORDERS, order_ids=written_words(order_ids))
        return [_output(row) for row in rows]

    async def of_order(self, order_id: str) -> list[KnownOutput]:
        """Give every output that was ever seen for an order."""
        rows = await self._run(_OF_ORDER, order_id=order_id)
        return [_output(row) for row in rows]

    async def watched(self, *, after: str = "", most: int = 500) -> list[str]:
        """Give the ids of orders with an output that may still change."""
        rows = await self._run(_WATCHED, after=after, most=most)
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
