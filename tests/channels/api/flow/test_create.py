import asyncio
import re

from leyden.base.rules.times import to_iso
from leyden.channels.rules import ledger
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import (
    ORDER_FIELDS,
    PRICE,
    World,
    check_fields,
    ordered,
    status_of,
    until,
)
from tests.conftest import NOW

_ORDER_ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}FO"
)


async def test_it_works(alice: Caller, million: dict[str, int]) -> None:
    answer = await alice.post("/flow/create", million)
    assert answer.status == 200
    order = answer.json()
    check_fields(order, ORDER_FIELDS)
    assert _ORDER_ID.fullmatch(order.pop("order_id"))
    assert order.pop("onchain_address").startswith("bcrt1q")
    assert order.pop("lightning_invoice").startswith("lnbcrt")
    assert order == {
        "creation_date": to_iso(NOW),
        "status": "waiting_payment",
        "paid": False,
        "order_nonce": "",
        "capacity": 1_000_000,
        "self_chan_balance": 0,
        "lease_duration_blocks": 2016,
        "node_tier": "best",
        "rate_fixed": 2480,
        "sidecar_ticket": "",
        "service_fee": 2_000,
        "pool_fee": 14_163,
        "self_chan_balance_fee": 0,
        "total_fee": PRICE,
        "amount_due": PRICE,
        "credit_used": 0,
    }


async def test_bob_may_and_so_may_charlie_for_himself(
    bob: Caller, charlie: Caller
) -> None:
    await ordered(bob)
    await ordered(charlie)
    assert len((await bob.get("/flow/orders")).json()["orders"]) == 1


async def test_without_a_key_nothing_is_ordered(
    nobody: Caller, million: dict[str, int]
) -> None:
    assert (await nobody.post("/flow/create", million)).status == 401


async def test_every_order_has_its_own_address_and_invoice(alice: Caller) -> None:
    orders = await asyncio.gather(*(ordered(alice) for _ in range(20)))
    for name in ("order_id", "onchain_address", "lightning_invoice"):
        assert len({order[name] for order in orders}) == 20


async def test_a_paid_order_gets_its_ticket(alice: Caller, world: World) -> None:
    order = await ordered(alice)
    world.pay(order)
    created = await until(alice, order, "created")
    assert created["paid"] is True
    assert created["sidecar_ticket"].startswith("sidecar1")


async def test_credit_that_covers_it_all_is_answered_with_the_ticket(
    alice: Caller, world: World
) -> None:
    await world.give_credit(alice, PRICE + 1)
    order = await ordered(alice)
    assert (order["status"], order["paid"]) == ("created", True)
    assert order["sidecar_ticket"].startswith("sidecar1")
    assert (order["onchain_address"], order["lightning_invoice"]) == ("", "")
    assert (order["credit_used"], order["amount_due"]) == (PRICE, 0)
    assert (await alice.get("/flow/balance")).json()["credit"] == 1
    assert world.payments.requests == {}


async def test_credit_that_covers_a_part_is_deducted_first(
    alice: Caller, world: World
) -> None:
    await world.give_credit(alice, 6_163)
    order = await ordered(alice)
    assert (order["credit_used"], order["amount_due"]) == (6_163, 10_000)
    assert world.request(order).sats == 10_000
    assert (await alice.get("/flow/balance")).json()["credit"] == 0


async def test_a_corporate_account_gets_the_ticket_and_owes_the_fee(
    alice: Caller, world: World
) -> None:
    await world.open_account(alice, PRICE)
    order = await ordered(alice)
    assert (order["status"], order["paid"]) == ("created", True)
    assert order["sidecar_ticket"].startswith("sidecar1")
    assert (order["onchain_address"], order["lightning_invoice"]) == ("", "")
    assert (order["credit_used"], order["amount_due"]) == (0, PRICE)
    assert (await alice.get("/flow/balance")).json() == {
        "balance": -PRICE,
        "credit": 0,
    }


async def test_a_corporate_account_past_its_limit_is_402(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    await world.open_account(alice, 2 * PRICE - 1)
    answers = await asyncio.gather(
        *(alice.post("/flow/create", million) for _ in range(10))
    )
    assert sorted(answer.status for answer in answers) == [200] + [402] * 9
    assert (await alice.get("/flow/balance")).json()["balance"] == -PRICE


async def test_fifty_at_once_with_credit_for_one_spend_it_once(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    """T-lnbits228: what is there can be used once, whoever comes at the same time."""
    await world.give_credit(alice, PRICE)
    answers = await asyncio.gather(
        *(alice.post("/flow/create", million) for _ in range(50))
    )
    assert {answer.status for answer in answers} == {200}
    used = sorted(answer.json()["credit_used"] for answer in answers)
    assert used == [0] * 49 + [PRICE]
    credit = ledger.credit(alice.organization_id)
    assert await world.channels.database.reader.ledger.balance(credit) == 0


async def test_while_the_treasury_is_away_no_order_is_made(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    world.payments.away = True
    answer = await alice.post("/flow/create", million)
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0
    assert (await alice.get("/flow/orders")).json()["orders"] == []
    await world.give_credit(alice, PRICE)
    assert (await ordered(alice))["status"] == "created"


async def test_while_the_auction_is_away_a_paid_order_is_being_created(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    await alice.post("/flow/quote", million)
    await world.give_credit(alice, PRICE)
    world.market.away = True
    order = await ordered(alice)
    assert (order["status"], order["paid"]) == ("creating", True)
    world.market.away = False
    world.later(minutes=1)
    await until(alice, order, "created")


async def test_under_one_key_it_is_made_once(
    alice: Caller, world: World, million: dict[str, int]
) -> None:
    key = {"Idempotency_Key": "harbour-light-1"}
    first = await alice.post("/flow/create", million, **key)
    again = await alice.post("/flow/create", million, **key)
    assert first.body == again.body
    assert len(world.payments.requests) == 1
    other = await alice.post("/flow/create", {"capacity": 200_000}, **key)
    assert other.status == 400


async def test_the_answer_that_was_given_stays_true(alice: Caller) -> None:
    order = await ordered(alice)
    assert await status_of(alice, order) == order
