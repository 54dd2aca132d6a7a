"""Rows of wrapped invoices: LSPS2 does not see them, and each hash is there once."""

from datetime import timedelta

from leyden.base.database.database import Database
from leyden.channels.direct.rules.jit import JitStatus
from leyden.channels.direct.rules.wrapped import WrappedInvoice, id_from
from leyden.values import replace
from tests.channels.rows.test_jit_orders import ORDER

END = ORDER.valid_until
EARLY = ORDER.created - timedelta(seconds=1)
ROW = WrappedInvoice(
    order_id="",
    payment_hash="",
    inner="lnbcrt1inner",
    wrapped="",
    delta=80,
    address="192.0.2.1",
)


async def stored(db: Database) -> dict[JitStatus, WrappedInvoice]:
    """Store an order of each status; return what they have beside others."""
    found = {}
    async with db.transaction() as tx:
        for number, status in enumerate(JitStatus):
            order = replace(ORDER, id=id_from(number), status=status)
            row = replace(ROW, order_id=order.id, payment_hash=f"{number:064x}")
            assert await tx.jit_orders.add(order)
            assert await tx.wrapped_invoices.add(row)
            found[status] = row
    return found


async def test_lsps2_neither_follows_nor_ends_nor_deletes_them(db: Database) -> None:
    await stored(db)
    orders = db.reader.jit_orders
    assert await orders.unresolved(since=EARLY) == []
    assert await orders.lapsed(now=END, limit=9) == []
    async with db.transaction() as tx:
        assert await tx.jit_orders.prune(before=END, limit=9) == 0
    assert len(await orders.in_states(list(JitStatus))) == len(JitStatus)


async def test_a_payment_hash_is_there_once(db: Database) -> None:
    rows = await stored(db)
    async with db.transaction() as tx:
        other = replace(ORDER, id=id_from(99))
        assert await tx.jit_orders.add(other)
        again = replace(rows[JitStatus.SOLD], order_id=other.id)
        assert not await tx.wrapped_invoices.add(again)
    found = await db.reader.wrapped_invoices.with_hash(again.payment_hash)
    assert found == rows[JitStatus.SOLD]
    assert await db.reader.wrapped_invoices.with_hash("ff" * 32) is None


async def test_they_are_open_and_counted_until_they_are_closed(db: Database) -> None:
    rows = await stored(db)
    reader, total = db.reader.wrapped_invoices, len(JitStatus)
    first = rows[JitStatus.SOLD]
    async with db.transaction() as tx:
        await tx.wrapped_invoices.created(first.order_id, "lnbcrt1wrapped")
        assert await tx.wrapped_invoices.close(first.order_id)
        assert not await tx.wrapped_invoices.close(first.order_id)
        await tx.wrapped_invoices.created(first.order_id, "another")
    assert first.order_id not in {each.order_id for each in await reader.open()}
    one, other = ORDER.purse, "03" * 33
    assert len(await reader.open()) == await reader.count_open(purse=one) == total - 1
    assert await reader.open_of_address("192.0.2.1", purse=one) == total - 1
    assert await reader.open_of_address("192.0.2.2", purse=one) == 0
    assert await reader.count_open(purse=other) == 0
    assert await reader.open_of_address("192.0.2.1", purse=other) == 0
    found = await reader.with_hash(first.payment_hash)
    assert found == replace(first, wrapped="lnbcrt1wrapped", closed=True)


async def test_only_expired_and_closed_ones_are_deleted(db: Database) -> None:
    rows = await stored(db)
    async with db.transaction() as tx:
        await tx.wrapped_invoices.prune(before=END, limit=9)
    assert len(await db.reader.wrapped_invoices.open()) == len(JitStatus)
    async with db.transaction() as tx:
        for each in rows.values():
            await tx.wrapped_invoices.close(each.order_id)
        await tx.wrapped_invoices.prune(before=END - timedelta(seconds=1), limit=9)
    orders = db.reader.jit_orders
    assert len(await orders.in_states(list(JitStatus))) == len(JitStatus)
    async with db.transaction() as tx:
        await tx.wrapped_invoices.prune(before=END, limit=9)
    left = {each.status for each in await orders.in_states(list(JitStatus))}
    assert left == set(JitStatus) - {JitStatus.EXPIRED}
    gone = rows[JitStatus.EXPIRED].payment_hash
    assert await db.reader.wrapped_invoices.with_hash(gone) is None


async def test_channels_whose_cost_is_not_known_are_listed(db: Database) -> None:
    rows = await stored(db)
    wanted = {rows[each].order_id for each in (JitStatus.UNPAID, JitStatus.EARNED)}
    reader = db.reader
    assert set(await reader.wrapped_invoices.without_cost()) == wanted
    async with db.transaction() as tx:
        for each in await tx.jit_orders.in_states([JitStatus.UNPAID]):
            await tx.jit_orders.save(each, replace(each, funding_fee=ORDER.capacity))
    assert await reader.wrapped_invoices.without_cost() == [
        rows[JitStatus.EARNED].order_id
    ]
