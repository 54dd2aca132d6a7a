import pytest

from leyden.app.serving.api import Api
from tests.base.api.conftest import Answer, Caller
from tests.channels.api.flow.conftest import (
    ORDER_FIELDS,
    UNKNOWN,
    World,
    check_fields,
    ordered,
    refused,
    status_of,
    until,
)


async def test_it_works(alice: Caller) -> None:
    order = await ordered(alice)
    found = await status_of(alice, order)
    check_fields(found, ORDER_FIELDS)
    assert found == order


def told(answer: Answer) -> tuple[bytes, dict[str, str]]:
    """Return what an answer tells, but for how many requests are left."""
    headers = dict(answer.headers)
    return answer.body, {
        name: value for name, value in headers.items() if "ratelimit" not in name
    }


async def test_bob_sees_it_and_charlie_does_not(
    alice: Caller, bob: Caller, charlie: Caller
) -> None:
    order = await ordered(alice)
    assert await status_of(bob, order) == order
    foreign = await charlie.post("/flow/status", {"order_id": order["order_id"]})
    unknown = await charlie.post("/flow/status", {"order_id": UNKNOWN})
    nonsense = await charlie.post("/flow/status", {"order_id": "' OR 1=1 --"})
    assert foreign.status == 404
    assert foreign.body == b'{"message":"not found"}'
    assert told(foreign) == told(unknown) == told(nonsense)


async def test_without_a_key_nothing_is_told(nobody: Caller) -> None:
    assert (await nobody.post("/flow/status", {"order_id": UNKNOWN})).status == 401


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"order_id": 1}', b'{"order_id": null}', b'{"order_id": ["a"]}', b"[]"],
)
@pytest.mark.parametrize("path", ["/flow/status", "/flow/cancel"])
async def test_a_wrong_body_is_refused(
    api: Api, alice: Caller, path: str, body: bytes
) -> None:
    await refused(api, alice, path, body)


async def test_it_follows_the_order_to_the_end(alice: Caller, world: World) -> None:
    order = await ordered(alice)
    world.pay(order)
    ticket = (await until(alice, order, "created"))["sidecar_ticket"]
    assert world.market.register(ticket)
    await world.follow_tickets()
    submitted = await until(alice, order, "submitted")
    assert len(submitted["order_nonce"]) == 64
    assert submitted["sidecar_ticket"] == ticket
    assert world.market.match(ticket)
    await world.follow_tickets()
    assert (await until(alice, order, "filled"))["paid"] is True


async def test_an_unpaid_order_expires(alice: Caller, world: World) -> None:
    order = await ordered(alice)
    world.later(minutes=61)
    expired = await until(alice, order, "expired")
    assert (expired["paid"], expired["sidecar_ticket"]) == (False, "")


async def test_a_ticket_that_cannot_be_made_fails_the_order(
    alice: Caller, world: World
) -> None:
    world.market.refuses = "the account is empty"
    order = await ordered(alice)
    world.pay(order)
    failed = await until(alice, order, "failed")
    assert (failed["paid"], failed["sidecar_ticket"]) == (False, "")
    assert world.payments.received() == 0
