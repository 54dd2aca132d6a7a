import asyncio

import pytest

from tests.base.api.conftest import Answer, Caller
from tests.channels.api.flow.conftest import (
    ORDER_FIELDS,
    PRICE,
    UNKNOWN,
    World,
    check_fields,
    ordered,
    status_of,
    until,
)

CANCELLED_FIELDS = {
    **{name: kind for name, kind in ORDER_FIELDS.items() if name != "credit_used"},
    "credit_refund": int,
}


async def cancel(caller: Caller, order: dict[str, object]) -> Answer:
    return await caller.post("/flow/cancel", {"order_id": order["order_id"]})


async def credit(caller: Caller) -> int:
    found: int = (await caller.get("/flow/balance")).json()["credit"]
    return found


async def test_it_works(alice: Caller) -> None:
    order = await ordered(alice)
    answer = await cancel(alice, order)
    assert answer.status == 200
    cancelled = answer.json()
    check_fields(cancelled, CANCELLED_FIELDS)
    assert (cancelled["status"], cancelled["paid"]) == ("cancelled", False)
    assert (cancelled["amount_due"], cancelled["credit_refund"]) == (0, 0)
    assert cancelled["total_fee"] == PRICE


async def test_bob_may_and_charlie_gets_404(
    alice: Caller, bob: Caller, charlie: Caller
) -> None:
    order = await ordered(alice)
    foreign = await cancel(charlie, order)
    unknown = await charlie.post("/flow/cancel", {"order_id": UNKNOWN})
    assert (foreign.status, foreign.body) == (404, b'{"message":"not found"}')
    assert foreign.body == unknown.body
    differ = {n for n in foreign.headers if foreign.headers[n] != unknown.headers[n]}
    assert differ <= {"ratelimit-remaining", "ratelimit-reset"}  # of Charlie's own
    assert (await cancel(bob, order)).status == 200


async def test_without_a_key_nothing_is_cancelled(nobody: Caller) -> None:
    assert (await nobody.post("/flow/cancel", {"order_id": UNKNOWN})).status == 401


async def test_what_was_paid_becomes_credit(alice: Caller, world: World) -> None:
    order = await ordered(alice)
    world.pay(order)
    ticket = (await until(alice, order, "created"))["sidecar_ticket"]
    cancelled = (await cancel(alice, order)).json()
    assert (cancelled["credit_refund"], cancelled["paid"]) == (PRICE, True)
    assert await credit(alice) == PRICE
    assert not world.market.register(ticket)


async def test_used_credit_comes_back(alice: Caller, world: World) -> None:
    await world.give_credit(alice, 700)
    order = await ordered(alice)
    assert await credit(alice) == 0
    assert (await cancel(alice, order)).json()["credit_refund"] == 700
    assert await credit(alice) == 700


async def test_an_order_of_the_auction_can_be_cancelled_there(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice)
    world.pay(order)
    ticket = (await until(alice, order, "created"))["sidecar_ticket"]
    world.market.register(ticket)
    await world.follow_tickets()
    await until(alice, order, "submitted")
    assert (await cancel(alice, order)).json()["credit_refund"] == PRICE
    assert not world.market.match(ticket)


async def test_the_second_time_answers_the_same_and_moves_nothing(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice)
    world.pay(order)
    await until(alice, order, "created")
    answers = await asyncio.gather(*(cancel(alice, order) for _ in range(50)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert await credit(alice) == PRICE


async def test_an_order_that_filled_meanwhile_is_409(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice)
    world.pay(order)
    ticket = (await until(alice, order, "created"))["sidecar_ticket"]
    world.market.register(ticket)
    world.market.match(ticket)  # and we have not heard of it
    answer = await cancel(alice, order)
    assert answer.status == 409
    assert "filled" in answer.json()["message"]
    await until(alice, order, "filled")
    assert (await cancel(alice, order)).status == 409
    assert await credit(alice) == 0


async def test_while_the_auction_is_away_it_is_not_cancelled(
    alice: Caller, world: World
) -> None:
    order = await ordered(alice)
    world.pay(order)
    await until(alice, order, "created")
    world.market.away = True
    answer = await cancel(alice, order)
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert (await status_of(alice, order))["status"] == "created"
    assert await credit(alice) == 0


async def test_an_expired_order_is_409(alice: Caller, world: World) -> None:
    order = await ordered(alice)
    world.later(minutes=61)
    await until(alice, order, "expired")
    answer = await cancel(alice, order)
    assert answer.status == 409
    assert answer.json()["message"] == "an order that is expired cannot be cancelled"
    assert answer.headers["error-code"] == answer.json()["code"] == "wrong_state"


async def test_a_failed_order_gives_back_once(alice: Caller, world: World) -> None:
    await world.give_credit(alice, 700)
    world.market.refuses = "the account is empty"
    order = await ordered(alice)
    world.pay(order)
    await until(alice, order, "failed")
    assert await credit(alice) == 700
    for _ in range(2):
        cancelled = (await cancel(alice, order)).json()
        assert (cancelled["status"], cancelled["credit_refund"]) == ("cancelled", 700)
    assert await credit(alice) == 700


async def test_a_corporate_account_owes_it_no_more(alice: Caller, world: World) -> None:
    await world.open_account(alice, 100_000)
    order = await ordered(alice)
    assert (await alice.get("/flow/balance")).json()["balance"] == -PRICE
    assert (await cancel(alice, order)).json()["credit_refund"] == 0
    assert (await alice.get("/flow/balance")).json() == {"balance": 0, "credit": 0}


@pytest.mark.parametrize("rounds", range(3))
async def test_paying_and_cancelling_at_once_loses_nothing(
    alice: Caller, world: World, rounds: int
) -> None:
    order = await ordered(alice)
    paying = asyncio.create_task(asyncio.sleep(0.004 * rounds))
    paying.add_done_callback(
        lambda _: (
            world.pay(order)
            if world.payments.invoices[world.request(order).payment_hash].state
            == "open"
            else None
        )
    )
    answers = await asyncio.gather(*(cancel(alice, order) for _ in range(5)), paying)
    assert {each.status for each in answers[:5] if each} <= {200, 409}
    found = await status_of(alice, order)
    if found["status"] == "creating":
        found = await until(alice, order, "created")
    spent = world.payments.received()
    held = PRICE if found["status"] == "created" else 0
    assert spent == held + await credit(alice)
