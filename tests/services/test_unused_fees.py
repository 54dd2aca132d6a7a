"""What the auction leaves of the pool fee is credited once, as the order is filled."""

import asyncio
from datetime import timedelta

import pytest

from leyden.domain import ledger
from leyden.domain.ledger import Entry, Reason
from leyden.domain.orders import Order, Status
from leyden.domain.pricing import Channel, Terms
from leyden.domain.tickets import Lease, Progress, TicketState
from leyden.domain.units import Sats
from leyden.services.channels import corrections, credit, orders
from leyden.services.channels.tickets import ticket_moved
from leyden.services.operators.verify import verify
from leyden.storage.statements import Statement
from leyden.values import replace
from tests.lock_waits import until_stuck
from tests.services.till import (
    CHANNEL,
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    Till,
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


async def paid(till: Till, channel: Channel = CHANNEL, who: str = HARBOUR) -> Order:
    """Order a channel, pay what credit does not, and have its ticket registered."""
    order = await till.create(channel, who)
    if order.payment_hash:
        till.payments.pay(request_of(order))
    await till.settle_down()
    assert till.market.register(await till.ticket(order))
    await till.follow_tickets()
    assert await till.status(order) is Status.SUBMITTED
    return await till.get(order)


async def matched(till: Till, order: Order, *, left: int = LEFT) -> None:
    assert till.market.match(await till.ticket(order), unused=left)
    await till.follow_tickets()
    assert await till.status(order) is Status.FILLED


async def on_account(till: Till) -> None:
    """Let the organization order now and pay later."""
    await credit.open_account(
        till.database, HARBOUR, most_owed=10**9, actor="operator", now=till.now
    )


async def pay_bill(till: Till, sats: int) -> None:
    await corrections.correct(
        till.database,
        HARBOUR,
        corrections.Correction.SETTLED,
        sats=sats,
        reason="the bill was paid",
        actor="operator",
        key="bill 1",
        now=till.now,
    )


async def owed(till: Till) -> int:
    return (await credit.balance(till.database, HARBOUR)).owed


async def spent(till: Till) -> tuple[int, int]:
    """What went to the auction, and what is ours."""
    return await till.place(ledger.AUCTION), await till.place(ledger.EARNED)


async def test_what_the_auction_left_is_credited_when_the_order_is_filled(
    till: Till,
) -> None:
    order = await paid(till)
    assert await till.credit() == 0
    await matched(till, order)
    assert await till.credit() == LEFT
    assert await spent(till) == (COST, OUR_FEE)


async def test_an_auction_that_took_everything_leaves_nothing(till: Till) -> None:
    await matched(till, await paid(till), left=0)
    assert await till.credit() == 0
    assert await spent(till) == (PRICE - OUR_FEE, OUR_FEE)


@pytest.mark.parametrize("left", [1, PRICE - OUR_FEE])
async def test_it_is_right_to_the_satoshi(till: Till, left: int) -> None:
    await matched(till, await paid(till), left=left)
    assert await till.credit() == left
    assert await spent(till) == (PRICE - OUR_FEE - left, OUR_FEE)


async def test_an_auction_that_took_more_leaves_nothing(till: Till) -> None:
    order = await paid(till)
    await ticket_moved(till.shop, order.id, filled(PRICE + 1))
    assert await till.credit() == 0
    assert await till.place(ledger.CORRECTIONS) == -1


async def test_more_than_its_share_and_less_than_the_price_is_taken_from_our_fee(
    till: Till,
) -> None:
    order = await paid(till)
    await ticket_moved(till.shop, order.id, filled(PRICE - OUR_FEE + 1))
    assert await till.credit() == 0
    assert await spent(till) == (PRICE - OUR_FEE + 1, OUR_FEE - 1)


async def test_what_is_on_the_buyers_side_is_not_left_over(till: Till) -> None:
    channel = Channel(capacity=Sats(1_000_000), self_chan_balance=Sats(50_000))
    order = await paid(till, channel)
    await matched(till, order)
    assert await till.credit() == LEFT
    quote = order.quote
    assert await spent(till) == (
        quote.pool_fee + 50_000 - LEFT,
        quote.service_fee + quote.self_chan_balance_fee - 50_000,
    )


async def test_an_order_that_is_filled_twice_is_credited_once(till: Till) -> None:
    order = await paid(till)
    for progress in (filled(), filled(), filled(COST - 100)):
        await ticket_moved(till.shop, order.id, progress)
    assert await till.credit() == LEFT


async def test_workers_that_fill_an_order_at_once_credit_it_once(till: Till) -> None:
    order = await paid(till)
    told = [ticket_moved(till.shop, order.id, filled()) for _ in range(4)]
    assert await at_once(*told) == [None] * 4
    assert await till.status(order) is Status.FILLED
    assert await till.credit() == LEFT


async def test_orders_that_are_filled_at_once_are_all_credited(till: Till) -> None:
    both = [await paid(till), await paid(till)]
    await at_once(*(ticket_moved(till.shop, each.id, filled()) for each in both))
    assert await till.credit() == 2 * LEFT


async def test_a_buyer_who_cancels_while_it_is_filled_gets_one_of_the_two(
    till: Till,
) -> None:
    order = await paid(till)
    assert till.market.match(await till.ticket(order), unused=LEFT)
    await at_once(till.cancel(order), ticket_moved(till.shop, order.id, filled()))
    await till.follow_tickets()
    assert await till.status(order) is Status.FILLED
    assert await till.credit() == LEFT


async def test_an_order_whose_cost_is_not_known_yet_is_asked_about_again(
    till: Till,
) -> None:
    order = await paid(till)
    unknown = Progress(state=TicketState.FILLED, order_nonce="ab" * 32)
    await ticket_moved(till.shop, order.id, unknown)
    assert await till.status(order) is Status.SUBMITTED
    assert await spent(till) == (0, 0)
    await matched(till, order)
    assert await till.credit() == LEFT


async def test_a_ticket_filled_between_two_looks_waits_for_its_cost_too(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    unknown = Progress(state=TicketState.FILLED, order_nonce="ab" * 32)
    await ticket_moved(till.shop, order.id, unknown)
    assert await till.status(order) is Status.CREATED
    await ticket_moved(till.shop, order.id, filled())
    assert await till.status(order) is Status.FILLED
    assert await till.credit() == LEFT


# Who paid what gets what back.


async def test_a_surplus_is_credited_beside_it(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order), PRICE + 9)
    await till.settle_down()
    assert till.market.register(await till.ticket(order))
    await matched(till, order)
    assert await till.credit() == 9 + LEFT


async def test_credit_comes_back_as_credit(till: Till) -> None:
    await till.give_credit(PRICE + 7)
    await matched(till, await paid(till))
    assert await till.credit() == 7 + LEFT


async def test_a_coupon_and_a_payment_come_back_as_one_credit(till: Till) -> None:
    await till.give_credit(700)
    order = await paid(till)
    assert order.credit_used == 700
    await matched(till, order)
    assert await till.credit() == LEFT


async def test_what_a_corporate_account_owes_is_lowered(till: Till) -> None:
    await on_account(till)
    order = await paid(till)
    assert order.charged == PRICE
    await matched(till, order)
    assert await owed(till) == PRICE - LEFT
    assert await till.credit() == 0


@pytest.mark.parametrize(
    ("bill", "lowered"), [(PRICE, 0), (PRICE - 100, 100), (PRICE - LEFT, LEFT)]
)
async def test_a_bill_that_was_paid_meanwhile_was_paid_with_the_buyers_money(
    till: Till, bill: int, lowered: int
) -> None:
    await on_account(till)
    order = await paid(till)
    await pay_bill(till, bill)
    await matched(till, order)
    assert await owed(till) == PRICE - bill - lowered
    assert await till.credit() == LEFT - lowered


async def test_an_account_that_paid_with_credit_too_has_its_debt_lowered_first(
    till: Till,
) -> None:
    await on_account(till)
    await till.give_credit(PRICE - 1_000)
    order = await paid(till)
    assert (order.credit_used, order.charged) == (PRICE - 1_000, 1_000)
    await matched(till, order)
    assert await owed(till) == 0
    assert await till.credit() == LEFT - 1_000


async def test_an_order_that_was_not_charged_lowers_no_bill_of_others(
    till: Till,
) -> None:
    await till.give_credit(PRICE)
    first = await paid(till)
    await on_account(till)
    await paid(till)
    await matched(till, first)
    assert await owed(till) == PRICE
    assert await till.credit() == LEFT


async def test_what_the_chain_took_back_is_repaid_first(till: Till) -> None:
    order = await till.create()
    coin = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    assert till.market.register(await till.ticket(order))
    await till.follow_tickets()
    till.payments.reorganise(1, drop=[coin])
    await till.start_sweeping()
    assert await owed(till) == PRICE
    await matched(till, order)
    assert await owed(till) == PRICE - LEFT
    assert await till.credit() == 0


async def test_what_the_chain_takes_back_in_the_same_moment_is_repaid_first(
    till: Till,
) -> None:
    """A debt that begins between the look at it and the commit is seen."""
    order = await paid(till)
    taken, go = asyncio.Event(), asyncio.Event()

    async def take_back() -> None:
        debt = Entry(
            key="a debt",
            what=Reason.CORRECTION,  # of no treasury, which knows nothing of it
            source=ledger.receivable(HARBOUR),
            target=ledger.CORRECTIONS,
            sats=Sats(PRICE),
            organization_id=HARBOUR,
        )
        async with till.database.transaction() as tx:
            await tx.ledger.post([debt], at=till.now)
            taken.set()
            await go.wait()

    taking = asyncio.create_task(take_back())
    await taken.wait()
    filling = asyncio.create_task(ticket_moved(till.shop, order.id, filled()))
    await until_stuck(till.database, filling)
    go.set()
    await asyncio.gather(taking, filling)
    assert await till.status(order) is Status.FILLED
    assert await till.credit() == 0
    assert await owed(till) == PRICE - LEFT


async def test_another_organization_gets_nothing_of_it(till: Till) -> None:
    await matched(till, await paid(till, who=LIGHTHOUSE))
    assert await till.credit(LIGHTHOUSE) == LEFT
    assert await till.credit(HARBOUR) == 0


# Operators who price otherwise.


def keep(till: Till, *, keeps: bool = True) -> None:
    till.rules = replace(till.rules, terms=Terms(keeps_unused_fee=keeps))


async def test_an_operator_may_keep_what_the_auction_left(till: Till) -> None:
    keep(till)
    await matched(till, await paid(till))
    assert await till.credit() == 0
    assert await spent(till) == (COST, OUR_FEE + LEFT)


async def test_what_was_said_with_the_price_holds_for_its_order(till: Till) -> None:
    first = await paid(till)
    keep(till)
    second = await paid(till)
    keep(till, keeps=False)
    await matched(till, first)
    assert await till.credit() == LEFT
    await matched(till, second)
    assert await till.credit() == LEFT


async def test_a_quote_that_holds_says_for_its_order_what_comes_back(
    till: Till,
) -> None:
    await orders.quote(till.shop, HARBOUR, CHANNEL, now=till.now)
    keep(till)
    till.now += timedelta(minutes=9)
    assert not (await till.create()).quote.keeps_unused_fee
    till.now += timedelta(minutes=9)
    assert (await till.create()).quote.keeps_unused_fee


async def test_a_quote_that_keeps_it_holds_too(till: Till) -> None:
    keep(till)
    await orders.quote(till.shop, HARBOUR, CHANNEL, now=till.now)
    keep(till, keeps=False)
    order = await paid(till)
    await matched(till, order)
    assert await till.credit() == 0


# What `verify` sees.


@pytest.mark.parametrize(
    ("keeps", "due", "back"), [(1, 0, LEFT), (0, LEFT, 0)], ids=["too much", "nothing"]
)
async def test_what_came_back_and_should_not_is_noticed_and_the_reverse(
    till: Till, keeps: int, due: int, back: int
) -> None:
    keep(till, keeps=not keeps)
    order = await paid(till)
    await matched(till, order)
    await rewrite(till, keeps)
    broken = [str(each) for each in await verify(till.database)]
    assert broken == [
        f"I11: order {order.id}: {due} sat are to come back to its buyer, {back} did"
    ]
    await rewrite(till, 1 - keeps)


async def rewrite(till: Till, keeps: int) -> None:
    sql = f"UPDATE channel_order SET keeps_unused_fee = {keeps}"  # noqa: S608
    async with till.database.transaction() as tx:
        await tx.run(Statement(sql))
