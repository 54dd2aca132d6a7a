"""The time of an order is up, and what was paid into it is found first."""

from datetime import timedelta

import pytest

from leyden.domain.orders import Status
from leyden.payments.fake import PaymentFailed
from tests.services.till import PRICE, Till, request_of


async def test_an_unpaid_order_expires_and_gives_its_credit_back(till: Till) -> None:
    await till.give_credit(5_000)
    order = await till.create()
    assert (order.credit_used, order.amount_due) == (5_000, PRICE - 5_000)
    assert await till.credit() == 0
    await till.pass_time(minutes=59)
    assert await till.status(order) is Status.WAITING_PAYMENT
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.EXPIRED
    assert await till.credit() == 5_000
    with pytest.raises(PaymentFailed):
        till.payments.pay(request_of(order))


async def test_a_payment_that_was_missed_is_found_before_the_order_expires(
    till: Till,
) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    till.deafen()
    await till.pass_time(minutes=90)
    assert await till.status(order) is Status.CREATED


async def test_the_first_payment_ever_while_nobody_listens_is_found(
    till: Till,
) -> None:
    """F9: the treasury does not tell it again; looking for it is what helps."""
    lightning, chain = await till.create(), await till.create()
    till.payments.pay(request_of(lightning))
    till.payments.send(chain.onchain_address, PRICE)
    till.payments.mine()
    till.deafen()
    await till.start_sweeping()
    assert await till.status(lightning) is Status.CREATED
    assert await till.status(chain) is Status.CREATED


async def test_a_payment_that_was_replaced_by_nothing_lets_the_order_expire(
    till: Till,
) -> None:
    order = await till.create()
    first = till.payments.send(order.onchain_address, PRICE)
    await till.settle_down()
    till.payments.replace(first, sats=1)  # all but one sat went elsewhere
    await till.pass_time(minutes=61)
    assert await till.status(order) is Status.EXPIRED


async def test_the_clock_may_jump(till: Till) -> None:
    """F26: ahead ends no paid order, back revives no ended one."""
    paid, unpaid = await till.create(), await till.create()
    till.payments.pay(request_of(paid))
    await till.settle_down()
    await till.pass_time(days=3)
    assert await till.status(paid) is Status.CREATED
    assert await till.status(unpaid) is Status.EXPIRED
    till.now -= timedelta(days=3, hours=1)
    await till.settle_down()
    assert await till.status(unpaid) is Status.EXPIRED
    assert await till.status(paid) is Status.CREATED


async def test_while_the_treasury_is_away_nothing_is_guessed(till: Till) -> None:
    order = await till.create()
    till.payments.pay(request_of(order))
    till.deafen()
    till.payments.away = True
    await till.pass_time(minutes=90)
    assert await till.status(order) is Status.WAITING_PAYMENT
    till.payments.away = False
    await till.pass_time(minutes=2)
    assert await till.status(order) is Status.CREATED
