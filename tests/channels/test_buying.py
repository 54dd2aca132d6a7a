"""Channels that are bought from another LSP: paid once, sold once, or paid back."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import sources
from leyden.channels.direct.base import Lsps
from leyden.channels.direct.rules.purchases import LspPurchaseStatus, LspState
from leyden.channels.direct.rules.wrapped import PaidState
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import Channel
from leyden.channels.rules.sources import Source
from leyden.channels.services import BuyingSettings
from leyden.channels.tickets.missing_tickets import abandon
from leyden.errors import (
    Conflict,
    LeydenError,
    Malformed,
    NotAllowed,
    SellerAway,
    SoldOut,
    TooMany,
)
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, OrdersHarness, request_of
from tests.channels.test_direct_channels import OTHER, PEER, channel
from tests.channels.test_direct_channels import PRICE as OWN_PRICE
from tests.fakes.lsp import LSP_KEY, FakeLsp, FakePayer, SoldChannel

_SLICES = 10
URL = "https://lsp.example/api/v1"
# 1,000 + 1,000 of service; the LSP's 5,000, a tenth more, and routing: 10 + 0.5 %.
PRICE = 2_000 + 5_500 + 10 + 28
COST = 5_000 + 2  # with 1,234 msat of routing


@dataclass
class Buying:
    """A platform that buys, its LSP, and the lnd that pays."""

    harness: OrdersHarness
    lsp: FakeLsp
    payer: FakePayer
    listed: tuple[str, ...] = field(default=(URL,))

    async def order(
        self, wanted: Channel | None = None, *, who: str = HARBOUR
    ) -> Order:
        return await self.harness.create(wanted or channel(), who)

    async def by_credit(self) -> Order:
        await self.harness.give_credit(PRICE)
        order = await self.order()
        await self.later(seconds=3)
        return await self.harness.get(order)

    async def by_lightning(self) -> Order:
        order = await self.order()
        self.harness.payments.pay(request_of(order))
        await self.later(seconds=3)
        return await self.harness.get(order)

    async def later(self, **of: float) -> None:
        """Let time pass, and everything happen in it."""
        await self.harness.settle_down()
        for _ in range(_SLICES):
            passed = timedelta(**of) / _SLICES
            await self.harness.pass_time(seconds=passed.total_seconds())

    async def status(self, order: Order) -> OrderStatus:
        return await self.harness.status(order)

    async def purchase(self, order: Order) -> LspPurchaseStatus:
        found = await self.harness.database.reader.purchases.find(order.id)
        assert found is not None
        return found.status

    def invoice(self, order: Order) -> InvoiceState:
        return self.harness.payments.invoices[order.payment_hash].state

    def paid_for(self) -> SoldChannel:
        (request,) = self.payer.sent
        return next(
            each for each in self.lsp.sold.values() if each.invoice.request == request
        )

    async def alarms(self) -> list[tuple[str, str]]:
        findings = self.harness.database.reader.findings
        found = await findings.list_(now=self.harness.now)
        return [(kind, what) for kind, _, what in found]


@pytest.fixture
async def buying(harness: OrdersHarness) -> AsyncIterator[Buying]:
    lsp = FakeLsp(clock=lambda: harness.now)
    harness.lsps = Lsps((URL,), lambda _url: lsp)
    harness.payer = payer = FakePayer(lsp)
    harness.rules = replace(
        harness.rules, sources=(Source.LSPS1,), buying=BuyingSettings()
    )
    yield Buying(harness, lsp, payer)
    payer.away = lsp.away = False
    await harness.prove()
    # What was spent is booked, once, and no hash is paid twice.
    booked = await harness.balance_of(ledger.LSPS)
    assert booked == sum(
        -(-each.msat // 1_000)
        for each in payer.paid.values()
        if each.state is PaidState.SUCCEEDED
    )
    assert len(payer.sent) == len(set(payer.sent))


async def test_a_channel_is_bought_with_credit_and_sold(buying: Buying) -> None:
    order = await buying.by_credit()
    assert (order.total_fee, order.quote.source) == (PRICE, URL)
    assert order.status is OrderStatus.SUBMITTED
    assert await buying.purchase(order) is LspPurchaseStatus.PAID
    buying.payer.mine()
    await buying.later(seconds=60)
    order = await buying.harness.get(order)
    assert order.status is OrderStatus.FILLED
    sold = buying.paid_for()
    assert sold.channel == order.quote.channel
    assert str(sold.order.channel) == order.channel_point
    # What was not needed is the buyer's; the operator has the service fee.
    assert await buying.harness.credit() == PRICE - 2_000 - COST
    assert await buying.harness.balance_of(ledger.LSPS) == COST
    assert await buying.harness.balance_of(ledger.PURCHASES) == 0
    assert await buying.harness.balance_of(ledger.EARNED) == 2_000
    leases = await buying.harness.database.reader.leases.of_orders([order.id])
    assert (leases[order.id].node, leases[order.id].peer) == (PEER, LSP_KEY)


async def test_a_held_payment_is_settled_once_ours_succeeded(buying: Buying) -> None:
    buying.lsp.answers = False
    order = await buying.by_lightning()
    assert order.status is OrderStatus.SUBMITTED
    assert buying.invoice(order) is InvoiceState.ACCEPTED
    with pytest.raises(NotAllowed):
        await buying.harness.cancel(order)
    buying.payer.resolve(buying.paid_for())
    buying.payer.mine()
    await buying.later(seconds=60)
    assert await buying.status(order) is OrderStatus.FILLED
    assert buying.invoice(order) is InvoiceState.SETTLED


async def test_a_payment_that_fails_hands_back(buying: Buying) -> None:
    buying.payer.no_route = True
    order = await buying.by_lightning()
    assert order.status is OrderStatus.FAILED
    assert await buying.purchase(order) is LspPurchaseStatus.UNPAID
    assert buying.invoice(order) is InvoiceState.CANCELLED
    assert await buying.harness.balance_of(ledger.LSPS) == 0


async def test_an_lsp_that_refuses_the_payment_costs_nothing(buying: Buying) -> None:
    buying.lsp.claims = False
    order = await buying.by_credit()
    assert order.status is OrderStatus.FAILED
    assert await buying.harness.credit() == PRICE
    assert await buying.harness.balance_of(ledger.LSPS) == 0


async def test_a_lost_answer_is_asked_for_again(buying: Buying) -> None:
    for call in ("pay", "payment"):
        buying.payer.loses = call
        order = await buying.by_credit()
        await buying.later(minutes=1)
        buying.payer.mine()
        await buying.later(minutes=2)
        assert await buying.status(order) is OrderStatus.FILLED
        assert not buying.payer.loses


async def test_lnd_away_changes_nothing_until_it_is_back(buying: Buying) -> None:
    buying.lsp.answers = False
    order = await buying.by_lightning()
    buying.payer.away = True
    await buying.later(hours=3)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    assert buying.invoice(order) is InvoiceState.ACCEPTED
    buying.payer.away = False
    buying.lsp.claims = False
    buying.payer.resolve(buying.paid_for())
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FAILED
    assert buying.invoice(order) is InvoiceState.CANCELLED


async def test_another_lnd_knows_nothing_of_a_payment(buying: Buying) -> None:
    buying.lsp.answers = False
    order = await buying.by_lightning()
    paid, buying.payer.paid = buying.payer.paid, {}
    buying.payer.pubkey = "03" + "c3" * 32
    await buying.later(hours=3)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    assert len(buying.payer.sent) == 1
    buying.payer.paid, buying.payer.pubkey = paid, FakePayer.pubkey
    buying.payer.resolve(buying.paid_for())
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_the_customers_payment_is_settled_before_it_expires(
    buying: Buying,
) -> None:
    """Ours may still succeed then; if it does not, the customer is credited."""
    buying.lsp.answers = False
    order = await buying.by_lightning()
    buying.payer.height = order.htlc_expires - 39
    await buying.later(minutes=1)
    assert buying.invoice(order) is InvoiceState.SETTLED
    assert await buying.status(order) is OrderStatus.SUBMITTED
    buying.lsp.claims = False
    buying.payer.resolve(buying.paid_for())
    await buying.later(hours=1)
    assert await buying.status(order) is OrderStatus.FAILED
    assert await buying.harness.credit() == PRICE


async def test_nothing_is_paid_for_a_payment_that_expires_soon(buying: Buying) -> None:
    order = await buying.order()
    buying.harness.payments.pay(request_of(order))
    await buying.harness.hear()
    order = await buying.harness.get(order)
    buying.payer.height = order.htlc_expires - 39
    await buying.harness.settle_down()
    assert await buying.status(order) is OrderStatus.FAILED
    assert buying.payer.sent == []


async def test_an_lsp_that_is_away_has_fifteen_minutes(buying: Buying) -> None:
    order = await buying.order()
    buying.lsp.away = True
    buying.harness.payments.pay(request_of(order))
    await buying.harness.settle_down()
    assert await buying.status(order) is OrderStatus.CREATED
    await buying.later(minutes=14)
    assert await buying.status(order) is OrderStatus.CREATED
    await buying.later(minutes=2)
    assert await buying.status(order) is OrderStatus.FAILED
    assert buying.invoice(order) is InvoiceState.CANCELLED


async def test_an_order_can_be_cancelled_while_nothing_is_paid(buying: Buying) -> None:
    order = await buying.order()
    buying.lsp.refuses = "the node is not connected"
    buying.harness.payments.pay(request_of(order))
    await buying.harness.settle_down()
    assert await buying.status(order) is OrderStatus.CREATED
    await buying.harness.cancel(order)
    buying.lsp.refuses = ""
    await buying.later(minutes=10)
    assert buying.payer.sent == []
    assert buying.invoice(order) is InvoiceState.CANCELLED


async def test_money_for_no_channel_is_the_operators_loss(buying: Buying) -> None:
    buying.lsp.opens = False
    order = await buying.by_lightning()
    assert order.status is OrderStatus.SUBMITTED
    buying.payer.mine(288)
    await buying.later(days=2)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    await buying.later(days=1, minutes=1)
    assert await buying.status(order) is OrderStatus.FAILED
    assert await buying.purchase(order) is LspPurchaseStatus.LOST
    assert await buying.harness.credit() == PRICE
    assert await buying.harness.balance_of(ledger.PURCHASES) == -COST
    assert await buying.harness.balance_of(ledger.EARNED) == 0
    ((kind, what),) = await buying.alarms()
    assert kind == "purchase.lost"
    assert f"{COST:,} sat were paid to {URL}" in what


async def test_a_clock_that_jumps_loses_no_channel(buying: Buying) -> None:
    order = await buying.by_credit()
    await buying.later(days=30)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_an_lsp_that_says_failed_after_it_was_paid(buying: Buying) -> None:
    buying.lsp.opens = False
    order = await buying.by_credit()
    buying.lsp.say(buying.paid_for(), LspState.FAILED)
    await buying.later(minutes=1)
    assert await buying.status(order) is OrderStatus.FAILED
    assert await buying.harness.credit() == PRICE


async def test_a_channel_counts_once_a_block_has_it(buying: Buying) -> None:
    order = await buying.by_credit()
    await buying.later(hours=1)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    # What it says goes backwards, and comes back.
    buying.lsp.say(buying.paid_for(), LspState.CREATED)
    buying.payer.mine()
    await buying.later(hours=1)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    buying.lsp.say(buying.paid_for(), LspState.COMPLETED)
    await buying.later(hours=1)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_a_channel_that_is_too_small_is_none(buying: Buying) -> None:
    buying.lsp.too_small_by = 1
    order = await buying.by_credit()
    buying.payer.mine()
    await buying.later(hours=1)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    buying.payer.mine(288)
    await buying.later(days=3)
    assert await buying.status(order) is OrderStatus.FAILED


async def test_one_channel_is_sold_once(buying: Buying) -> None:
    first = await buying.by_credit()
    buying.payer.mine()
    await buying.later(minutes=1)
    assert await buying.status(first) is OrderStatus.FILLED
    point = buying.paid_for().order.channel
    buying.lsp.opens = False
    second = await buying.by_credit()
    sold = list(buying.lsp.sold.values())[-1]
    sold.order = replace(sold.order, state=LspState.COMPLETED, channel=point)
    await buying.later(hours=1)
    assert await buying.status(second) is OrderStatus.SUBMITTED


@pytest.mark.parametrize(
    "lie",
    [
        {"price": 5_501},
        {"price": 10**12},
        {"price": 0},
        {"asks_msat": 4_999_999},
        {"asks_msat": 5_500_000},
        {"network": "lnbc1"},
        {"delta": 433},
        {"lives": timedelta(seconds=119)},
        {"lives": timedelta(days=3, minutes=1)},
    ],
    ids=str,
)
async def test_an_invoice_that_is_not_as_quoted_is_not_paid(
    buying: Buying, lie: dict[str, object]
) -> None:
    order = await buying.order()
    for name, value in lie.items():
        setattr(buying.lsp, name, value)
    buying.harness.payments.pay(request_of(order))
    await buying.harness.settle_down()
    assert await buying.status(order) is OrderStatus.FAILED
    assert buying.invoice(order) is InvoiceState.CANCELLED
    assert buying.payer.sent == []


async def test_a_price_within_the_quote_is_paid(buying: Buying) -> None:
    order = await buying.order()
    buying.lsp.price = 5_500
    buying.harness.payments.pay(request_of(order))
    await buying.harness.settle_down()
    buying.payer.mine()
    await buying.later(minutes=1)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_an_invoice_that_was_paid_before_is_not_paid(buying: Buying) -> None:
    """lnd would report the payment of long ago as this one's."""
    buying.lsp.next_preimage = secrets.token_hex(32)
    first = await buying.by_credit()
    buying.payer.mine()
    await buying.later(minutes=1)
    assert await buying.status(first) is OrderStatus.FILLED
    second = await buying.by_credit()
    assert second.status is OrderStatus.FAILED
    assert len(buying.payer.sent) == 1


async def test_an_invoice_that_expired_is_replaced(buying: Buying) -> None:
    """The first one's channel waits for the budget, longer than its invoice lives."""
    order = await buying.order()
    rules = buying.harness.rules
    buying.harness.rules = replace(rules, buying=BuyingSettings(most_per_hour=Sats(1)))
    buying.lsp.lives = timedelta(minutes=5)
    buying.harness.payments.send(order.onchain_address, PRICE)
    buying.harness.payments.mine(6)
    await buying.later(minutes=30)
    assert (await buying.status(order), buying.payer.sent) == (OrderStatus.CREATED, [])
    buying.harness.rules = rules
    await buying.later(minutes=30)
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_a_payment_that_a_restored_database_forgot_is_ours(
    buying: Buying,
) -> None:
    """Its invoice was new to lnd when the order was stored."""
    order = await buying.order()
    rules = buying.harness.rules
    buying.harness.rules = replace(rules, buying=BuyingSettings(most_per_hour=Sats(1)))
    buying.harness.payments.pay(request_of(order))
    await buying.later(seconds=3)
    assert await buying.purchase(order) is LspPurchaseStatus.ORDERED
    invoice = await _invoice_of(buying, order)
    await buying.payer.pay(invoice, fee_limit=Sats(100))
    buying.harness.rules = rules
    await buying.later(minutes=14)
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED
    assert buying.invoice(order) is InvoiceState.SETTLED


@pytest.mark.parametrize("was_away", [False, True])
async def test_a_forgotten_payment_needs_no_budget_and_is_not_handed_back(
    buying: Buying, *, was_away: bool
) -> None:
    """Its channel was in a block before the database was restored."""
    order = await _ordered(buying)
    await buying.payer.pay(await _invoice_of(buying, order), fee_limit=Sats(100))
    buying.payer.mine()
    if was_away:
        buying.payer.away = True
        await buying.later(minutes=20)
        assert await buying.status(order) is OrderStatus.CREATED
        buying.payer.away = False
    await buying.later(minutes=20)
    assert await buying.status(order) is OrderStatus.FILLED
    assert buying.invoice(order) is InvoiceState.SETTLED


async def test_a_refusal_is_no_answer_while_an_earlier_request_may_arrive(
    buying: Buying,
) -> None:
    buying.payer.refuses = True
    order = await buying.by_lightning()
    await buying.later(minutes=30)
    assert buying.invoice(order) is InvoiceState.ACCEPTED
    buying.payer.refuses = False
    await buying.payer.pay(await _invoice_of(buying, order), fee_limit=Sats(100))
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_a_refusal_hands_back_once_the_invoice_has_expired(
    buying: Buying,
) -> None:
    buying.payer.refuses = True
    order = await buying.by_lightning()
    await buying.later(minutes=69)
    assert await buying.status(order) is OrderStatus.SUBMITTED
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FAILED
    assert await buying.purchase(order) is LspPurchaseStatus.UNPAID
    assert buying.invoice(order) is InvoiceState.CANCELLED


async def test_a_payment_that_failed_may_be_paid_by_an_earlier_request(
    buying: Buying,
) -> None:
    """lnd was asked twice: what came first may arrive after what failed."""
    buying.payer.refuses = True
    order = await buying.by_lightning()
    buying.payer.refuses, buying.payer.no_route = False, True
    await buying.later(minutes=5)
    assert len(buying.payer.sent) == 1
    assert buying.invoice(order) is InvoiceState.ACCEPTED
    buying.payer.sent.clear()  # it failed
    buying.payer.no_route = False
    await buying.payer.pay(await _invoice_of(buying, order), fee_limit=Sats(100))
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_an_lnd_with_a_slow_clock_is_not_told_to_pay_for_nothing(
    buying: Buying,
) -> None:
    """The customer's payment is gone, and the invoice has not expired for lnd."""
    buying.payer.refuses = True
    order = await buying.by_lightning()
    buying.harness.payments.time_out(request_of(order))
    buying.payer.refuses, buying.payer.slow = False, timedelta(minutes=9)
    await buying.later(minutes=90)
    assert buying.payer.sent == []
    assert await buying.status(order) is OrderStatus.FAILED


async def test_the_customers_payment_is_settled_while_lnd_is_away(
    buying: Buying,
) -> None:
    buying.lsp.answers = False
    order = await buying.by_lightning()
    buying.payer.away = True
    payments = buying.harness.payments
    payments.mine(order.htlc_expires - payments.height - 40)
    await buying.later(minutes=10)
    assert buying.invoice(order) is InvoiceState.ACCEPTED
    payments.mine(1)
    await buying.later(minutes=10)
    assert buying.invoice(order) is InvoiceState.SETTLED
    buying.payer.away = False
    buying.payer.resolve(buying.paid_for())
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_the_customers_payment_is_settled_before_a_late_request(
    buying: Buying,
) -> None:
    buying.payer.refuses = True
    order = await buying.by_lightning()
    buying.payer.height = order.htlc_expires - 39
    await buying.later(minutes=1)
    assert buying.invoice(order) is InvoiceState.SETTLED
    buying.payer.refuses = False
    await buying.later(minutes=1)
    buying.payer.mine()
    await buying.later(minutes=10)
    assert await buying.status(order) is OrderStatus.FILLED


async def test_the_budget_is_locked_although_no_treasury_was_seen(
    buying: Buying,
) -> None:
    await _ordered(buying)
    database = buying.harness.database
    assert await database.reader.treasury.find() is None

    is_locked = asyncio.Event()

    async def lock() -> None:
        await is_locked.wait()
        async with database.transaction() as tx:
            await tx.purchases.lock()

    other = asyncio.create_task(lock())
    async with database.transaction() as tx:
        await tx.purchases.lock()
        is_locked.set()
        done, _ = await asyncio.wait({other}, timeout=0.2)
        assert not done
    await other


async def test_an_order_whose_payment_was_settled_is_not_bought_again(
    buying: Buying,
) -> None:
    """The database is restored from before the purchase, which it can't know."""
    order = await buying.order()
    request = request_of(order)
    buying.harness.payments.pay(request)
    assert await buying.harness.payments.settle(request)
    buying.payer.away = True
    await buying.later(minutes=30)
    buying.payer.away = False
    await buying.later(minutes=30)
    assert (await buying.harness.get(order)).paid
    assert await buying.purchase(order) is LspPurchaseStatus.WANTED
    assert buying.payer.sent == []
    # Its customer may have the channel, and can't have the price as well.
    with pytest.raises(NotAllowed, match="whose channel may exist"):
        await buying.harness.cancel(order)
    assert await buying.harness.credit() == 0
    ((kind, what),) = await buying.alarms()
    assert kind == "purchase.unknown"
    assert f"its payment of {PRICE:,} sat is settled" in what
    assert f"the payments to {URL} of the lnd that pays" in what
    channels = buying.harness.channels
    for _ in range(2):
        await abandon(channels, order.id, reason="not bought", actor="operator:alice")
    assert await buying.status(order) is OrderStatus.CANCELLED
    assert await buying.harness.credit() == PRICE
    await buying.later(hours=2)
    assert await buying.alarms() == []
    assert buying.payer.sent == []


async def test_an_order_that_waits_for_its_purchase_is_not_abandoned(
    buying: Buying,
) -> None:
    order = await _ordered(buying)
    with pytest.raises(Conflict, match="has no ticket"):
        await abandon(
            buying.harness.channels, order.id, reason="lost", actor="operator:alice"
        )
    await buying.harness.cancel(order)


async def _ordered(buying: Buying) -> Order:
    """Return a paid order that waits for the budget, with an invoice of the LSP."""
    order = await buying.order()
    buying.harness.rules = replace(
        buying.harness.rules, buying=BuyingSettings(most_per_hour=Sats(1))
    )
    buying.harness.payments.pay(request_of(order))
    await buying.later(seconds=3)
    assert await buying.purchase(order) is LspPurchaseStatus.ORDERED
    return order


async def _invoice_of(buying: Buying, order: Order) -> str:
    found = await buying.harness.database.reader.purchases.find(order.id)
    assert found is not None
    return found.invoice


async def test_nothing_is_sold_beyond_the_budget(buying: Buying) -> None:
    buying.harness.rules = replace(
        buying.harness.rules, buying=BuyingSettings(most_per_hour=Sats(PRICE))
    )
    first = await buying.by_credit()
    buying.payer.mine()
    await buying.later(minutes=1)
    assert await buying.status(first) is OrderStatus.FILLED
    with pytest.raises(SoldOut):
        await buying.order()


async def test_the_budget_of_an_hour_makes_orders_wait(buying: Buying) -> None:
    buying.lsp.lives = buying.lsp.lives / 2
    first, second = await buying.order(), await buying.order(channel(OTHER))
    buying.harness.rules = replace(
        buying.harness.rules, buying=BuyingSettings(most_per_hour=Sats(PRICE))
    )
    for order in (first, second):
        buying.harness.payments.send(order.onchain_address, PRICE)
    buying.harness.payments.mine(6)
    await buying.harness.settle_down()
    assert len(buying.payer.sent) == 1
    await buying.later(minutes=59)
    assert len(buying.payer.sent) == 1
    await buying.later(minutes=10)
    assert len(buying.payer.sent) == 2
    buying.payer.mine()
    await buying.later(minutes=10)
    for order in (first, second):
        assert await buying.status(order) is OrderStatus.FILLED


async def test_whoever_can_sell_for_less_is_quoted(buying: Buying) -> None:
    harness = buying.harness
    harness.rules = replace(harness.rules, sources=(Source.OWN, Source.LSPS1))
    harness.seller.fill([3_000_000] * 3)
    harness.seller.online.add(PEER)
    channels = harness.channels

    async def quoted() -> tuple[Source, int]:
        harness.now += timedelta(minutes=2)
        offer = await sources.quote(channels, HARBOUR, channel(), now=harness.now)
        return offer.source, offer.quote.total_fee

    assert await quoted() == (Source.LSPS1, PRICE)
    buying.lsp.price = 50_000
    assert await quoted() == (Source.OWN, OWN_PRICE)
    buying.lsp.price = 5_000
    buying.lsp.away = True
    assert await quoted() == (Source.OWN, OWN_PRICE)
    buying.lsp.away = False
    harness.seller.away = True
    assert await quoted() == (Source.LSPS1, PRICE)
    buying.lsp.away = True
    with pytest.raises(SellerAway):
        await quoted()


async def test_a_quote_is_asked_for_once_a_minute_and_seldom(buying: Buying) -> None:
    channels = buying.harness.channels
    now = buying.harness.now
    for _ in range(20):
        await sources.quote(channels, HARBOUR, channel(), now=now)
    assert len(buying.lsp.sold) == 1
    with pytest.raises(TooMany):
        for size in range(1, 20):
            wanted = channel(capacity=size * 100_000)
            await sources.quote(channels, HARBOUR, wanted, now=now)
    assert len(buying.lsp.sold) == 10
    await sources.quote(channels, LIGHTHOUSE, channel(), now=now)
    assert len(buying.lsp.sold) == 11


@pytest.mark.parametrize(
    ("change", "wanted", "error"),
    [
        ({"price": 190_000}, {}, SoldOut),
        ({"price": 10**15}, {}, SoldOut),
        ({"price": 0}, {}, SoldOut),
        ({"refuses": "no"}, {}, SoldOut),
        ({"away": True}, {}, SellerAway),
        ({"largest": 500_000}, {}, Malformed),
        ({"smallest": 2_000_000}, {}, Malformed),
        ({"confirmations": 1}, {"zero_conf": True}, Malformed),
        ({}, {"self_chan_balance": 1}, Malformed),
    ],
    ids=str,
)
async def test_what_is_not_sold_is_not_quoted(
    buying: Buying,
    change: dict[str, object],
    wanted: dict[str, object],
    error: type[LeydenError],
) -> None:
    for name, value in change.items():
        setattr(buying.lsp, name, value)
    to = replace(channel(), **wanted)  # type: ignore[arg-type]
    with pytest.raises(error):
        await buying.order(to)


async def test_nothing_is_sold_that_can_not_be_paid(buying: Buying) -> None:
    buying.payer.has_sats = PRICE - 2_001
    with pytest.raises(SoldOut):
        await buying.order()
    buying.payer.has_sats = 10**6
    buying.payer.synced = False
    with pytest.raises(SellerAway):
        await buying.order()
    buying.payer.synced = True
    await buying.harness.start_sweeping()  # which remembers the treasury
    treasury = await buying.harness.database.reader.treasury.find()
    assert treasury is not None
    buying.payer.pubkey = treasury.pubkey
    with pytest.raises(SellerAway) as raised:
        await buying.order()
    assert "this lnd is the treasury" in str(raised.value)


async def test_a_node_has_one_open_order(buying: Buying) -> None:
    await buying.order()
    with pytest.raises(Conflict, match="another open order"):
        await buying.order()
