"""Coins, case by case: they add up, lie deep enough, and may be taken back."""

from collections.abc import Sequence

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import payment_sweep
from leyden.channels.checkout import record_payment
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.payments import InvoiceState, PaymentRequest, PaymentUpdate
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import TICKET
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness, request_of
from tests.events.stored_events import stored_types


async def test_coins_buy_a_ticket_once_they_lie_deep_enough(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert harness.payments.invoices[order.payment_hash].state is InvoiceState.CANCELLED


async def test_a_large_sum_has_to_lie_deeper(harness: OrdersHarness) -> None:
    channel = Channel(capacity=Sats(10_000_000), self_chan_balance=Sats(6_000_000))
    order = await harness.create(channel)
    harness.payments.send(order.onchain_address, order.to_be_paid)
    for _ in range(2):
        harness.payments.mine()
        await harness.settle_down()
        assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED


async def test_outputs_add_up_and_the_rest_is_credit(harness: OrdersHarness) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 20_000 - PRICE


async def test_too_little_becomes_credit_when_the_time_is_up(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine()
    await harness.settle_down()
    await harness.pass_time(minutes=61)
    assert await harness.status(order) is OrderStatus.EXPIRED
    assert await harness.credit() == 10_000


async def test_too_little_that_confirms_late_becomes_credit(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, 10_000)
    await harness.pass_time(minutes=61)
    assert await harness.status(order) is OrderStatus.EXPIRED
    assert await harness.credit() == 0
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.credit() == 10_000


async def test_a_whole_payment_becomes_credit_when_it_confirms_late(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    await harness.pass_time(minutes=61)
    assert await harness.status(order) is OrderStatus.EXPIRED
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.credit() == PRICE


async def test_a_payment_that_was_booked_is_waited_for_when_a_reorganization_undid_it(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, order.to_be_paid)
    harness.payments.mine()
    await harness.hear()
    assert await harness.status(order) is OrderStatus.CREATING
    harness.payments.reorganise(1)
    await harness.hear()
    await harness.pass_time(hours=5)
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
async def test_coins_for_an_ended_order_become_credit(
    harness: OrdersHarness, ending: str
) -> None:
    order = await harness.create()
    if ending == "cancelled":
        await harness.cancel(order)
    await harness.pass_time(hours=2)
    assert await harness.status(order) == ending
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.credit() == PRICE
    assert await harness.status(order) == ending


async def test_both_rails_at_once_with_coins_first_hands_lightning_back(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 0
    assert harness.payments.received() == PRICE


async def test_a_replaced_payment_is_forgotten_and_the_new_one_counts(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    first = harness.payments.send(order.onchain_address, PRICE)
    await harness.settle_down()
    harness.payments.replace(first, sats=PRICE)
    harness.payments.mine()
    await harness.start_sweeping()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE
    assert await harness.credit() == 0


async def test_a_reorganisation_before_the_ticket_waits_for_the_payment_again(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.market.away = True
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATING
    harness.payments.reorganise(1)
    await harness.settle_down()
    waiting = await harness.get(order)
    assert (waiting.status, waiting.paid) == (OrderStatus.WAITING_PAYMENT, False)
    assert await harness.balance_of(ledger.RECEIVED) == 0
    harness.market.away = False
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.balance_of(ledger.RECEIVED) == -PRICE


async def test_a_reorganisation_before_the_ticket_can_end_in_expiry(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.market.answers_lost = 1  # a ticket is made, and we do not hear of it
    sent = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    harness.payments.reorganise(1, drop=[sent])
    await harness.start_sweeping()
    assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    await harness.pass_time(minutes=61)
    assert await harness.status(order) is OrderStatus.EXPIRED
    assert set(harness.market.tickets().values()) == {"cancelled"}


async def test_a_reorganisation_after_the_ticket_is_owed_to_us(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    sent = harness.payments.send(order.onchain_address, PRICE + 500)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.credit() == 500
    harness.payments.reorganise(1, drop=[sent])
    await harness.start_sweeping()
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 0
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == -PRICE
    assert await harness.balance_of(ledger.RECEIVED) == 0


async def test_what_paid_for_a_ticket_is_owed_whatever_credit_there_is(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    sent = harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    await harness.give_credit(21_000)
    harness.payments.reorganise(1, drop=[sent])
    await harness.start_sweeping()
    assert await harness.credit() == 21_000
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == -PRICE


async def test_the_same_output_mined_again_is_booked_again_once(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    for depth in (1, 1, 1):
        harness.payments.reorganise(depth)
        await harness.settle_down()
        assert await harness.balance_of(ledger.receivable(HARBOUR)) == -PRICE
        harness.payments.mine()
        await harness.settle_down()
        assert await harness.balance_of(ledger.receivable(HARBOUR)) == 0
        assert await harness.balance_of(ledger.RECEIVED) == -PRICE
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 0


async def test_an_answer_from_before_the_block_takes_nothing_back(
    harness: OrdersHarness,
) -> None:
    """The treasury was asked before the block came, and answers after it was heard."""
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    await harness.settle_down()
    lookup = harness.payments.lookup

    async def late(requests: Sequence[PaymentRequest]) -> list[PaymentUpdate]:
        answer = await lookup(requests)
        harness.payments.mine()
        await harness.hear()
        await harness.work(TICKET)
        return answer

    harness.payments.lookup = late  # type: ignore[method-assign]
    await payment_sweep.look_up(harness.channels, [request_of(order)])
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == 0
    assert "payment.returned" not in await stored_types(harness.database, HARBOUR)


async def test_a_spent_credit_that_the_chain_takes_back_becomes_a_receivable(
    harness: OrdersHarness,
) -> None:
    late = await harness.create()
    await harness.cancel(late)
    sent = harness.payments.send(late.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    bought = await harness.create()
    await harness.settle_down()
    assert await harness.status(bought) is OrderStatus.CREATED
    harness.payments.reorganise(1, drop=[sent])
    await harness.start_sweeping()
    assert await harness.credit() == 0
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == -PRICE
    # What comes in next repays it, and what is given back does too.
    await harness.cancel(bought)
    assert await harness.credit() == 0
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == 0


async def test_a_reorganisation_of_an_ended_order_takes_its_credit(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    sent = harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine()
    await harness.settle_down()
    await harness.cancel(order)
    assert await harness.credit() == 10_000
    harness.payments.reorganise(1, drop=[sent])
    await harness.start_sweeping()
    assert await harness.credit() == 0
    assert await harness.balance_of(ledger.receivable(HARBOUR)) == 0


async def test_what_is_buried_is_looked_for_no_more(harness: OrdersHarness) -> None:
    harness.rules = replace(harness.rules, buried=6)
    order = await harness.create()
    harness.payments.send(order.onchain_address, PRICE)
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.database.reader.outputs.watched() == [order.id]
    harness.payments.mine(5)
    await harness.settle_down()
    assert await harness.database.reader.outputs.watched() == []


async def test_what_is_buried_is_not_taken_back_because_nobody_tells_of_it(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    coin = harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine(100)
    await harness.start_sweeping()
    harness.payments.reorganise(100, drop=[coin])
    await harness.start_sweeping()
    assert await harness.balance_of(ledger.held(order.id)) == 10_000
    harness.payments.send(order.onchain_address, 10_000, txid=coin.txid)
    harness.payments.mine()  # and so it was there all the time
    await harness.start_sweeping()
    assert await harness.balance_of(ledger.held(order.id)) == 10_000


async def test_a_large_sum_in_small_coins_has_to_lie_as_deep(
    harness: OrdersHarness,
) -> None:
    """Else whoever can turn one block would pay for nothing, a million at a time."""
    channel = Channel(capacity=Sats(10_000_000), self_chan_balance=Sats(6_000_000))
    order = await harness.create(channel)
    for _ in range(7):
        harness.payments.send(order.onchain_address, 999_999)
    for _ in range(2):
        harness.payments.mine()
        await harness.settle_down()
        assert await harness.balance_of(ledger.held(order.id)) == 0
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED


async def test_a_large_coin_for_a_small_order_has_to_lie_as_deep(
    harness: OrdersHarness,
) -> None:
    """All that it is more is credit, and buys as much."""
    order = await harness.create()
    harness.payments.send(order.onchain_address, 5_000_000)
    for _ in range(2):
        harness.payments.mine()
        await harness.settle_down()
        assert await harness.status(order) is OrderStatus.WAITING_PAYMENT
    harness.payments.mine()
    await harness.settle_down()
    assert await harness.credit() == 5_000_000 - PRICE


async def test_what_counted_counts_as_long_as_any_block_has_it(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, 1_000_000)
    harness.payments.mine(2)
    await harness.settle_down()
    assert await harness.status(order) is OrderStatus.CREATED
    harness.payments.reorganise(1)
    await harness.start_sweeping()
    assert await harness.credit() == 1_000_000 - PRICE
    assert await harness.balance_of(ledger.RECEIVED) == -1_000_000


@pytest.mark.parametrize("other", [1, 10_001, 10**9])
async def test_an_output_has_the_sum_it_had_at_first(
    harness: OrdersHarness, other: int
) -> None:
    order = await harness.create()
    harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine()
    await harness.settle_down()
    (answer,) = harness.payments.outputs()
    for confirmations in (0, 1, 100):
        changed = replace(answer, sats=Sats(other), confirmations=confirmations)
        await record_payment(harness.channels, changed, now=harness.now)
    await harness.settle_down()
    assert await harness.balance_of(ledger.held(order.id)) == 10_000
    assert await harness.credit() == 0


async def test_a_part_that_the_chain_takes_back_matters_no_more_once_all_is_held(
    harness: OrdersHarness,
) -> None:
    order = await harness.create()
    coin = harness.payments.send(order.onchain_address, 10_000)
    harness.payments.mine()
    await harness.settle_down()
    harness.market.away = True
    harness.payments.pay(request_of(order))
    await harness.settle_down()
    harness.payments.reorganise(1, drop=[coin])
    await harness.start_sweeping()
    assert await harness.status(order) is OrderStatus.CREATING
    harness.market.away = False
    await harness.pass_time(minutes=1)
    assert await harness.status(order) is OrderStatus.CREATED
    assert await harness.credit() == 0
    assert harness.payments.received() == PRICE
    assert await harness.database.reader.moves.of_order(order.id) == [
        (OrderStatus.WAITING_PAYMENT, OrderStatus.CREATING),
        (OrderStatus.CREATING, OrderStatus.CREATED),
    ]
