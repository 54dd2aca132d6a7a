"""An order whose ticket the market lost: named to a person, and ended by one alone."""

import pytest

from leyden.domain.orders import Order, Status
from leyden.domain.units import Sats
from leyden.errors import Conflict, Malformed, MarketAway, NotFound
from leyden.services.channels.missing_tickets import abandon, list_missing
from tests.conftest import NOW
from tests.services.till import HARBOUR, PRICE, Till, request_of

WHY = {"reason": "pool.db is gone", "actor": "operator:alice"}


async def ticketed(till: Till) -> Order:
    order = await till.create()
    till.payments.pay(request_of(order))
    await till.settle_down()
    assert await till.status(order) is Status.CREATED
    return order


async def lose(till: Till, order: Order) -> None:
    till.market.forget(await till.ticket(order))


@pytest.mark.parametrize("registered", [False, True])
async def test_what_was_paid_for_it_becomes_credit_once(
    till: Till, *, registered: bool
) -> None:
    order, other = await ticketed(till), await ticketed(till)
    assert await list_missing(till.shop) == []
    if registered:
        till.market.register(await till.ticket(order))
        await till.follow_tickets()
        assert await till.status(order) is Status.SUBMITTED
    await lose(till, order)
    await till.follow_tickets()  # which ends nothing by itself
    assert [each.id for each in await list_missing(till.shop)] == [order.id]
    with pytest.raises(MarketAway):
        await till.cancel(order)

    for _ in range(2):
        ended = await abandon(till.shop, order.id, **WHY)
        assert (ended.status, ended.credit_refund) == (Status.CANCELLED, PRICE)
    assert await till.credit() == PRICE
    assert await list_missing(till.shop) == []
    await till.settle_down()  # nothing is left that somebody tries in vain
    tried = await till.database.reader.counts.tried(most=9)
    assert [each.key for each in tried] == []
    (line,) = await till.database.reader.audit.latest(most=1)
    assert (line.actor, line.action, line.subject, line.at) == (
        "operator:alice",
        "order abandoned",
        order.id,
        NOW,
    )
    assert line.detail["reason"] == "pool.db is gone"
    assert await till.status(other) is Status.CREATED


async def test_a_corporate_account_owes_nothing_for_it(till: Till) -> None:
    async with till.database.transaction() as tx:
        await tx.corporate_accounts.set_limit(HARBOUR, Sats(PRICE), since=till.now)
    order = await till.create()
    await till.settle_down()
    await lose(till, order)
    ended = await abandon(till.shop, order.id, **WHY)
    assert ended.credit_refund == 0
    assert await till.place(f"owed:{HARBOUR}") == 0


async def test_what_is_not_lost_is_not_abandoned(till: Till) -> None:
    waiting = await till.create()
    order = await ticketed(till)
    for each, why in (
        (waiting, "an order that is waiting_payment has no ticket to lose"),
        (order, "the market knows its ticket; the order can be cancelled"),
    ):
        with pytest.raises(Conflict, match=why):
            await abandon(till.shop, each.id, **WHY)
    till.market.away = True
    for asked in (list_missing(till.shop), abandon(till.shop, order.id, **WHY)):
        with pytest.raises(MarketAway):
            await asked
    till.market.away = False
    with pytest.raises(NotFound):
        await abandon(till.shop, "nobody's", **WHY)
    await lose(till, order)
    for reason in (" ", "x" * 501):
        with pytest.raises(Malformed, match="reason"):
            await abandon(till.shop, order.id, reason=reason, actor="operator:alice")
    assert await till.status(order) is Status.CREATED
    assert await till.credit() == 0
