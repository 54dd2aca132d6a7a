"""The ticket is made once, and the payment is taken only for a ticket."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta

import pytest

from leyden.domain import ledger
from leyden.domain.orders import Order, Status
from leyden.domain.payments import GONE, InvoiceState, Outpoint, Output
from leyden.domain.pricing import Quote
from leyden.domain.tickets import Lease, NoTicket, Progress, Ticket, TicketState
from leyden.domain.units import Sats
from leyden.errors import SoldOut, Stale
from leyden.market.simulated import SimulatedMarket
from leyden.services.channels import corrections, credit
from leyden.services.channels.book import OrderBook
from leyden.services.channels.checkout import TicketMaker, record_payment
from leyden.services.channels.shop import TICKET
from leyden.services.channels.tickets import ticket_moved
from leyden.services.operators.verify import verify
from leyden.storage.statements import Statement
from leyden.tasks import Work
from leyden.values import replace
from tests.metrics import Observed
from tests.services.test_refunds import rewrite
from tests.services.till import HARBOUR, PRICE, Till, request_of


async def test_a_lightning_payment_buys_a_ticket(till: Till) -> None:
    order = await till.create()
    assert (order.status, order.paid) == (Status.WAITING_PAYMENT, False)
    assert order.amount_due == PRICE
    till.payments.pay(request_of(order))
    await till.hear()
    paid = await till.get(order)
    assert (paid.status, paid.paid) == (Status.CREATING, True)
    assert await till.ticket(order) == ""
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert (await till.ticket(order)).startswith("sidecar1")
    assert await till.place(ledger.RECEIVED) == -PRICE
    assert await till.place(ledger.HELD_HTLCS) == 0
    assert till.payments.received() == PRICE


async def test_the_time_from_payment_to_ticket_is_counted_once(till: Till) -> None:
    observed = Observed.since_now("leyden_payment_to_ticket_seconds")
    order = await till.create()
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert observed.new() == (0, 0)
    till.market.away = False
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.CREATED
    assert observed.new() == (1, 120)


async def test_the_payment_is_taken_only_after_the_ticket_exists(till: Till) -> None:
    order = await till.create()
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.CREATING
    assert till.payments.received() == 0
    till.market.away = False
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE


async def test_without_a_ticket_the_payer_keeps_the_money(till: Till) -> None:
    till.market.refuses = "the account is empty"
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    failed = await till.get(order)
    assert (failed.status, failed.paid) == (Status.FAILED, False)
    assert await till.credit() == 0
    assert till.payments.received() == 0
    invoice = till.payments.invoices[order.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


async def test_an_auction_that_never_answers_costs_the_payer_nothing(
    till: Till,
) -> None:
    order = await till.create()
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    for _ in range(31):
        await till.pass_time(minutes=1)
    assert await till.status(order) is Status.FAILED
    assert till.payments.received() == 0


async def test_a_ticket_whose_payment_went_away_is_cancelled(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.payments.time_out(request_of(order))
    till.deafen()
    await till.settle_down()
    assert await till.status(order) is Status.FAILED
    assert await till.credit() == 0
    assert set(till.market.tickets().values()) == {"cancelled"}


async def test_a_payment_that_was_taken_for_a_ticket_that_is_gone_is_credit(
    till: Till,
) -> None:
    """That it was taken is not known: the answer was lost, and nobody told of it."""
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.payments.answers_lost = 1
    await till.work()
    till.deafen()
    assert await till.status(order) is Status.CREATING
    assert till.payments.received() == PRICE
    assert await till.market.withdraw(order.id, "")
    till.now += timedelta(minutes=1)
    await till.work()
    failed = await till.get(order)
    assert (failed.status, failed.paid) == (Status.FAILED, True)
    assert failed.credit_refund == await till.credit() == PRICE


async def test_a_payment_that_goes_away_before_the_ticket_fails_the_order(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.payments.time_out(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.FAILED
    assert await till.place(ledger.HELD_HTLCS) == 0


async def test_lost_answers_are_asked_for_again(till: Till) -> None:
    """T-lndhub3: an external step hangs, is repeated, and happens once."""
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    till.market.answers_lost = 2
    till.payments.answers_lost = 2
    for _ in range(6):
        await till.pass_time(minutes=1)
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE
    assert len(till.market.tickets()) == 1


async def test_an_order_paid_another_way_meanwhile_is_looked_at_again(
    till: Till,
) -> None:
    """Coins that the chain takes back, and then Lightning, while its ticket is made."""
    order, coin = await paid_with_coins(till)

    async def pay_another_way() -> None:
        till.market = market
        await take_back(till, order, coin)
        till.payments.pay(request_of(order))
        await till.hear()
        assert (await till.get(order)).held_htlc == PRICE

    market, till.market = till.market, Meanwhile(till.market, pay_another_way)
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE
    await till.prove()


async def test_what_is_held_is_settled_even_if_it_was_not_seen_held_before(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    await rewrite(till, order, invoice=InvoiceState.OPEN)

    async def be_held() -> None:
        till.market = market
        await rewrite(till, order, invoice=InvoiceState.ACCEPTED)

    market, till.market = till.market, Meanwhile(till.market, be_held)
    await till.work(TICKET)
    assert await till.status(order) is Status.CREATED
    assert till.payments.received() == PRICE


async def test_an_order_that_ended_while_its_ticket_was_made_gets_none(
    till: Till,
) -> None:
    order, coin = await paid_with_coins(till)

    async def give_up() -> None:
        till.market = market
        await take_back(till, order, coin)
        await till.cancel(order)

    market, till.market = till.market, Meanwhile(till.market, give_up)
    await till.settle_down()
    assert await till.status(order) is Status.CANCELLED
    assert await till.ticket(order) == ""
    assert set(till.market.tickets().values()) == {"cancelled"}
    await till.prove()


async def paid_with_coins(till: Till) -> tuple[Order, Outpoint]:
    order = await till.create()
    coin = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.hear()
    assert await till.status(order) is Status.CREATING
    return order, coin


async def take_back(till: Till, order: Order, coin: Outpoint) -> None:
    """Let the chain undo the payment before there is a ticket."""
    till.payments.reorganise(1, drop=[coin])
    gone = Output(
        outpoint=coin,
        address=order.onchain_address,
        sats=Sats(PRICE),
        confirmations=GONE,
    )
    await record_payment(till.shop, gone, now=till.now)
    assert await till.status(order) is Status.WAITING_PAYMENT


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


async def test_a_zombie_writes_nothing(till: Till) -> None:
    """F13: whoever slept through its lease finds out before it writes."""
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    async with till.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(
            TICKET, now=till.now, until=till.now + timedelta(seconds=30), most=1
        )
    till.now += timedelta(minutes=1)
    await till.work()
    assert await till.status(order) is Status.CREATED
    with pytest.raises(Stale):
        await TicketMaker(till.shop).make(Work(till.database, claim))
    assert len(till.market.tickets()) == 1


async def test_a_zombie_that_comes_with_a_ticket_writes_nothing(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.hear()
    async with till.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(
            TICKET, now=till.now, until=till.now + timedelta(seconds=30), most=1
        )

    async def be_overtaken() -> None:
        till.market = market
        till.now += timedelta(minutes=1)
        await till.work()
        assert await till.status(order) is Status.CREATED

    market, till.market = till.market, Meanwhile(till.market, be_overtaken)
    with pytest.raises(Stale):
        await TicketMaker(till.shop).make(Work(till.database, claim))
    assert len(till.market.tickets()) == 1
    await till.prove()


async def test_a_filled_order_keeps_its_lease_and_books_what_it_cost(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    text = await till.ticket(order)
    assert till.market.register(text)
    assert till.market.match(text)
    await till.follow_tickets()
    assert await till.status(order) is Status.FILLED
    leases = await till.database.reader.leases.of_orders([order.id])
    assert leases[order.id].cost == await till.place(ledger.AUCTION)
    assert await till.place(ledger.EARNED) == PRICE - leases[order.id].cost
    await till.prove()


async def test_an_order_whose_bill_was_paid_ends_in_credit(till: Till) -> None:
    await credit.open_account(
        till.database, HARBOUR, most_owed=10**9, actor="operator", now=till.now
    )
    order = await till.create()
    assert order.charged == PRICE
    await till.work()
    await corrections.correct(
        till.database,
        HARBOUR,
        corrections.Correction.SETTLED,
        sats=PRICE - 100,
        reason="the bill was paid",
        actor="operator",
        key="bill 1",
        now=till.now,
    )
    ended = await till.cancel(order)
    assert (ended.status, ended.credit_refund) == (Status.CANCELLED, PRICE - 100)
    assert await till.credit() == PRICE - 100
    await till.prove()


async def test_two_orders_may_be_told_of_one_channel(till: Till) -> None:
    """A buyer's poold may use one key twice, and outputs alike are told as one."""
    both = [await till.create() for _ in range(2)]
    for order in both:
        till.payments.pay(request_of(order))
    await till.settle_down()
    lease = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(4_999),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )
    told = Progress(state=TicketState.FILLED, order_nonce="ab", lease=lease)
    for order in both:
        await ticket_moved(till.shop, order.id, told)
        assert await till.status(order) is Status.FILLED


async def test_an_order_that_cannot_move_holds_up_no_other(till: Till) -> None:
    both = [await till.create() for _ in range(2)]
    for order in both:
        till.payments.pay(request_of(order))
    await till.settle_down()
    first, second = sorted(both, key=lambda order: order.id)
    for order in both:
        assert till.market.register(await till.ticket(order))
        assert till.market.match(await till.ticket(order))
    spoilt = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(-1),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )
    market = till.market
    till.market = Spoiling(market, (await till.get(first)).ticket_ref, spoilt)
    await till.follow_tickets()
    assert await till.status(first) is Status.CREATED
    assert await till.status(second) is Status.FILLED
    till.market = market
    await till.follow_tickets()
    assert await till.status(first) is Status.FILLED


class Spoiling(SimulatedMarket):
    """A market that tells of one lease which cannot be."""

    def __init__(self, market: SimulatedMarket, ref: str, lease: Lease) -> None:
        super().__init__()
        self.__dict__.update(market.__dict__)
        self._spoilt = (ref, lease)

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        told = dict(await super().progress(refs))
        ref, lease = self._spoilt
        if ref in told:
            told[ref] = replace(told[ref], lease=lease)
        return told


async def test_a_lease_that_cost_something_else_is_noticed(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    text = await till.ticket(order)
    assert till.market.register(text)
    assert till.market.match(text)
    await till.follow_tickets()
    async with till.database.transaction() as tx:
        await tx.run(_changed_by("+ 1"))
    (broken,) = await verify(till.database)
    assert str(broken).startswith(f"I11: order {order.id}: its lease cost")
    async with till.database.transaction() as tx:
        await tx.run(_changed_by("- 1"))


async def test_what_the_auction_took_beyond_the_price_is_our_loss(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    lease = Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(PRICE),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )
    for _ in range(2):
        await ticket_moved(
            till.shop,
            order.id,
            Progress(state=TicketState.FILLED, order_nonce="ab", lease=lease),
        )
    assert await till.status(order) is Status.FILLED
    assert await till.place(ledger.AUCTION) == PRICE + 1_246
    assert await till.place(ledger.CORRECTIONS) == -1_246
    assert await till.place(ledger.EARNED) == 0
    await till.prove()


async def test_a_ticket_registered_in_vain_gives_the_money_back(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert till.market.register_with_refused_bid(await till.ticket(order))
    await till.follow_tickets()
    assert await till.status(order) is Status.CANCELLED
    assert await till.credit() == PRICE
    assert set(till.market.tickets().values()) == {"cancelled"}
    await till.prove()


async def test_tickets_are_followed_again_as_soon_as_the_market_is_back(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    till.market.away = True
    for _ in range(10):
        await till.follow_tickets()
        await till.pass_time(seconds=30)
    till.market.away = False
    assert till.market.register(await till.ticket(order))
    await till.pass_time(seconds=2)
    assert await till.status(order) is Status.SUBMITTED


class Watched(SimulatedMarket):
    """Remembers which tickets it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[set[str]] = []

    async def progress(self, refs: Sequence[str]) -> Mapping[str, Progress]:
        self.asked.append(set(refs))
        return await super().progress(refs)


async def two_tickets(till: Till, *, apart: timedelta) -> list[str]:
    """Have two tickets made, so long after one another; give their refs."""
    refs = []
    for _ in range(2):
        till.now += apart
        order = await till.create()
        till.payments.pay(request_of(order))
        await till.settle_down()
        refs.append((await till.get(order)).ticket_ref)
    return refs


async def test_between_looks_at_all_tickets_only_new_ones_are_looked_at(
    till: Till,
) -> None:
    till.market = market = Watched()
    refs = await two_tickets(till, apart=till.rules.tickets_new_for)
    till.rules = replace(
        till.rules,
        tickets_every=timedelta(milliseconds=100),
        tickets_pause=timedelta(milliseconds=5),
        tickets_looks=2,
    )
    await till.follow_tickets()
    first, *between, last = market.asked
    assert first == last == set(refs)
    assert between
    assert set.union(*between) == {refs[1]}


async def test_a_ticket_is_looked_at_as_often_as_its_own_buyer_has_just_paid(
    till: Till,
) -> None:
    till.market = market = Watched()
    refs = await two_tickets(till, apart=timedelta(minutes=5))
    till.rules = replace(
        till.rules,
        tickets_every=timedelta(seconds=1),
        tickets_pause=timedelta(milliseconds=5),
        tickets_looks=2,
    )
    await till.follow_tickets()
    _, *between, _ = market.asked
    looks = [sum(ref in asked for asked in between) for ref in refs]
    assert 1 <= looks[0] <= 4  # after five minutes, each third of a second
    assert looks[1] > looks[0]


async def test_nothing_is_sold_that_could_not_be_bought(till: Till) -> None:
    till.market.sold_out = True
    with pytest.raises(SoldOut):
        await till.create()
    assert till.payments.invoices == {}


async def test_the_book_has_what_tickets_outside_the_auction_may_take(
    till: Till,
) -> None:
    book = OrderBook(till.database)
    first, second = await till.create(), await till.create()
    till.market.away = True
    for order in (first, second):
        till.payments.pay(request_of(order))
        await till.hear()
        till.now += timedelta(seconds=1)
    takes = first.quote.pool_fee
    assert await book.outstanding(first.id) == 0
    assert await book.outstanding(second.id) == takes
    assert await book.outstanding(None) == 2 * takes
    till.market.away = False
    await till.pass_time(minutes=2)
    assert await book.outstanding(None) == 2 * takes
    for order in (first, second):
        assert till.market.register(await till.ticket(order))
    await till.follow_tickets()
    assert await book.outstanding(None) == 0


def _changed_by(sats: str) -> Statement:
    sql = f"UPDATE lease SET chain_fee = chain_fee {sats}"  # noqa: S608
    return Statement(sql)
