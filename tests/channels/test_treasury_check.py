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
from leyden.channels.shop import EVERYTHING
from leyden.values import replace
from tests.base.due_tasks import claim_due
from tests.channels.shop_harness import LIGHTHOUSE, PRICE, ShopHarness, request_of
from tests.fakes.payments import FakePayments

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


async def compare(harness: ShopHarness, *, most: int = 100) -> bool:
    """Run the task if it is due, and return whether it was."""
    claims = await claim_due(
        harness.database, TREASURY_CHECK, now=harness.now, claim_for=HOUR
    )
    for claim in claims:
        work = Work(harness.database, claim)
        await TreasuryComparison(harness.shop, confirm_after_s=0, most=most).run(work)
        assert work.settled
    return bool(claims)


async def found(harness: ShopHarness) -> list[tuple[str, str]]:
    kept = await harness.database.reader.findings.list_(now=harness.now)
    assert all(kind == "treasury.differs" for kind, _, _ in kept)
    return [(subject, what) for _, subject, what in kept]


async def last(harness: ShopHarness) -> TreasuryCheck | None:
    return await harness.database.reader.treasury_checks.find()


@pytest.fixture
async def shop(harness: ShopHarness) -> ShopHarness:
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
    shop: ShopHarness,
) -> None:
    began = shop.now
    assert await compare(shop)
    agreed = TreasuryCheck(at=began, orders=2, unknown=0, differences=0)
    assert await last(shop) == agreed
    assert await found(shop) == []
    # Each start of the program queues the task; a day has not passed.
    shop.now += HOUR
    async with shop.database.transaction() as tx:
        await tx.tasks.put(TREASURY_CHECK, EVERYTHING, due=shop.now)
    assert await compare(shop)
    assert await last(shop) == agreed
    shop.now = began + DAY - timedelta(microseconds=1)
    assert not await compare(shop)
    shop.now = began + DAY
    assert await compare(shop)
    assert await last(shop) == replace(agreed, at=shop.now)


async def test_a_payment_that_was_not_booked_is_an_alarm_until_it_is(
    shop: ShopHarness,
) -> None:
    order = await shop.create()
    shop.payments.pay(request_of(order))
    assert await shop.payments.settle(request_of(order))
    shop.deafen()
    assert await compare(shop)
    ((subject, what),) = await found(shop)
    assert subject == order.id
    assert f"received {PRICE:,} sat over Lightning, but 0 are booked" in what
    differs = await last(shop)
    assert differs is not None
    assert differs.differences == 1
    await shop.start_sweeping()
    assert await found(shop), "until it is compared again"
    shop.now += DAY
    assert await compare(shop)
    assert await found(shop) == []


async def test_what_differs_on_the_chain_is_an_alarm(shop: ShopHarness) -> None:
    (at,) = (each.outpoint for each in shop.payments.outputs())
    text = str(at)
    shop.payments.reorganise(1, drop=[at])
    shop.deafen()
    assert await compare(shop)
    assert [subject for subject, _ in await found(shop)] == [text]
    await shop.start_sweeping()
    shop.now += DAY
    assert await compare(shop)
    assert await found(shop) == []


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
    shop = ShopHarness(database=db, sealer=sealer, payments=payments)
    payments.hear = shop.hear
    await shop.open()
    await shop.start_sweeping()
    order = await shop.create()
    payments.pay(request_of(order))
    assert await payments.settle(request_of(order))
    async with db.transaction() as tx:
        await tx.tasks.put(TREASURY_CHECK, EVERYTHING, due=shop.now)
    payments.looks = 0
    assert await compare(shop)
    assert payments.looks == 2
    assert await found(shop) == []
    assert await last(shop) == TreasuryCheck(
        at=shop.now, orders=1, unknown=0, differences=0
    )
    await shop.settle_down()
    await shop.prove()


async def test_an_order_is_not_compared_when_the_treasury_does_not_know_it(
    shop: ShopHarness,
) -> None:
    kept = dict(shop.payments.invoices)
    shop.payments.invoices.clear()
    assert await compare(shop)
    assert await found(shop) == []
    assert await last(shop) == TreasuryCheck(
        at=shop.now, orders=2, unknown=2, differences=0
    )
    shop.payments.invoices.update(kept)


async def test_a_treasury_that_is_away_or_another_is_asked_again_in_an_hour(
    shop: ShopHarness,
) -> None:
    shop.payments.away = True
    assert await compare(shop)
    shop.payments.away = False
    ours, shop.payments.pubkey = shop.payments.pubkey, f"03{'66' * 32}"
    shop.now += HOUR
    assert await compare(shop)
    assert await last(shop) is None
    shop.payments.pubkey = ours
    shop.now += HOUR
    assert await compare(shop)
    assert await last(shop) is not None


async def test_paid_orders_are_asked_about_first_when_there_are_too_many(
    shop: ShopHarness,
) -> None:
    unpaid = await shop.create()
    shop.payments.invoices.pop(unpaid.payment_hash)  # it would be counted as unknown
    assert await compare(shop, most=2)
    assert await last(shop) == TreasuryCheck(
        at=shop.now, orders=2, unknown=0, differences=0
    )
    await shop.pass_time(hours=2)
