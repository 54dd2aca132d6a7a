"""What the auction leaves of the pool fee is credited once, as the order is filled."""

from datetime import timedelta

import pytest

from leyden.base.database.statements import Statement
from leyden.base.rules.units import Sats
from leyden.channels import sources
from leyden.channels.books.verify import verify
from leyden.channels.money import corrections, credit
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.pricing import Channel, Terms
from leyden.channels.tickets.rules.tickets import Progress, TicketState
from leyden.channels.tickets.tickets import apply_progress
from leyden.values import replace
from tests.channels.orders_harness import (
    CHANNEL,
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    OrdersHarness,
    at_once,
    request_of,
)

LEFT = 5_918
OUR_FEE = 2_000
COST = PRICE - OUR_FEE - LEFT


def lease_of(cost: int = COST) -> Lease:
    return Lease(
        channel_point=f"{'ab' * 32}:1",
        premium=Sats(cost - 1_246),
        execution_fee=Sats(1_001),
        chain_fee=Sats(245),
        self_chan_balance=Sats(0),
    )


def filled(cost: int = COST) -> Progress:
    return Progress(
        state=TicketState.FILLED, order_nonce="ab" * 32, lease=lease_of(cost)
    )


async def paid(
    harness: OrdersHarness, channel: Channel = CHANNEL, who: str = HARBOUR
) -> Order:
    """Order a channel, pay what credit does not, and have its ticket registered."""
    order = await harness.create(channel, who)
    if order.payment_hash:
        harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert harness.market.register(await harness.ticket(order))
    await harness.follow_tickets()
    assert await harness.status(order) is OrderStatus.SUBMITTED
    return await harness.get(order)


async def matched(harness: OrdersHarness, order: Order, *, left: int = LEFT) -> None:
    assert harness.market.match(await harness.ticket(order), unused=left)
    await harness.follow_tickets()
    assert await harness.status(order) is OrderStatus.FILLED


async def on_account(harness: OrdersHarness) -> None:
    """Let the organization order now and pay later."""
    await credit.open_account(
        harness.database, HARBOUR, most_owed=10**9, actor="operator", now=harness.now
    )


async def pay_bill(harness: OrdersHarness, sats: int) -> None:
    await corrections.correct(
        harness.database,
        HARBOUR,
        corrections.Correction.SETTLED,
        sats=sats,
        reason="the bill was paid",
        actor="operator",
        key="bill 1",
        now=harness.now,
    )


async def owed(harness: OrdersHarness) -> int:
    return (await credit.balance(harness.database, HARBOUR)).owed


async def spent(harness: OrdersHarness) -> tuple[int, int]:
    """What went to the auction, and what is ours."""
    return await harness.balance_of(ledger.AUCTION), await harness.balance_of(
        ledger.EARNED
    )


async def test_what_the_auction_left_is_credited_when_the_order_is_filled(
    harness: OrdersHarness,
) -> None:
    order = await paid(harness)
    assert await harness.credit() == 0
    await matched(harness, order)
    assert await harness.credit() == LEFT
    assert await spent(harness) == (COST, OUR_FEE)


async def test_an_auction_that_took_everything_leaves_nothing(
    harness: OrdersHarness,
) -> None:
    await matched(harness, await paid(harness), left=0)
    assert await harness.credit() == 0
    assert await spent(harness) == (PRICE - OUR_FEE, OUR_FEE)


@pytest.mark.parametrize("left", [1, PRICE - OUR_FEE])
async def test_it_is_right_to_the_satoshi(harness: OrdersHarness, left: int) -> None:
    await matched(harness, await paid(harness), left=left)
    assert await harness.credit() == left
    assert await spent(harness) == (PRICE - OUR_FEE - left, OUR_FEE)


async def test_an_auction_that_took_more_leaves_nothing(harness: OrdersHarness) -> None:
    order = await paid(harness)
    await apply_progress(harness.channels, order.id, filled(PRICE + 1))
    assert await harness.credit() == 0
    assert await harness.balance_of(ledger.CORRECTIONS) == -1


async def test_more_than_its_share_and_less_than_the_price_is_taken_from_our_fee(
    harness: OrdersHarness,
) -> None:
    order = await paid(harness)
    await apply_progress(harness.channels, order.id, filled(PRICE - OUR_FEE + 1))
    assert await harness.credit() == 0
    assert await spent(harness) == (PRICE - OUR_FEE + 1, OUR_FEE - 1)


async def test_what_is_on_the_buyers_side_is_not_left_over(
    harness: OrdersHarness,
) -> None:
    channel = Channel(capacity=Sats(1_000_000), self_chan_balance=Sats(50_000))
    order = await paid(harness, channel)
    await matched(harness, order)
    assert await harness.credit() == LEFT
    quote = order.quote
    assert await spent(harness) == (
        quote.pool_fee + 50_000 - LEFT,
        quote.service_fee + quote.self_chan_balance_fee - 50_000,
    )


async def test_an_order_that_is_filled_twice_is_credited_once(
    harness: OrdersHarness,
) -> None:
    order = await paid(harness)
    for progress in (filled(), filled(), filled(COST - 100)):
        await apply_progress(harness.channels, order.id, progress)
    assert await harness.credit() == LEFT


async def test_workers_that_fill_an_order_at_once_credit_it_once(
    harness: OrdersHarness,
) -> None:
    order = await paid(harness)
    answer = [apply_progress(harness.channels, order.id, filled()) for _ in range(4)]
    assert await at_once(*answer) == [None] * 4
    assert await harness.status(order) is OrderStatus.FILLED
    assert await harness.credit() == LEFT


async def test_orders_that_are_filled_at_once_are_all_credited(
    harness: OrdersHarness,
) -> None:
    both = [await paid(harness), await paid(harness)]
    await at_once(
        *(apply_progress(harness.channels, each.id, filled()) for each in both)
    )
    assert await harness.credit() == 2 * LEFT


async def test_a_buyer_who_cancels_while_it_is_filled_gets_one_of_the_two(
    harness: OrdersHarness,
) -> None:
    order = await paid(harness)
    assert harness.market.match(await harness.ticket(order), unused=LEFT)
    await at_once(
        harness.cancel(order), apply_progress(harness.channels, order.id, filled())
    )
    await harness.follow_tickets()
    assert await harness.status(order) is OrderStatus.FILLED
    assert await harness.credit() == LEFT


async def test_an_order_whose_cost_is_not_known_yet_is_asked_about_again(
    harness: OrdersHarness,
) -> None:
    order = await paid(harness)
    unknown = Progress(state=TicketState.FILLED, order_nonce="ab" * 32)
    await apply_progress(harness.channels, order.id, unknown)
    assert await harness.status(order) is OrderStatus.SUBMITTED
    assert await spent(harness) == (0, 0)
    await matched(harness, order)
    assert await harness.credit() == LEFT


async def test_a_ticket_filled_between_two_looks_waits_for_its_cost_too(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    unknown = Progress(state=TicketState.FILLED, order_nonce="ab" * 32)
    await apply_progress(harness.channels, order.id, unknown)
    assert await harness.status(order) is OrderStatus.CREATED
    await apply_progress(harness.channels, order.id, filled())
    assert await harness.status(order) is OrderStatus.FILLED
    assert await harness.credit() == LEFT


# Who paid what gets what back.


async def test_a_surplus_is_credited_beside_it(harness: OrdersHarness) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order), PRICE + 9)
    await harness.settle_down()
    assert harness.market.register(await harness.ticket(order))
    await matched(harness, order)
    assert await harness.credit() == 9 + LEFT


async def test_credit_comes_back_as_credit(harness: OrdersHarness) -> None:
    await harness.give_credit(PRICE + 7)
    await matched(harness, await paid(harness))
    assert await harness.credit() == 7 + LEFT


async def test_a_coupon_and_a_payment_come_back_as_one_credit(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(700)
    order = await paid(harness)
    assert order.credit_used == 700
    await matched(harness, order)
    assert await harness.credit() == LEFT


async def test_what_a_corporate_account_owes_is_lowered(harness: OrdersHarness) -> None:
    await on_account(harness)
    order = await paid(harness)
    assert order.charged == PRICE
    await matched(harness, order)
    assert await owed(harness) == PRICE - LEFT
    assert await harness.credit() == 0


@pytest.mark.parametrize(
    ("bill", "lowered"), [(PRICE, 0), (PRICE - 100, 100), (PRICE - LEFT, LEFT)]
)
async def test_a_bill_that_was_paid_meanwhile_was_paid_with_the_buyers_money(
    harness: OrdersHarness, bill: int, lowered: int
) -> None:
    await on_account(harness)
    order = await paid(harness)
    await pay_bill(harness, bill)
    await matched(harness, order)
    assert await owed(harness) == PRICE - bill - lowered
    assert await harness.credit() == LEFT - lowered


async def test_an_account_that_paid_with_credit_too_has_its_debt_lowered_first(
    harness: OrdersHarness,
) -> None:
    await on_account(harness)
    await harness.give_credit(PRICE - 1_000)
    order = await paid(harness)
    assert (order.credit_used, order.charged) == (PRICE - 1_000, 1_000)
    await matched(harness, order)
    assert await owed(harness) == 0
    assert await harness.credit() == LEFT - 1_000


async def test_an_order_that_was_not_charged_lowers_no_bill_of_others(
    harness: OrdersHarness,
) -> None:
    await harness.give_credit(PRICE)
    first = await paid(harness)
    await on_account(harness)
    await paid(harness)
    await matched(harness, first)
    assert await owed(harness) == PRICE
    assert await harness.credit() == LEFT


async def test_what_the_chain_took_back_is_repaid_first(harness: OrdersHarness) -> None:
    order = await harness.create()
    coin = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert harness.market.register(await harness.ticket(order))
    await harness.follow_tickets()
    harness.payments.reorganise(1, drop=[coin])
    await harness.start_sweeping()
    assert await owed(harness) == PRICE
    await matched(harness, order)
    assert await owed(harness) == PRICE - LEFT
    assert await harness.credit() == 0


async def test_another_organization_gets_nothing_of_it(harness: OrdersHarness) -> None:
    await matched(harness, await paid(harness, who=LIGHTHOUSE))
    assert await harness.credit(LIGHTHOUSE) == LEFT
    assert await harness.credit(HARBOUR) == 0


# Operators who price otherwise.


def keep(harness: OrdersHarness, *, keeps: bool = True) -> None:
    harness.rules = replace(harness.rules, terms=Terms(keeps_unused_fee=keeps))


async def test_an_operator_may_keep_what_the_auction_left(
    harness: OrdersHarness,
) -> None:
    keep(harness)
    await matched(harness, await paid(harness))
    assert await harness.credit() == 0
    assert await spent(harness) == (COST, OUR_FEE + LEFT)


async def test_what_was_said_with_the_price_holds_for_its_order(
    harness: OrdersHarness,
) -> None:
    first = await paid(harness)
    keep(harness)
    second = await paid(harness)
    keep(harness, keeps=False)
    await matched(harness, first)
    assert await harness.credit() == LEFT
    await matched(harness, second)
    assert await harness.credit() == LEFT


async def test_a_quote_that_holds_says_for_its_order_what_comes_back(
    harness: OrdersHarness,
) -> None:
    await sources.quote(harness.channels, HARBOUR, CHANNEL, now=harness.now)
    keep(harness)
    harness.now += timedelta(minutes=9)
    assert not (await harness.create()).quote.keeps_unused_fee
    harness.now += timedelta(minutes=9)
    assert (await harness.create()).quote.keeps_unused_fee


async def test_a_quote_that_keeps_it_holds_too(harness: OrdersHarness) -> None:
    keep(harness)
    await sources.quote(harness.channels, HARBOUR, CHANNEL, now=harness.now)
    keep(harness, keeps=False)
    order = await paid(harness)
    await matched(harness, order)
    assert await harness.credit() == 0


# What `verify` sees.


@pytest.mark.parametrize(
    ("keeps", "due", "back"), [(1, 0, LEFT), (0, LEFT, 0)], ids=["too much", "nothing"]
)
async def test_what_came_back_and_should_not_is_noticed_and_the_reverse(
    harness: OrdersHarness, keeps: int, due: int, back: int
) -> None:
    keep(harness, keeps=not keeps)
    order = await paid(harness)
    await matched(harness, order)
    await rewrite(harness, keeps)
    (broken,) = await verify(harness.database)
    assert str(broken) == (
        f"I11: order {order.id}: its buyer should get {due:,} sat back, but got "
        f"{back:,}"
    )
    await rewrite(harness, 1 - keeps)


async def rewrite(harness: OrdersHarness, keeps: int) -> None:
    sql = f"UPDATE channel_order SET keeps_unused_fee = {keeps}"  # noqa: S608
    async with harness.database.transaction() as tx:
        await tx.run(Statement(sql))
