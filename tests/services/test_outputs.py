"""Coins, case by case: they add up, lie deep enough, and may be taken back."""

import pytest

from leyden.domain import ledger
from leyden.domain.orders import Status
from leyden.domain.payments import InvoiceState
from leyden.domain.pricing import Channel
from leyden.domain.units import Sats
from leyden.services.channels.checkout import record_payment
from leyden.values import replace
from tests.services.till import HARBOUR, PRICE, Till, request_of


async def test_coins_buy_a_ticket_once_they_lie_deep_enough(till: Till) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    await till.settle_down()
    assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert till.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED


async def test_a_large_sum_has_to_lie_deeper(till: Till) -> None:
    channel = Channel(capacity=Sats(10_000_000), self_chan_balance=Sats(6_000_000))
    order = await till.create(channel)
    till.payments.send(order.onchain_address, order.to_be_paid)
    for _ in range(2):
        till.payments.mine()
        await till.settle_down()
        assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED


async def test_outputs_add_up_and_the_rest_is_credit(till: Till) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, 10_000)
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.send(order.onchain_address, 10_000)
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 20_000 - PRICE


async def test_too_little_becomes_credit_when_the_time_is_up(till: Till) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, 10_000)
    till.payments.mine()
    await till.settle_down()
    await till.pass_time(minutes=61)
    assert await till.status(order) is Status.EXPIRED
    assert await till.credit() == 10_000


async def test_too_little_that_confirms_late_becomes_credit(till: Till) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, 10_000)
    await till.pass_time(minutes=61)
    assert await till.status(order) is Status.EXPIRED
    assert await till.credit() == 0
    till.payments.mine()
    await till.settle_down()
    assert await till.credit() == 10_000


async def test_coins_seen_in_time_and_confirmed_late_buy_the_ticket(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    await till.settle_down()
    await till.pass_time(hours=5)
    assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED


async def test_coins_that_never_confirm_do_not_stop_the_clock_for_ever(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    await till.settle_down()
    await till.pass_time(days=4)
    assert await till.status(order) is Status.EXPIRED


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
async def test_coins_for_an_ended_order_become_credit(till: Till, ending: str) -> None:
    order = await till.create()
    if ending == "cancelled":
        await till.cancel(order)
    await till.pass_time(hours=2)
    assert await till.status(order) == ending
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    assert await till.credit() == PRICE
    assert await till.status(order) == ending


async def test_both_rails_at_once_with_coins_first_hands_lightning_back(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 0
    assert till.payments.received() == PRICE


async def test_a_replaced_payment_is_forgotten_and_the_new_one_counts(
    till: Till,
) -> None:
    order = await till.create()
    first = till.payments.send(order.onchain_address, PRICE)
    await till.settle_down()
    till.payments.replace(first, sats=PRICE)
    till.payments.mine()
    await till.start_sweeping()
    assert await till.status(order) is Status.CREATED
    assert await till.place(ledger.RECEIVED) == -PRICE
    assert await till.credit() == 0


async def test_a_reorganisation_before_the_ticket_waits_for_the_payment_again(
    till: Till,
) -> None:
    order = await till.create()
    till.market.away = True
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATING
    till.payments.reorganise(1)
    await till.settle_down()
    waiting = await till.get(order)
    assert (waiting.status, waiting.paid) == (Status.WAITING_PAYMENT, False)
    assert await till.place(ledger.RECEIVED) == 0
    till.market.away = False
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    assert await till.place(ledger.RECEIVED) == -PRICE


async def test_a_reorganisation_before_the_ticket_can_end_in_expiry(
    till: Till,
) -> None:
    order = await till.create()
    till.market.answers_lost = 1  # a ticket is made, and we do not hear of it
    sent = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    till.payments.reorganise(1, drop=[sent])
    await till.start_sweeping()
    assert await till.status(order) is Status.WAITING_PAYMENT
    await till.pass_time(minutes=61)
    assert await till.status(order) is Status.EXPIRED
    assert set(till.market.tickets().values()) == {"cancelled"}


async def test_a_reorganisation_after_the_ticket_is_owed_to_us(till: Till) -> None:
    order = await till.create()
    sent = till.payments.send(order.onchain_address, PRICE + 500)
    till.payments.mine()
    await till.settle_down()
    assert await till.credit() == 500
    till.payments.reorganise(1, drop=[sent])
    await till.start_sweeping()
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 0
    assert await till.place(ledger.receivable(HARBOUR)) == -PRICE
    assert await till.place(ledger.RECEIVED) == 0


async def test_what_paid_for_a_ticket_is_owed_whatever_credit_there_is(
    till: Till,
) -> None:
    order = await till.create()
    sent = till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    await till.give_credit(21_000)
    till.payments.reorganise(1, drop=[sent])
    await till.start_sweeping()
    assert await till.credit() == 21_000
    assert await till.place(ledger.receivable(HARBOUR)) == -PRICE


async def test_the_same_output_mined_again_is_booked_again_once(till: Till) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    for depth in (1, 1, 1):
        till.payments.reorganise(depth)
        await till.settle_down()
        assert await till.place(ledger.receivable(HARBOUR)) == -PRICE
        till.payments.mine()
        await till.settle_down()
        assert await till.place(ledger.receivable(HARBOUR)) == 0
        assert await till.place(ledger.RECEIVED) == -PRICE
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 0


async def test_a_spent_credit_that_the_chain_takes_back_becomes_a_receivable(
    till: Till,
) -> None:
    late = await till.create()
    await till.cancel(late)
    sent = till.payments.send(late.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    bought = await till.create()
    await till.settle_down()
    assert await till.status(bought) is Status.CREATED
    till.payments.reorganise(1, drop=[sent])
    await till.start_sweeping()
    assert await till.credit() == 0
    assert await till.place(ledger.receivable(HARBOUR)) == -PRICE
    # What comes in next repays it, and what is given back does too.
    await till.cancel(bought)
    assert await till.credit() == 0
    assert await till.place(ledger.receivable(HARBOUR)) == 0


async def test_a_reorganisation_of_an_ended_order_takes_its_credit(till: Till) -> None:
    order = await till.create()
    sent = till.payments.send(order.onchain_address, 10_000)
    till.payments.mine()
    await till.settle_down()
    await till.cancel(order)
    assert await till.credit() == 10_000
    till.payments.reorganise(1, drop=[sent])
    await till.start_sweeping()
    assert await till.credit() == 0
    assert await till.place(ledger.receivable(HARBOUR)) == 0


async def test_what_is_buried_is_looked_for_no_more(till: Till) -> None:
    till.rules = replace(till.rules, buried=6)
    order = await till.create()
    till.payments.send(order.onchain_address, PRICE)
    till.payments.mine()
    await till.settle_down()
    assert await till.database.reader.outputs.watched() == [order.id]
    till.payments.mine(5)
    await till.settle_down()
    assert await till.database.reader.outputs.watched() == []


async def test_what_is_buried_is_not_taken_back_because_nobody_tells_of_it(
    till: Till,
) -> None:
    order = await till.create()
    coin = till.payments.send(order.onchain_address, 10_000)
    till.payments.mine(100)
    await till.start_sweeping()
    till.payments.reorganise(100, drop=[coin])
    await till.start_sweeping()
    assert await till.place(ledger.held(order.id)) == 10_000
    till.payments.send(order.onchain_address, 10_000, txid=coin.txid)
    till.payments.mine()  # and so it was there all the time
    await till.start_sweeping()
    assert await till.place(ledger.held(order.id)) == 10_000


async def test_a_large_sum_in_small_coins_has_to_lie_as_deep(till: Till) -> None:
    """Else whoever can turn one block would pay for nothing, a million at a time."""
    channel = Channel(capacity=Sats(10_000_000), self_chan_balance=Sats(6_000_000))
    order = await till.create(channel)
    for _ in range(7):
        till.payments.send(order.onchain_address, 999_999)
    for _ in range(2):
        till.payments.mine()
        await till.settle_down()
        assert await till.place(ledger.held(order.id)) == 0
    till.payments.mine()
    await till.settle_down()
    assert await till.status(order) is Status.CREATED


async def test_a_large_coin_for_a_small_order_has_to_lie_as_deep(till: Till) -> None:
    """All that it is more is credit, and buys as much."""
    order = await till.create()
    till.payments.send(order.onchain_address, 5_000_000)
    for _ in range(2):
        till.payments.mine()
        await till.settle_down()
        assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.mine()
    await till.settle_down()
    assert await till.credit() == 5_000_000 - PRICE


async def test_what_counted_counts_as_long_as_any_block_has_it(till: Till) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, 1_000_000)
    till.payments.mine(2)
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    till.payments.reorganise(1)
    await till.start_sweeping()
    assert await till.credit() == 1_000_000 - PRICE
    assert await till.place(ledger.RECEIVED) == -1_000_000


@pytest.mark.parametrize("other", [1, 10_001, 10**9])
async def test_an_output_has_the_sum_it_had_at_first(till: Till, other: int) -> None:
    order = await till.create()
    till.payments.send(order.onchain_address, 10_000)
    till.payments.mine()
    await till.settle_down()
    (told,) = till.payments.outputs()
    for confirmations in (0, 1, 100):
        changed = replace(told, sats=Sats(other), confirmations=confirmations)
        await record_payment(till.shop, changed, now=till.now)
    await till.settle_down()
    assert await till.place(ledger.held(order.id)) == 10_000
    assert await till.credit() == 0


async def test_a_part_that_the_chain_takes_back_matters_no_more_once_all_is_held(
    till: Till,
) -> None:
    order = await till.create()
    coin = till.payments.send(order.onchain_address, 10_000)
    till.payments.mine()
    await till.settle_down()
    till.market.away = True
    till.payments.pay(request_of(order))
    await till.settle_down()
    till.payments.reorganise(1, drop=[coin])
    await till.start_sweeping()
    assert await till.status(order) is Status.CREATING
    till.market.away = False
    await till.pass_time(minutes=1)
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 0
    assert till.payments.received() == PRICE
    assert await till.database.reader.moves.of_order(order.id) == [
        (Status.WAITING_PAYMENT, Status.CREATING),
        (Status.CREATING, Status.CREATED),
    ]
