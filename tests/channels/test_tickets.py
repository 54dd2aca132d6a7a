"""The ticket is made once, and the payment is taken only for a ticket."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta

import pytest

from leyden.base.database.statements import Statement
from leyden.base.rules.units import Sats
from leyden.base.tasks.work import Work
from leyden.channels.books.verify import verify
from leyden.channels.checkout import record_payment
from leyden.channels.money import corrections, credit
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import GONE, InvoiceState, Outpoint, Output
from leyden.channels.rules.pricing import Quote
from leyden.channels.services import TICKET, WITHDRAWAL
from leyden.channels.tickets.book import OrderBook
from leyden.channels.tickets.rules.tickets import (
    NoTicket,
    Progress,
    Ticket,
    TicketState,
)
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.tickets.ticket_source import TicketMaker
from leyden.channels.tickets.tickets import apply_progress
from leyden.errors import SoldOut, Stale
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness, request_of
from tests.channels.test_refunds import rewrite
from tests.metrics import Observed


async def test_a_lightning_payment_buys_a_ticket(harness: OrdersHarness) -> None:
    order = await harness.create()
    assert (order.status, order.paid) == (OrderStatus.WAITING_PAYMENT, False)
    assert order.amount_due == PRICE
    harness.payments.pay(request_of(order))
    await harness.hear()
    paid = await harness.get(order)
    assert (paid.status, paid.paid) == (OrderStatus.CREATING, True)
    assert await harness.ticket(order) == ""
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert (await harness.ticket(order)).startswith("sidecar1")
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE
    assert await harness.balance_of(ledger.HELD_HTLCS) == 0
    assert harness.payments.received() == PRICE


async def test_the_time_from_payment_to_ticket_is_counted_once(
    harness: OrdersHarness,
) -> None:
    observed = Observed.since_now("leyden_payment_to_ticket_seconds")
    order = await harness.create()
    harness.market.away = True
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert observed.new() == (0, 0)
    harness.market.away = False
    await harness.pass_time(minutes=2)
    assert await harness.status(order) is OrderStatus.CREATED
    assert observed.new() == (1, 120)


async def test_the_payment_is_taken_only_after_the_ticket_exists(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.market.away = True
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATING
    assert harness.payments.received() == 0
    harness.market.away = False
    await harness.pass_time(minutes=2)
    assert await harness.status(order) is OrderStatus.CREATED
    assert harness.payments.received() == PRICE


async def test_without_a_ticket_the_payer_keeps_the_money(
    harness: OrdersHarness,
) -> None:
    harness.market.refuses = "the account is empty"
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    failed = await harness.get(order)
    assert (failed.status, failed.paid) == (OrderStatus.FAILED, False)
    assert await harness.credit() == 0
    assert harness.payments.received() == 0
    invoice = harness.payments.invoices[order.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


async def test_an_auction_that_never_answers_costs_the_payer_nothing(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.market.away = True
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    for _ in range(31):
        await harness.pass_time(minutes=1)
    assert await harness.status(order) is OrderStatus.FAILED
    assert harness.payments.received() == 0


async def test_a_ticket_whose_payment_went_away_is_cancelled(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    harness.payments.time_out(request_of(order))
    harness.deafen()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.FAILED
    assert await harness.credit() == 0
    assert set(harness.market.tickets().values()) == {"cancelled"}


async def test_a_payment_that_was_taken_for_a_ticket_that_is_gone_is_credit(
    harness: OrdersHarness,
) -> None:
    """That it was taken is not known: the answer was lost, and nobody told of it."""
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    harness.payments.answers_lost = 1
    await harness.work()
    harness.deafen()
    assert await harness.status(order) is OrderStatus.CREATING
    assert harness.payments.received() == PRICE
    assert await harness.market.withdraw(order.id, "")
    harness.now += timedelta(minutes=1)
    await harness.work()
    failed = await harness.get(order)
    assert (failed.status, failed.paid) == (OrderStatus.FAILED, True)
    assert failed.credit_refund == await harness.credit() == PRICE


async def test_a_payment_that_goes_away_before_the_ticket_fails_the_order(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    harness.payments.time_out(request_of(order))
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.FAILED
    assert await harness.balance_of(ledger.HELD_HTLCS) == 0


async def test_lost_answers_are_asked_for_again(harness: OrdersHarness) -> None:
    """T-lndhub3: an external step hangs, is repeated, and happens once."""
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    harness.market.answers_lost = 2
    harness.payments.answers_lost = 2
    for _ in range(6):
        await harness.pass_time(minutes=1)
    assert await harness.status(order) is OrderStatus.CREATED
    assert harness.payments.received() == PRICE
    assert len(harness.market.tickets()) == 1


async def test_an_order_paid_another_way_meanwhile_is_looked_at_again(
    harness: OrdersHarness,
) -> None:
    """Coins that the chain takes back, and then Lightning, while its ticket is made."""
    order, coin = await paid_with_coins(harness)

    async def pay_another_way() -> None:
        harness.market = market
        await take_back(harness, order, coin)
        harness.payments.pay(request_of(order))
        await harness.hear()
        assert (await harness.get(order)).held_htlc == PRICE

    market, harness.market = harness.market, Meanwhile(harness.market, pay_another_way)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert harness.payments.received() == PRICE
    await harness.prove()


async def test_what_is_held_is_settled_even_if_it_was_not_seen_held_before(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    await rewrite(harness, order, invoice=InvoiceState.OPEN)

    async def be_held() -> None:
        harness.market = market
        await rewrite(harness, order, invoice=InvoiceState.ACCEPTED)

    market, harness.market = harness.market, Meanwhile(harness.market, be_held)
    await harness.work(TICKET)
    assert await harness.status(order) is OrderStatus.CREATED
    assert harness.payments.received() == PRICE


async def test_an_order_that_ended_while_its_ticket_was_made_gets_none(
    harness: OrdersHarness,
) -> None:
    order, coin = await paid_with_coins(harness)

    async def give_up() -> None:
        harness.market = market
        await take_back(harness, order, coin)
        await harness.cancel(order)

    market, harness.market = harness.market, Meanwhile(harness.market, give_up)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CANCELLED
    assert await harness.ticket(order) == ""
    assert set(harness.market.tickets().values()) == {"cancelled"}
    await harness.prove()


async def test_a_ticket_that_is_made_after_its_withdrawal_is_withdrawn_too(
    harness: OrdersHarness,
) -> None:
    order, coin = await paid_with_coins(harness)

    async def give_up() -> None:
        harness.market = market
        await take_back(harness, order, coin)
        await harness.cancel(order)
        await harness.work(WITHDRAWAL)  # of which there is nothing yet
        assert harness.market.tickets() == {}

    market, harness.market = harness.market, Beforehand(harness.market, give_up)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CANCELLED
    assert list(harness.market.tickets().values()) == ["cancelled"]
    await harness.prove()


async def paid_with_coins(harness: OrdersHarness) -> tuple[Order, Outpoint]:
    order = await harness.create()
    coin = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.hear()
    assert await harness.status(order) is OrderStatus.CREATING
    return order, coin


async def take_back(harness: OrdersHarness, order: Order, coin: Outpoint) -> None:
    """Let the chain undo the payment before there is a ticket."""
    harness.payments.reorganise(1, drop=[coin])
    gone = Output(
        outpoint=coin,
        address=order.onchain_address,
        sats=Sats(PRICE),
        confirmations=GONE,
    )
    await record_payment(harness.channels, gone, now=harness.now)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT


class Meanwhile(SimulatedMarket):
    """A market where something happens while it makes a ticket."""

    def __init__(
        self, market: SimulatedMarket, happens: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__()
        self.__dict__.update(market.__dict__)
        self._happens = happens

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        made = await super().offer(order_id, quote)
        await self._happens()
        return made


class Beforehand(Meanwhile):
    """A market where something happens before it makes a ticket."""

    async def offer(self, order_id: str, quote: Quote) -> Ticket | NoTicket:
        await self._happens()
        return await SimulatedMarket.offer(self, order_id, quote)


async def test_a_zombie_writes_nothing(harness: OrdersHarness) -> None:
    """F13: whoever slept through its lease finds out before it writes."""
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    async with harness.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(
            TICKET, now=harness.now, until=harness.now + timedelta(seconds=30), limit=1
        )
    harness.now += timedelta(minutes=1)
    await harness.work()
    assert await harness.status(order) is OrderStatus.CREATED
    with pytest.raises(Stale):
        await TicketMaker(harness.channels).make(Work(harness.database, claim))
    assert len(harness.market.tickets()) == 1


async def test_a_zombie_that_comes_with_a_ticket_writes_nothing(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    async with harness.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(
            TICKET, now=harness.now, until=harness.now + timedelta(seconds=30), limit=1
        )

    async def be_overtaken() -> None:
        harness.market = market
        harness.now += timedelta(minutes=1)
        await harness.work()
        assert await harness.status(order) is OrderStatus.CREATED

    market, harness.market = harness.market, Meanwhile(harness.market, be_overtaken)
    with pytest.raises(Stale):
        await TicketMaker(harness.channels).make(Work(harness.database, claim))
    assert len(harness.market.tickets()) == 1
    await harness.prove()


async def test_a_filled_order_keeps_its_lease_and_books_what_it_cost(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    text = await harness.ticket(order)
    assert harness.market.register(text)
    assert harness.market.match(text)
    await harness.follow_tickets()
    assert await harness.status(order) is OrderStatus.FILLED
    leases = await harness.database.reader.leases.of_orders([order.id])
    assert leases[order.id].cost == await harness.balance_of(ledger.AUCTION)
    assert await harness.balance_of(ledger.EARNED) == PRICE - leases[order.id].cost
    await harness.prove()


async def test_an_order_whose_bill_was_paid_ends_in_credit(
    harness: OrdersHarness,
) -> None:
    await credit.open_account(
        harness.database, HARBOUR, most_owed=10**9, actor="operator", now=harness.now
    )
    order = await harness.create()
    assert order.charged == PRICE
    await harness.work()
    await corrections.correct(
        harness.database,
        HARBOUR,
        corrections.Correction.SETTLED,
        sats=PRICE - 100,
        reason="the bill was paid",
        actor="operator",
        key="bill 1",
        now=harness.now,
    )
    ended = await harness.cancel(order)
    assert (ended.status, ended.credit_refund) == (OrderStatus.CANCELLED, PRICE - 100)
    assert await harness.credit() == PRICE - 100
    await harness.prove()


async def test_two_orders_may_be_told_of_one_channel(harness: OrdersHarness) -> None:
    """A buyer's poold may use one key twice, and outputs alike are told as one."""
    both = [await harness.create() for _ in range(2)]
    for order in both:
        harness.payments.pay(request_of(order))
    await harness.settle_down()
    lease = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(4_999),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )
    progress = Progress(state=TicketState.FILLED, order_nonce="ab", lease=lease)
    for order in both:
        await apply_progress(harness.channels, order.id, progress)
        assert await harness.status(order) is OrderStatus.FILLED


async def test_an_order_that_cannot_move_holds_up_no_other(
    harness: OrdersHarness,
) -> None:
    both = [await harness.create() for _ in range(2)]
    for order in both:
        harness.payments.pay(request_of(order))
    await harness.settle_down()
    first, second = sorted(both, key=lambda order: order.id)
    for order in both:
        assert harness.market.register(await harness.ticket(order))
        assert harness.market.match(await harness.ticket(order))
    spoilt = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(-1),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )
    market = harness.market
    harness.market = Spoiling(market, (await harness.get(first)).ticket_ref, spoilt)
    await harness.follow_tickets()
    assert await harness.status(first) is OrderStatus.CREATED
    assert await harness.status(second) is OrderStatus.FILLED
    harness.market = market
    await harness.follow_tickets()
    assert await harness.status(first) is OrderStatus.FILLED


class Spoiling(SimulatedMarket):
    """A market that tells of one lease which cannot be."""

    def __init__(self, market: SimulatedMarket, ref: str, lease: Lease) -> None:
        super().__init__()
        self.__dict__.update(market.__dict__)
        self._spoilt = (ref, lease)

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        progress = dict(await super().progress(refs))
        ref, lease = self._spoilt
        if ref in progress:
            progress[ref] = replace(progress[ref], lease=lease)
        return progress


async def test_a_lease_that_cost_something_else_is_noticed(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    text = await harness.ticket(order)
    assert harness.market.register(text)
    assert harness.market.match(text)
    await harness.follow_tickets()
    async with harness.database.transaction() as tx:
        await tx.run(_changed_by("+ 1"))
    (broken,) = await verify(harness.database)
    assert str(broken).startswith(f"I11: order {order.id}: its lease cost")
    async with harness.database.transaction() as tx:
        await tx.run(_changed_by("- 1"))


async def test_what_the_auction_took_beyond_the_price_is_our_loss(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    lease = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(PRICE),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )
    for _ in range(2):
        await apply_progress(
            harness.channels,
            order.id,
            Progress(state=TicketState.FILLED, order_nonce="ab", lease=lease),
        )
    assert await harness.status(order) is OrderStatus.FILLED
    assert await harness.balance_of(ledger.AUCTION) == PRICE + 1_246
    assert await harness.balance_of(ledger.CORRECTIONS) == -1_246
    assert await harness.balance_of(ledger.EARNED) == 0
    await harness.prove()


async def test_a_ticket_registered_in_vain_gives_the_money_back(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert harness.market.register_with_refused_bid(await harness.ticket(order))
    await harness.follow_tickets()
    assert await harness.status(order) is OrderStatus.CANCELLED
    assert await harness.credit() == PRICE
    assert set(harness.market.tickets().values()) == {"cancelled"}
    await harness.prove()


async def test_tickets_are_followed_again_as_soon_as_the_market_is_back(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    harness.market.away = True
    for _ in range(10):
        await harness.follow_tickets()
        await harness.pass_time(seconds=30)
    harness.market.away = False
    assert harness.market.register(await harness.ticket(order))
    await harness.pass_time(seconds=2)
    assert await harness.status(order) is OrderStatus.SUBMITTED


class Watched(SimulatedMarket):
    """Remembers which tickets it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[set[str]] = []

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        self.asked.append(set(refs))
        return await super().progress(refs)


async def two_tickets(harness: OrdersHarness, *, apart: timedelta) -> list[str]:
    """Have two tickets made, so long after one another; give their refs."""
    refs = []
    for _ in range(2):
        harness.now += apart
        order = await harness.create()
        harness.payments.pay(request_of(order))
        await harness.settle_down()
        refs.append((await harness.get(order)).ticket_ref)
    return refs


async def test_between_looks_at_all_tickets_only_new_ones_are_looked_at(
    harness: OrdersHarness,
) -> None:
    harness.market = market = Watched()
    refs = await two_tickets(harness, apart=harness.rules.tickets_new_for)
    harness.rules = replace(
        harness.rules,
        tickets_every=timedelta(milliseconds=100),
        tickets_pause=timedelta(milliseconds=5),
        tickets_polls=2,
    )
    await harness.follow_tickets()
    first, *between, last = market.asked
    assert first == last == set(refs)
    assert between
    assert set.union(*between) == {refs[1]}


async def test_a_ticket_is_looked_at_as_often_as_its_own_buyer_has_just_paid(
    harness: OrdersHarness,
) -> None:
    harness.market = market = Watched()
    refs = await two_tickets(harness, apart=timedelta(minutes=5))
    harness.rules = replace(
        harness.rules,
        tickets_every=timedelta(seconds=1),
        tickets_pause=timedelta(milliseconds=5),
        tickets_polls=2,
    )
    await harness.follow_tickets()
    _, *between, _ = market.asked
    looks = [sum(ref in request for request in between) for ref in refs]
    assert 1 <= looks[0] <= 4  # after five minutes, each third of a second
    assert looks[1] > looks[0]


async def test_nothing_is_sold_that_could_not_be_bought(harness: OrdersHarness) -> None:
    harness.market.sold_out = True
    with pytest.raises(SoldOut):
        await harness.create()
    assert harness.payments.invoices == {}


async def test_the_book_has_what_tickets_outside_the_auction_may_take(
    harness: OrdersHarness,
) -> None:
    book = OrderBook(harness.database)
    first, second = await harness.create(), await harness.create()
    harness.market.away = True
    for order in (first, second):
        harness.payments.pay(request_of(order))
        await harness.hear()
        harness.now += timedelta(seconds=1)
    takes = first.quote.pool_fee
    assert await book.outstanding(first.id) == 0
    assert await book.outstanding(second.id) == takes
    assert await book.outstanding(None) == 2 * takes
    harness.market.away = False
    await harness.pass_time(minutes=2)
    assert await book.outstanding(None) == 2 * takes
    for order in (first, second):
        assert harness.market.register(await harness.ticket(order))
    await harness.follow_tickets()
    assert await book.outstanding(None) == 0


def _changed_by(sats: str) -> Statement:
    sql = f"UPDATE lease SET chain_fee = chain_fee {sats}"  # noqa: S608
    return Statement(sql)
