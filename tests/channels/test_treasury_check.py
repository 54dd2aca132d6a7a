"""The ledger is compared with the treasury once a day, and differences are alarms."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.tasks.work import Work
from leyden.channels.books.treasury_check import TREASURY_CHECK, TreasuryComparison
from leyden.channels.rows.treasury_checks import TreasuryCheck
from leyden.channels.rules.payments import PaymentRequest, PaymentUpdate
from leyden.channels.services import EVERYTHING
from leyden.values import replace
from tests.base.due_tasks import claim_due
from tests.channels.orders_harness import LIGHTHOUSE, PRICE, OrdersHarness, request_of
from tests.fakes.payments import FakePayments

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


async def compare(harness: OrdersHarness, *, limit: int = 100) -> bool:
    """Run the task if it is due, and return whether it was."""
    claims = await claim_due(
        harness.database, TREASURY_CHECK, now=harness.now, claim_for=HOUR
    )
    for claim in claims:
        work = Work(harness.database, claim)
        await TreasuryComparison(harness.channels, confirm_after_s=0, limit=limit).run(
            work
        )
        assert work.settled
    return bool(claims)


async def found(harness: OrdersHarness) -> list[tuple[str, str]]:
    findings = await harness.database.reader.findings.list_(now=harness.now)
    assert all(kind == "treasury.differs" for kind, _, _ in findings)
    return [(subject, what) for _, subject, what in findings]


async def last(harness: OrdersHarness) -> TreasuryCheck | None:
    return await harness.database.reader.treasury_checks.find()


@pytest.fixture
async def channels(harness: OrdersHarness) -> OrdersHarness:
    """A shop whose treasury is known, with an order over each rail."""
    await harness.start_sweeping()
    for who in ("harbour", LIGHTHOUSE):
        order = await harness.create(who=who)
        if who == LIGHTHOUSE:
            harness.payments.send(order.onchain_address, PRICE)
            harness.payments.mine()
        else:
            harness.payments.pay(request_of(order))
        await harness.settle_down()
    async with harness.database.transaction() as tx:
        await tx.tasks.put(TREASURY_CHECK, EVERYTHING, due=harness.now)
    return harness


async def test_the_treasury_is_compared_once_a_day_when_all_agrees(
    channels: OrdersHarness,
) -> None:
    began = channels.now
    assert await compare(channels)
    agreed = TreasuryCheck(at=began, orders=2, unknown=0, differences=0)
    assert await last(channels) == agreed
    assert await found(channels) == []
    # Each start of the program queues the task; a day has not passed.
    channels.now += HOUR
    async with channels.database.transaction() as tx:
        await tx.tasks.put(TREASURY_CHECK, EVERYTHING, due=channels.now)
    assert await compare(channels)
    assert await last(channels) == agreed
    channels.now = began + DAY - timedelta(microseconds=1)
    assert not await compare(channels)
    channels.now = began + DAY
    assert await compare(channels)
    assert await last(channels) == replace(agreed, at=channels.now)


async def test_a_payment_that_was_not_booked_is_an_alarm_until_it_is(
    channels: OrdersHarness,
) -> None:
    order = await channels.create()
    channels.payments.pay(request_of(order))
    assert await channels.payments.settle(request_of(order))
    channels.deafen()
    assert await compare(channels)
    ((subject, what),) = await found(channels)
    assert subject == order.id
    assert f"received {PRICE:,} sat over Lightning, but 0 are booked" in what
    differs = await last(channels)
    assert differs is not None
    assert differs.differences == 1
    await channels.start_sweeping()
    assert await found(channels), "until it is compared again"
    channels.now += DAY
    assert await compare(channels)
    assert await found(channels) == []


async def test_what_differs_on_the_chain_is_an_alarm(channels: OrdersHarness) -> None:
    (at,) = (each.outpoint for each in channels.payments.outputs())
    text = str(at)
    channels.payments.reorganise(1, drop=[at])
    channels.deafen()
    assert await compare(channels)
    assert [subject for subject, _ in await found(channels)] == [text]
    await channels.start_sweeping()
    channels.now += DAY
    assert await compare(channels)
    assert await found(channels) == []


class Interrupted(FakePayments):
    """A treasury whose updates are heard before the second look at payments."""

    looks = -1  # they count from the first one that matters
    hear: Callable[[], Awaitable[None]]

    async def lookup(self, requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        if self.looks >= 0:
            self.looks += 1
        if self.looks == 2:
            await self.hear()
        return await super().lookup(requests)


async def test_a_payment_is_no_alarm_when_it_is_booked_meanwhile(
    db: Database, sealer: Sealer
) -> None:
    payments = Interrupted()
    channels = OrdersHarness(database=db, sealer=sealer, payments=payments)
    payments.hear = channels.hear
    await channels.open()
    await channels.start_sweeping()
    order = await channels.create()
    payments.pay(request_of(order))
    assert await payments.settle(request_of(order))
    async with db.transaction() as tx:
        await tx.tasks.put(TREASURY_CHECK, EVERYTHING, due=channels.now)
    payments.looks = 0
    assert await compare(channels)
    assert payments.looks == 2
    assert await found(channels) == []
    assert await last(channels) == TreasuryCheck(
        at=channels.now, orders=1, unknown=0, differences=0
    )
    await channels.settle_down()
    await channels.prove()


async def test_an_order_is_not_compared_when_the_treasury_does_not_know_it(
    channels: OrdersHarness,
) -> None:
    stored = dict(channels.payments.invoices)
    channels.payments.invoices.clear()
    assert await compare(channels)
    assert await found(channels) == []
    assert await last(channels) == TreasuryCheck(
        at=channels.now, orders=2, unknown=2, differences=0
    )
    channels.payments.invoices.update(stored)


async def test_a_treasury_that_is_away_or_another_is_asked_again_in_an_hour(
    channels: OrdersHarness,
) -> None:
    channels.payments.away = True
    assert await compare(channels)
    channels.payments.away = False
    ours, channels.payments.pubkey = channels.payments.pubkey, f"03{'66' * 32}"
    channels.now += HOUR
    assert await compare(channels)
    assert await last(channels) is None
    channels.payments.pubkey = ours
    channels.now += HOUR
    assert await compare(channels)
    assert await last(channels) is not None


async def test_paid_orders_are_asked_about_first_when_there_are_too_many(
    channels: OrdersHarness,
) -> None:
    unpaid = await channels.create()
    # It would be counted as unknown.
    channels.payments.invoices.pop(unpaid.payment_hash)
    assert await compare(channels, limit=2)
    assert await last(channels) == TreasuryCheck(
        at=channels.now, orders=2, unknown=0, differences=0
    )
    await channels.pass_time(hours=2)
