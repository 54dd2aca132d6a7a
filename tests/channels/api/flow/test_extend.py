"""Leases that are extended over the API."""

import asyncio
import uuid
from typing import Any

import pytest

from leyden.app.serving.api import Api
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.extensions import (
    SUFFIX,
    Extension,
    ExtensionStatus,
)
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import (
    UNKNOWN,
    World,
    check_fields,
    ordered,
    refused,
    status_of,
    until,
)
from tests.channels.api.flow.test_direct import KEY

PRICE = 6_999
QUOTE_FIELDS = {
    "order_id": str,
    "lease_duration_blocks": int,
    "service_fee": int,
    "premium": int,
    "total_fee": int,
    "credit_used": int,
    "amount_due": int,
    "lease_ends_block": int,
}
FIELDS = {
    "extension_id": str,
    "order_id": str,
    "creation_date": str,
    "status": str,
    "lease_duration_blocks": int,
    "service_fee": int,
    "premium": int,
    "total_fee": int,
    "credit_used": int,
    "amount_due": int,
    "lightning_invoice": str,
    "lease_ends_block": int,
}


@pytest.fixture
async def order(alice: Caller, world: World) -> dict[str, Any]:
    """A channel whose buyer was left 10,460 sat of credit."""
    world.seller.fill([3_000_000] * 3)
    world.seller.online.add(KEY)
    made = await ordered(alice, node=KEY)
    world.pay(made)
    return await until(alice, made, "filled")


def path(order: dict[str, Any], what: str) -> str:
    return f"/flow/orders/{order['order_id']}/{what}"


async def test_a_lease_is_quoted_and_extended_from_credit(
    alice: Caller, order: dict[str, Any]
) -> None:
    answer = await alice.post(path(order, "extend/quote"), {})
    assert answer.status == 200, answer.body
    quoted = answer.json()
    check_fields(quoted, QUOTE_FIELDS)
    assert (quoted["total_fee"], quoted["amount_due"]) == (PRICE, 0)
    answer = await alice.post(path(order, "extend"), {"max_fee": PRICE})
    assert answer.status == 200, answer.body
    made = answer.json()
    check_fields(made, FIELDS)
    assert made["status"] == "extended"
    end = order["lease_ends_block"] + 2_016
    assert made["lease_ends_block"] == quoted["lease_ends_block"] == end
    found = await status_of(alice, order)
    assert found["lease_ends_block"] == end
    assert found["lease_ends"] > order["lease_ends"]
    assert found["lease_duration_blocks"] == 2_016, "what was ordered stays"
    listed = (await alice.get(path(order, "extensions"))).json()["extensions"]
    assert listed == [made]
    (newest, *_) = (await alice.get("/flow/ledger")).json()["entries"]
    assert (newest["what"], newest["amount"]) == ("extended", PRICE)
    assert (newest["source"], newest["target"]) == ("credit", "outside")


async def test_one_idempotency_key_extends_once(
    alice: Caller, order: dict[str, Any]
) -> None:
    answers = [
        await alice.post(path(order, "extend"), {}, Idempotency_Key="a-lease")
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    listed = (await alice.get(path(order, "extensions"))).json()["extensions"]
    assert len(listed) == 1


async def test_without_credit_there_is_an_invoice(
    alice: Caller, order: dict[str, Any], world: World
) -> None:
    body = {"lease_duration_blocks": 8_064}
    made = (await alice.post(path(order, "extend"), body)).json()
    assert made["status"] == "waiting_payment"
    assert made["amount_due"] == made["total_fee"] > 10_460
    assert made["lightning_invoice"]
    world.pay({"order_id": made["extension_id"]})
    end = order["lease_ends_block"] + 8_064
    async with asyncio.timeout(10):
        while (await status_of(alice, order))["lease_ends_block"] != end:
            await asyncio.sleep(0.005)
    (listed,) = (await alice.get(path(order, "extensions"))).json()["extensions"]
    assert listed["status"] == "extended"


async def test_it_is_chosen_and_shown_that_a_lease_goes_on(
    alice: Caller, order: dict[str, Any]
) -> None:
    assert "auto_extend" not in order
    body = {"max_fee": 9_000, "lease_duration_blocks": 4_032}
    answer = await alice.post(path(order, "auto-extend"), body)
    assert answer.status == 200, answer.body
    assert answer.json()["auto_extend"] == body
    (listed,) = (await alice.get("/flow/orders")).json()["orders"]
    assert listed["auto_extend"] == body
    for _ in range(2):
        answer = await alice.delete(path(order, "auto-extend"))
        assert (answer.status, "auto_extend" in answer.json()) == (200, False)


@pytest.mark.parametrize(
    ("what", "body", "field"),
    [
        ("extend", b'{"lease_duration_blocks": 7}', "lease_duration_blocks"),
        ("extend", b'{"lease_duration_blocks": 0}', "lease_duration_blocks"),
        ("extend", b'{"lease_duration_blocks": "2016"}', "lease_duration_blocks"),
        ("extend", b'{"lease_duration_blocks": 1e300}', "lease_duration_blocks"),
        ("extend", b'{"lease_duration_blocks": 99999999999}', "lease_duration_blocks"),
        ("extend", b'{"max_fee": -1}', "max_fee"),
        ("extend", b'{"max_fee": 2100000000000001}', "max_fee"),
        ("extend", b'{"blocks": 2016}', "blocks"),
        ("extend/quote", b'{"lease_duration_blocks": true}', "lease_duration_blocks"),
        ("auto-extend", b"{}", "max_fee"),
        ("auto-extend", b'{"max_fee": 0}', "max_fee"),
        (
            "auto-extend",
            b'{"max_fee": 1, "lease_duration_blocks": 144}',
            "lease_duration_blocks",
        ),
    ],
)
async def test_a_bad_request_names_its_field(
    api: Api, alice: Caller, order: dict[str, Any], what: str, body: bytes, field: str
) -> None:
    assert field in await refused(api, alice, path(order, what), body)


async def test_what_cannot_be_extended_says_why(
    alice: Caller, order: dict[str, Any], world: World
) -> None:
    answer = await alice.post(path(order, "extend"), {"max_fee": 1})
    assert answer.status == 409
    assert f"the price is {PRICE:,} sat" in answer.json()["message"]
    world.seller.close_channel(order["channel_point"])
    for what in ("extend", "extend/quote"):
        answer = await alice.post(path(order, what), {})
        assert (answer.status, "closing" in answer.json()["message"]) == (409, True)
    missing = {"order_id": UNKNOWN}
    for what in ("extend", "extend/quote"):
        assert (await alice.post(path(missing, what), {})).status == 404
    assert (await alice.get(path(missing, "extensions"))).status == 404
    assert (await alice.delete(path(missing, "auto-extend"))).status == 404


async def test_what_its_node_ordered_is_listed_once_it_is_paid(
    alice: Caller, order: dict[str, Any], world: World
) -> None:
    """Over LSPS7: its invoice is that node's to pay."""
    theirs = Extension(
        id=f"{uuid.uuid4()}{SUFFIX}",
        order_id=order["order_id"],
        status=ExtensionStatus.WAITING_PAYMENT,
        created=world.now[0],
        expires=world.now[0],
        blocks=0,
        ends=order["lease_ends_block"],
        premium=Sats(0),
        service_fee=Sats(0),
        peer=KEY,
    )
    database = world.channels.database
    async with database.transaction() as tx:
        assert await tx.extensions.add(theirs)
    assert (await alice.get(path(order, "extensions"))).json()["extensions"] == []
    async with database.transaction() as tx:
        paid = replace(theirs, status=ExtensionStatus.EXTENDED)
        assert await tx.extensions.move(theirs, paid)
    (listed,) = (await alice.get(path(order, "extensions"))).json()["extensions"]
    assert listed["extension_id"] == theirs.id


async def test_orders_of_others_are_not_found(
    charlie: Caller, order: dict[str, Any]
) -> None:
    for what in ("extend", "extend/quote"):
        assert (await charlie.post(path(order, what), {})).status == 404
    assert (await charlie.get(path(order, "extensions"))).status == 404
    body = {"max_fee": 9_000}
    assert (await charlie.post(path(order, "auto-extend"), body)).status == 404
