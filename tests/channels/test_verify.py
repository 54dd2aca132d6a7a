"""Each rule of money that `verify` checks can fail, and says where.

What no test could make red would prove nothing wherever it is asked for.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.statements import OnlyReads, Row, Run, Statement, Value
from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels.books.verify import verify
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.values import replace
from tests.channels.failing_database import FailingDatabase, Fuse
from tests.channels.orders_harness import LIGHTHOUSE, PRICE, OrdersHarness, request_of
from tests.channels.pausing_database import Happens


class Books(OrdersHarness):
    """A shop with a coupon, tickets for coins and an HTLC, and a cancelled order."""

    by_chain: Order
    by_lightning: Order
    cancelled: Order

    async def found(self) -> "Books":
        await self.open()
        await self.give_credit(1_000)
        self.cancelled = await self.cancel(await self.create())
        self.by_chain = await self.create(who=LIGHTHOUSE)
        self.payments.send(self.by_chain.onchain_address, PRICE)
        self.payments.mine()
        self.by_lightning = await self.create()
        self.payments.pay(request_of(self.by_lightning))
        await self.settle_down()
        assert await self.status(self.by_chain) is OrderStatus.CREATED
        assert await self.status(self.by_lightning) is OrderStatus.CREATED
        await self.prove()
        return self

    async def broken(self) -> list[str]:
        """Verify; orders and outputs by their names here."""
        found = [str(each) for each in await verify(self.database, self.payments)]
        for name in ("by_chain", "by_lightning", "cancelled"):
            order = getattr(self, name)
            found = [each.replace(order.id, name) for each in found]
        for at in self.payments.outputs():
            found = [each.replace(str(at.outpoint), "OUTPUT") for each in found]
        return found


@pytest.fixture
async def books(db: Database, sealer: Sealer) -> Books:
    return await Books(database=db, sealer=sealer).found()


_ENTRY = (
    "INSERT INTO entry (key, at, what, source, target, sats, order_id, actor, note) "
    "VALUES ('forged', 0, 'correction', "
)


@pytest.mark.parametrize(
    ("order", "forgery", "found"),
    [
        (
            "",
            "UPDATE balance SET sats = sats + 1 WHERE place = 'credit:harbour'",
            [
                (
                    "I2: the stored balance of credit:harbour is 1 sat, but its "
                    "entries sum to 0"
                )
            ],
        ),
        (
            "",
            f"{_ENTRY} 'earned', 'corrections', 5, NULL, 'me', '')",
            ["I3: the balance of earned is negative: -5 sat"],
        ),
        (
            "",
            "UPDATE chain_output SET state = 'seen'",
            [f"I4: output OUTPUT: {PRICE:,} sat are booked instead of 0"],
        ),
        (
            "by_chain",
            "DELETE FROM chain_output WHERE order_id = :id",
            ["I5: output OUTPUT: the treasury has it, but no order does"],
        ),
        (
            "",
            "UPDATE chain_output SET sats = sats + 1",
            [
                f"I4: output OUTPUT: {PRICE:,} sat are booked instead of {PRICE + 1:,}",
                (
                    f"I5: output OUTPUT: it has {PRICE:,} sat, but {PRICE + 1:,} are "
                    "recorded"
                ),
            ],
        ),
        (
            "by_lightning",
            "UPDATE channel_order SET credit_used = credit_used - 1 WHERE id = :id",
            ["I6: order by_lightning: its used credit does not match the ledger"],
        ),
        (
            "by_lightning",
            "UPDATE channel_order SET charged = 1 WHERE id = :id",
            ["I6: order by_lightning: its charge does not match the ledger"],
        ),
        (
            "by_lightning",
            "UPDATE channel_order SET invoice_state = 'accepted' WHERE id = :id",
            [
                "I6: order by_lightning: its HTLC is still held, but should be settled",
            ],
        ),
        (
            "cancelled",
            "UPDATE channel_order SET credit_refund = 999 WHERE id = :id",
            [("I6: order cancelled: its refund is 999 sat, but 1,000 became credit")],
        ),
        (
            "by_chain",
            f"{_ENTRY} 'corrections', 'credit:harbour', 7, :id, 'me', '')",
            [
                (
                    "I2: the stored balance of credit:harbour is 0 sat, but its "
                    "entries sum to 7"
                ),
                "I6: order by_chain: its money moved at another organization",
            ],
        ),
        (
            "by_chain",
            f"{_ENTRY} 'corrections', 'held:' || CAST(:id AS TEXT), 7, :id, 'me', '')",
            [
                (
                    "I2: the stored balance of held:by_chain is 16,163 sat, but its "
                    "entries sum to 16,170"
                ),
                (
                    "I6: order by_chain: it is created, but holds 16,170 sat instead "
                    "of 16,163"
                ),
            ],
        ),
        (
            "cancelled",
            f"{_ENTRY} 'corrections', 'held:' || CAST(:id AS TEXT), 7, :id, 'me', '')",
            [
                (
                    "I2: the stored balance of held:cancelled is 0 sat, but its "
                    "entries sum to 7"
                ),
                "I6: order cancelled: it has ended, but still holds 7 sat",
            ],
        ),
        (
            "",
            "UPDATE coupon SET claimed_by = 'lighthouse', organization_id = NULL",
            ["I7: a claimed coupon does not match the ledger (credit:lighthouse)"],
        ),
        (
            "",
            "UPDATE coupon SET claimed_by = NULL, claimed_at = NULL",
            [
                (
                    "I7: 1,000 sat were paid out for coupons, but the claimed coupons "
                    "are worth 0"
                ),
            ],
        ),
        (
            "by_chain",
            "DELETE FROM order_move WHERE order_id = :id AND after = 'creating'",
            [
                (
                    "I8: order by_chain: its recorded status changes do not lead to "
                    "created"
                ),
            ],
        ),
        (
            "by_chain",
            "UPDATE channel_order SET status = 'submitted' WHERE id = :id",
            [
                (
                    "I8: order by_chain: its recorded status changes do not lead to "
                    "submitted"
                ),
            ],
        ),
        (
            "by_chain",
            "UPDATE channel_order SET sealed_ticket = NULL WHERE id = :id",
            [
                (
                    "I9: order by_chain: it has a ticket or a ticket reference, but "
                    "not both"
                ),
            ],
        ),
        (
            "by_chain",
            (
                "UPDATE channel_order SET sealed_ticket = NULL, ticket_ref = NULL "
                "WHERE id = :id"
            ),
            ["I9: order by_chain: it is created without a ticket"],
        ),
        (
            "by_chain",
            "UPDATE channel_order SET node_key = '02ab' WHERE id = :id",
            [
                "I9: order by_chain: it is created and direct, but has a ticket",
            ],
        ),
        (
            "cancelled",
            (
                "INSERT INTO reserved_coin (txid, vout, order_id, sats) "
                "VALUES ('ab', 0, :id, 1)"
            ),
            ["I9: order cancelled: it has ended, but still reserves coins"],
        ),
    ],
)
async def test_what_is_forged_in_the_database_is_found(
    books: Books, order: str, forgery: str, found: list[str]
) -> None:
    values = {"id": getattr(books, order).id} if order else {}
    async with books.database.transaction() as tx:
        await tx.run(Statement(forgery), **values)
    assert await books.broken() == found


def _settles_less(books: Books) -> None:
    payment_hash = books.by_lightning.payment_hash
    settled = books.payments.invoices[payment_hash]
    books.payments.invoices[payment_hash] = replace(settled, sats=Sats(PRICE - 1_001))


def _settles_nothing(books: Books) -> None:
    payment_hash = books.by_lightning.payment_hash
    invoice = replace(
        books.payments.invoices[payment_hash], state=InvoiceState.CANCELLED
    )
    books.payments.invoices[payment_hash] = invoice


def _loses_a_block(books: Books) -> None:
    books.payments.reorganise(1)


def _is_paid_again(books: Books) -> None:
    books.payments.send(books.by_chain.onchain_address, 5)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            _settles_less,
            (
                "I5: order by_lightning: the treasury received 15,162 sat over "
                "Lightning, but 15,163 are booked"
            ),
        ),
        (
            _settles_nothing,
            (
                "I5: order by_lightning: the treasury received 0 sat over Lightning, "
                "but 15,163 are booked"
            ),
        ),
        (
            _loses_a_block,
            "I5: output OUTPUT: it is booked, but the treasury has no confirmed output",
        ),
        (
            _is_paid_again,
            "I5: output OUTPUT: the treasury has it, but no order does",
        ),
    ],
)
async def test_what_the_treasury_knows_otherwise_is_found(
    books: Books, change: Callable[[Books], None], found: str
) -> None:
    change(books)
    assert await books.broken() == [found]


@pytest.mark.parametrize("confirmations", [144, 145])
async def test_coins_that_nobody_booked_are_found_in_a_day(
    books: Books, confirmations: int
) -> None:
    books.payments.send(books.by_chain.onchain_address, 5)
    await books.hear()
    books.payments.mine(confirmations)
    forgotten = ["I5: output OUTPUT: it is confirmed, but not booked"]
    assert await books.broken() == forgotten * (confirmations > 144)


class Lively(FailingDatabase):
    """A database in which something happens after the first read of this name."""

    def __init__(self, database: Database, after: str, happens: Happens) -> None:
        super().__init__(database, Fuse(steps=0, after=False))
        self.after = after
        self.happens: Happens | None = happens

    @property
    def reader(self) -> Stores:
        return Stores(_Reads(self, super().reader.run))

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Stores]:
        async with super().snapshot() as stores:
            yield Stores(_Reads(self, stores.run))


class _Reads(OnlyReads):
    def __init__(self, database: Lively, run: Run) -> None:
        self._database = database
        self._run = run

    async def __call__(self, statement: Statement, **values: Value) -> list[Row]:
        rows = await self._run(statement, **values)
        happens = self._database.happens
        if happens is not None and statement.name == self._database.after:
            self._database.happens = None
            await happens()
        return rows


async def test_requests_are_served_while_the_orders_are_checked(books: Books) -> None:
    """Reads of SQLite run on the event loop, and there may be many orders."""
    served = 0

    async def serve() -> None:
        nonlocal served
        while True:
            served += 1
            await asyncio.sleep(0)

    for _ in range(20):
        await books.create(who=LIGHTHOUSE)
    server = asyncio.create_task(serve())
    assert await verify(books.database) == []
    server.cancel()
    assert served > len(await books.database.reader.orders.all_())


@pytest.mark.parametrize("after", ["ledger.sums", "orders.all", "ledger.of_order"])
async def test_what_happens_while_the_books_are_read_breaks_no_rule(
    books: Books, after: str
) -> None:
    """Else the alarm about the ledger would be raised for a day, for nothing."""
    orders = [await books.create(who=LIGHTHOUSE) for _ in range(5)]

    async def business() -> None:
        await books.give_credit(2_000)
        for order in orders:
            books.payments.pay(request_of(order))
        await books.settle_down()

    lively = Lively(books.database, after, business)
    assert await verify(lively) == []
    assert lively.happens is None
    assert await books.status(orders[0]) is OrderStatus.CREATED
    assert await books.broken() == []
