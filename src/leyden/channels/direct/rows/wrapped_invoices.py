"""What orders of wrapped invoices have beside other just-in-time orders."""

from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import to_us
from leyden.channels.direct.rules.wrapped import WrappedInvoice

sql = SqlFile(__file__)


class WrappedInvoices:
    """The rows of jit_wrapped."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, wrapped: WrappedInvoice) -> bool:
        """Store it; return False if its payment hash was used before."""
        return bool(
            await self._run(
                sql.add,
                order_id=wrapped.order_id,
                payment_hash=wrapped.payment_hash,
                inner_request=wrapped.inner,
                wrapped_request=wrapped.wrapped,
                delta=wrapped.delta,
                address=wrapped.address,
            )
        )

    async def with_hash(self, payment_hash: str) -> WrappedInvoice | None:
        """Return the one with this payment hash, if there is one."""
        rows = await self._run(sql.with_hash, payment_hash=payment_hash)
        return _wrapped(rows[0]) if rows else None

    async def created(self, order_id: str, request: str) -> None:
        """Store the hold invoice, to return it to who asks again."""
        await self._run(sql.created, order_id=order_id, wrapped_request=request)

    async def open(self) -> list[WrappedInvoice]:
        """Return those whose hold invoice may still be paid, held or settled."""
        return [_wrapped(row) for row in await self._run(sql.open)]

    async def close(self, order_id: str) -> bool:
        """Store that the hold invoice is over; return False if that was known."""
        return bool(await self._run(sql.close, order_id=order_id))

    async def count_open(self, *, purse: str) -> int:
        """Count those of this purse whose hold invoice is not over."""
        return int((await self._run(sql.count_open, purse=purse))[0][0])

    async def open_of_address(self, address: str, *, purse: str) -> int:
        """Count those that an HTTP client's address asked this purse for."""
        rows = await self._run(sql.open_of_address, address=address, purse=purse)
        return int(rows[0][0])

    async def without_cost(self) -> list[str]:
        """Return the orders whose channel's cost is not known yet."""
        return [str(row[0]) for row in await self._run(sql.without_cost)]

    async def prune(self, *, before: datetime, limit: int) -> None:
        """Delete orders that nobody paid, and that expired before then."""
        rows = await self._run(sql.prunable, before=to_us(before), limit=limit)
        if gone := tuple(str(row[0]) for row in rows):
            await self._run(sql.delete, order_ids=gone)
            await self._run(sql.delete_orders, order_ids=gone)


def _wrapped(row: Row) -> WrappedInvoice:
    order_id, payment_hash, inner, wrapped, delta, address, closed = row
    return WrappedInvoice(
        order_id=order_id,
        payment_hash=payment_hash,
        inner=inner,
        wrapped=wrapped,
        delta=delta,
        address=address,
        closed=bool(closed),
    )
