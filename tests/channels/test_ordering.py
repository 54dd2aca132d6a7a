"""What an order is, what covers it, and for how long its price holds: whole values."""

from datetime import timedelta

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import orders, sources
from leyden.channels.money import credit
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import AuctionTerms, Quote, Terms, quote
from leyden.channels.rules.sources import Source
from leyden.channels.services import EXPIRY, TICKET, TICKETS
from leyden.channels.sources import Offer
from leyden.errors import NotAllowed, NotFound, OverLimit, OverQuota, TreasuryAway
from leyden.people.rules.quotas import Quota
from leyden.values import replace
from tests.channels.orders_harness import (
    CHANNEL,
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    OrdersHarness,
    request_of,
)
from tests.channels.test_direct_channels import channel
from tests.events.stored_events import stored_types
from tests.people.plenty import PLENTY

MINUTE = timedelta(minutes=1)
BARELY = timedelta(microseconds=1)
PRICED = quote(CHANNEL, Terms(), AuctionTerms())
ID = "00000000-0000-4000-8000-000000000021FO"


def raise_price(harness: OrdersHarness) -> Quote:
    terms = Terms(service_fee_base=Sats(2_100))
    harness.rules = replace(harness.rules, terms=terms)
    return quote(CHANNEL, terms, AuctionTerms())


async def offer(harness: OrdersHarness) -> Offer:
    return await sources.quote(harness.channels, HARBOUR, CHANNEL, now=harness.now)


async def due(harness: OrdersHarness, kind: str) -> object:
    return await harness.database.reader.tasks.next_due(kind, now=harness.now)


async def unpaid(harness: OrdersHarness, who: str = HARBOUR) -> int:
    return await harness.database.reader.quotas.unpaid_orders(who, now=harness.now)


async def may_owe(harness: OrdersHarness, sats: int) -> None:
    await credit.open_account(
        harness.database, HARBOUR, most_owed=sats, actor="operator", now=harness.now
    )


# The price.


async def test_a_price_is_offered_with_the_credit_that_it_would_use(
    harness: OrdersHarness,
) -> None:
    fresh = harness.now + MINUTE
    assert await offer(harness) == (PRICED, 0, fresh, Source.POOL)
    await harness.give_credit(21)
    assert await offer(harness) == (PRICED, 21, fresh, Source.POOL)
    await harness.give_credit(PRICE)
    assert await offer(harness) == (PRICED, PRICE, fresh, Source.POOL)


async def test_a_price_is_written_anew_after_a_minute_or_once_it_changed(
    harness: OrdersHarness,
) -> None:
    first = harness.now
    await offer(harness)
    harness.now = first + MINUTE - BARELY
    assert (await offer(harness)).fresh_until == first + MINUTE
    raised = raise_price(harness)
    found = await offer(harness)
    assert (found.quote, found.fresh_until) == (raised, harness.now + MINUTE)
    harness.now += MINUTE + BARELY
    assert (await offer(harness)).fresh_until == harness.now + MINUTE


@pytest.mark.parametrize(("minutes", "holds"), [(10, True), (11.01, False)])
async def test_a_price_holds_for_ten_minutes_and_what_was_fresh(
    harness: OrdersHarness, minutes: float, *, holds: bool
) -> None:
    await offer(harness)
    raised = raise_price(harness)
    harness.now += timedelta(minutes=minutes)
    assert (await harness.create()).quote == (PRICED if holds else raised)


async def test_anothers_price_does_not_hold(harness: OrdersHarness) -> None:
    await offer(harness)
    raised = raise_price(harness)
    assert (await harness.create(who=LIGHTHOUSE)).quote == raised


# The order.


async def test_an_order_waits_for_its_whole_price(harness: OrdersHarness) -> None:
    order = await harness.create(order_id=ID)
    (request,) = harness.payments.requests.values()
    assert request.order_id == ID
    assert order == Order(
        id=ID,
        organization_id=HARBOUR,
        status=OrderStatus.WAITING_PAYMENT,
        created=harness.now,
        expires=harness.now + timedelta(minutes=60),
        quote=PRICED,
        onchain_address=request.onchain_address,
        lightning_invoice=request.lightning_invoice,
        payment_hash=request.payment_hash,
        invoice=InvoiceState.OPEN,
    )
    assert request.sats == PRICE
    assert await harness.get(order) == order
    assert await due(harness, EXPIRY) == order.expires
    assert await due(harness, TICKET) is None
    assert await harness.database.reader.ledger.of_order(ID) == []
    assert await stored_types(harness.database, HARBOUR) == ["order.created"]
    assert (await unpaid(harness), await unpaid(harness, LIGHTHOUSE)) == (1, 0)


async def test_the_same_id_is_the_same_order_and_nobody_elses(
    harness: OrdersHarness,
) -> None:
    order = await harness.create(order_id=ID)
    harness.now += MINUTE
    assert await harness.create(order_id=ID) == order
    with pytest.raises(NotFound):
        await harness.create(order_id=ID, who=LIGHTHOUSE)
    with pytest.raises(NotFound):
        await orders.get(harness.channels, LIGHTHOUSE, ID)
    with pytest.raises(NotFound):
        await harness.cancel(order, LIGHTHOUSE)
    assert await orders.get(harness.channels, HARBOUR, ID) == order


async def booked(harness: OrdersHarness) -> list[Entry]:
    found = await harness.database.reader.ledger.of_order(ID)
    return [each.entry for each in found]


def covering(what: Reason, source: str, sats: int) -> Entry:
    return Entry(
        key=f"order:{ID}:{what}",
        what=what,
        source=source,
        target=ledger.held(ID),
        sats=Sats(sats),
        organization_id=HARBOUR,
        order_id=ID,
    )


async def test_an_order_that_is_sent_again_late_can_be_paid(
    harness: OrdersHarness,
) -> None:
    """Its process died between invoice and order, and the invoice has expired since."""
    lives = harness.rules.order_lives
    first = await harness.payments.request("the same order", Sats(PRICE), lives=lives)
    assert await harness.payments.cancel(first)
    await harness.pass_time(hours=2)
    order = await harness.create(order_id="the same order")
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    await harness.prove()


async def test_an_order_is_to_be_sent_again_when_its_address_is_known(
    harness: OrdersHarness,
) -> None:
    """A treasury that was restored from its seed begins with the first address."""
    before = [await harness.create() for _ in range(2)]
    harness.payments.known_addresses = [each.onchain_address for each in before]
    for _ in before:
        with pytest.raises(TreasuryAway) as raised:
            await harness.create(order_id=ID)
        assert (raised.value.status, raised.value.retry_after_s) == (503, 1)
    assert await unpaid(harness) == 2
    order = await harness.create(order_id=ID)
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED


async def test_credit_covers_what_it_can(harness: OrdersHarness) -> None:
    await harness.give_credit(5_000)
    order = await harness.create(order_id=ID)
    assert (order.credit_used, order.charged, order.to_be_paid) == (5_000, 0, 11_163)
    (request,) = harness.payments.requests.values()
    assert request.sats == 11_163
    assert await booked(harness) == [
        covering(Reason.CREDIT_USED, ledger.credit(HARBOUR), 5_000)
    ]


async def test_credit_that_covers_all_asks_for_no_payment(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create(order_id=ID)
    assert order.status is OrderStatus.CREATING
    assert (order.credit_used, order.payment_request) == (PRICE, None)
    assert harness.payments.requests == {}
    assert (await due(harness, EXPIRY), await due(harness, TICKET)) == (
        None,
        harness.now,
    )
    assert await unpaid(harness) == 0
    assert await stored_types(harness.database, HARBOUR, skip=1) == [
        "order.created",
        "credit.changed",
        "order.paid",
    ]


async def test_an_account_covers_what_credit_does_not(harness: OrdersHarness) -> None:
    await may_owe(harness, PRICE - 5_000)
    await harness.give_credit(5_000)
    order = await harness.create(order_id=ID)
    assert (order.credit_used, order.charged, order.status) == (
        5_000,
        PRICE - 5_000,
        OrderStatus.CREATING,
    )
    assert await booked(harness) == [
        covering(Reason.CREDIT_USED, ledger.credit(HARBOUR), 5_000),
        covering(Reason.CHARGED, ledger.owed(HARBOUR), 11_163),
    ]


async def test_an_account_owes_its_limit_and_not_a_satoshi_more(
    harness: OrdersHarness,
) -> None:
    await may_owe(harness, 2 * PRICE - 1)
    await harness.create()
    with pytest.raises(OverLimit):
        await harness.create()
    await may_owe(harness, 2 * PRICE)
    await harness.create()


# Places of unpaid orders.


async def test_an_order_without_an_invoice_takes_no_place(
    harness: OrdersHarness,
) -> None:
    harness.payments.away = True
    with pytest.raises(TreasuryAway):
        await harness.create(order_id=ID)
    assert await unpaid(harness) == 0
    harness.payments.away = False
    with pytest.raises(NotFound):
        await orders.get(harness.channels, HARBOUR, ID)


async def test_the_place_is_there_before_the_invoice(harness: OrdersHarness) -> None:
    limits = {**PLENTY, Quota.UNPAID_ORDERS: 1}
    harness.rules = replace(harness.rules, quotas=limits)
    await harness.create()
    with pytest.raises(OverQuota):
        await harness.create(order_id=ID)
    assert len(harness.payments.requests) == 1
    await harness.give_credit(PRICE)
    await harness.create()  # which needs no place
    await harness.create(who=LIGHTHOUSE)


# Lists, and the end.


async def test_orders_are_listed_newest_first(harness: OrdersHarness) -> None:
    made = []
    for _ in range(3):
        made.append(await harness.create())
        harness.now += MINUTE
    await harness.create(who=LIGHTHOUSE)
    found = await orders.list_(harness.channels, HARBOUR, limit=2)
    assert found == made[:0:-1]
    last = found[-1]
    rest = await orders.list_(
        harness.channels, HARBOUR, before=(last.created, last.id), limit=2
    )
    assert rest == made[:1]


async def test_a_failed_order_that_is_cancelled_gives_back_nothing_more(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    harness.market.refuses = "no"
    order = await harness.create(order_id=ID)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.FAILED
    before = await booked(harness)
    for _ in range(2):
        cancelled = await harness.cancel(order)
        assert cancelled.status is OrderStatus.CANCELLED
    assert await booked(harness) == before
    assert await harness.credit() == PRICE


async def test_an_order_that_is_being_made_cannot_be_cancelled(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create()
    with pytest.raises(NotAllowed, match="an order that is creating cannot be"):
        await harness.cancel(order)
    assert await harness.status(order) is OrderStatus.CREATING


async def test_a_ticket_is_withdrawn_before_its_order_is_cancelled(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create()
    await harness.settle_down()
    cancelled = await harness.cancel(order)
    assert cancelled.status is OrderStatus.CANCELLED
    assert cancelled.credit_refund == await harness.credit() == PRICE
    assert harness.market.tickets()[cancelled.ticket_ref] == "cancelled"


async def test_a_ticket_that_was_filled_meanwhile_is_looked_at_at_once(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create()
    await harness.settle_down()
    ticket = await harness.ticket(order)
    assert harness.market.register(ticket)
    assert harness.market.match(ticket)
    with pytest.raises(NotAllowed, match="was filled in the meantime"):
        await harness.cancel(order)
    assert await due(harness, TICKETS) == harness.now
    await harness.work(TICKETS)
    assert await harness.status(order) is OrderStatus.FILLED


async def test_a_direct_order_has_its_coins_from_the_beginning(
    harness: OrdersHarness,
) -> None:
    harness.seller.fill([3_000_000] * 3)
    order = await harness.create(channel())
    reserved = harness.database.reader.reserved_coins
    assert [each.sats for each in await reserved.of_order(order.id)] == [3_000_000]
    assert (await harness.cancel(order)).status is OrderStatus.CANCELLED
    assert await reserved.all_() == set()
