"""Leases that nodes extend over LSPS7: their own channels, for an invoice."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leyden.channels.direct import extensions, seller_watch
from leyden.channels.direct.lsps1.rpc import Rpc
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.rules.extensions import (
    LONGEST_BLOCKS,
    SUFFIX,
    ExtensionStatus,
)
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.values import replace
from tests.channels.orders_harness import LIGHTHOUSE, OrdersHarness, request_of
from tests.channels.test_direct_channels import channel
from tests.channels.test_lsps1 import OTHER, PEER, RULES, ZEUS_ID, ordered

BLOCKS = 2_016
PRICE = 6_999
MOST = "max_channel_extension_expiry_blocks"


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.fill([3_000_000] * 4)
    harness.seller.online |= {PEER, OTHER}
    harness.rules = replace(harness.rules, lsps1=replace(RULES, extends=True))
    yield harness
    await harness.settle_down()
    await harness.prove()


@pytest.fixture
async def order(direct: OrdersHarness) -> Order:
    """A confirmed channel that a wallet bought over LSPS1."""
    made = await ordered(direct)
    direct.payments.pay(request_of(made))
    await direct.settle_down()
    direct.seller.height += 3
    found = await direct.get(made)
    assert found.status is OrderStatus.FILLED
    return found


async def call(
    harness: OrdersHarness, method: str, *, peer: str = PEER, **params: Any
) -> Any:
    request = {"jsonrpc": "2.0", "id": ZEUS_ID, "method": method, "params": params}
    rpc = Rpc(Lsps1(harness.channels))
    answer = await rpc.answer(peer, json.dumps(request).encode())
    assert answer is not None
    return json.loads(answer)


async def listed(harness: OrdersHarness, peer: str = PEER) -> list[dict[str, Any]]:
    answer = await call(harness, "lsps7.get_extendable_channels", peer=peer)
    found: list[dict[str, Any]] = answer["result"]["extendable_channels"]
    return found


async def wanted(harness: OrdersHarness) -> dict[str, Any]:
    (found,) = await listed(harness)
    return {
        "short_channel_id": found["short_channel_id"],
        "channel_extension_expiry_blocks": BLOCKS,
    }


async def create(harness: OrdersHarness, **changes: Any) -> dict[str, Any]:
    params = {**await wanted(harness), **changes}
    answer = await call(harness, "lsps7.create_order", **params)
    made: dict[str, Any] = answer["result"]
    return made


async def pay(harness: OrdersHarness, made: dict[str, Any]) -> None:
    found = await harness.database.reader.extensions.find(made["order_id"])
    assert found is not None
    harness.payments.pay(found.payment_request)
    await harness.settle_down()


async def test_a_node_lists_pays_for_and_gets_a_longer_lease(
    direct: OrdersHarness, order: Order
) -> None:
    (shown,) = await listed(direct)
    assert shown == {
        "original_order": {"id": order.id, "service": "LSPS1"},
        "extension_order_ids": [],
        "short_channel_id": "1001x1x0",
        MOST: LONGEST_BLOCKS - 4_380 + 3,
        "expiration_block": 1_000 + 4_380,
    }
    earned = await direct.balance_of(ledger.EARNED)
    made = await create(direct, token="", refund_onchain_address="", client_info={})
    assert made["new_channel_expiry_block"] == 1_000 + 4_380 + BLOCKS
    assert made["channel_extension_expiry_blocks"] == BLOCKS
    assert (made["order_state"], made["token"]) == ("CREATED", "")
    assert made["channel"] == shown
    bolt11 = made["payment"]["bolt11"]
    assert bolt11["state"] == "EXPECT_PAYMENT"
    assert bolt11["order_total_sat"] == bolt11["fee_total_sat"] == str(PRICE)
    await pay(direct, made)
    answer = await call(direct, "lsps7.get_order", order_id=made["order_id"])
    done = answer["result"]
    assert set(done) == set(made)
    assert (done["order_state"], done["payment"]["bolt11"]["state"]) == (
        "COMPLETED",
        "PAID",
    )
    (after,) = await listed(direct)
    assert after["expiration_block"] == made["new_channel_expiry_block"]
    assert after["extension_order_ids"] == [made["order_id"]]
    assert await direct.balance_of(ledger.EARNED) == earned + PRICE
    assert await direct.credit() == 0, "the operator's own credit pays for nothing"


async def test_every_length_up_to_the_most_is_sold(
    direct: OrdersHarness, order: Order
) -> None:
    del order
    (shown,) = await listed(direct)
    for blocks in (1, shown[MOST]):
        made = await create(direct, channel_extension_expiry_blocks=blocks)
        assert made["new_channel_expiry_block"] == shown["expiration_block"] + blocks
    params = {
        **await wanted(direct),
        "channel_extension_expiry_blocks": shown[MOST] + 1,
    }
    error = (await call(direct, "lsps7.create_order", **params))["error"]
    assert (error["code"], error["data"]["property"]) == (100, MOST)


async def test_channels_of_customers_are_their_nodes_to_extend(
    direct: OrdersHarness,
) -> None:
    """The platform's customers have wallets, too."""
    made = await direct.create(channel(OTHER), who=LIGHTHOUSE)
    direct.payments.pay(request_of(made))
    await direct.settle_down()
    direct.seller.height += 1
    (shown,) = await listed(direct, OTHER)
    assert "original_order" not in shown
    assert await listed(direct) == []


async def test_an_unpaid_order_of_a_node_is_not_in_the_way_of_its_owner(
    direct: OrdersHarness,
) -> None:
    """The node is somebody else's, who may never pay."""
    bought = await direct.create(channel(OTHER), who=LIGHTHOUSE)
    direct.payments.pay(request_of(bought))
    await direct.settle_down()
    direct.seller.height += 1
    (shown,) = await listed(direct, OTHER)
    params = {
        "short_channel_id": shown["short_channel_id"],
        "channel_extension_expiry_blocks": 1,
    }
    answer = await call(direct, "lsps7.create_order", peer=OTHER, **params)
    assert answer["result"]["order_state"] == "CREATED"
    made = await extensions.extend(
        direct.channels,
        LIGHTHOUSE,
        bought.id,
        f"{uuid.uuid4()}{SUFFIX}",
        52_416,
        most=None,
        actor="test",
        now=direct.now,
    )
    assert made.status is ExtensionStatus.WAITING_PAYMENT


async def test_others_see_and_extend_nothing(
    direct: OrdersHarness, order: Order
) -> None:
    del order
    made, params = await create(direct), await wanted(direct)
    assert await listed(direct, OTHER) == []
    error = (await call(direct, "lsps7.create_order", peer=OTHER, **params))["error"]
    assert (error["code"], error["data"]["property"]) == (100, "short_channel_id")
    for order_id in (made["order_id"], "x" * 65, "", "\0"):
        error = (await call(direct, "lsps7.get_order", peer=OTHER, order_id=order_id))[
            "error"
        ]
        assert error["code"] == 101


async def test_a_channel_without_a_block_is_not_listed(direct: OrdersHarness) -> None:
    made = await ordered(direct)
    direct.payments.pay(request_of(made))
    await direct.settle_down()
    assert await listed(direct) == []


async def test_a_channel_that_closes_is_not_listed_nor_extended(
    direct: OrdersHarness, order: Order
) -> None:
    made, params = await create(direct), await wanted(direct)
    direct.seller.close_channel(order.channel_point)
    assert await listed(direct) == []
    error = (await call(direct, "lsps7.create_order", **params))["error"]
    assert error["code"] == 100
    await pay(direct, made)
    answer = await call(direct, "lsps7.get_order", order_id=made["order_id"])
    assert answer["result"]["order_state"] == "FAILED"
    assert answer["result"]["payment"]["bolt11"]["state"] == "REFUNDED"
    await seller_watch.check(direct.channels)
    answer = await call(direct, "lsps7.get_order", order_id=made["order_id"])
    assert answer["result"]["channel"][MOST] == 0


async def test_each_payment_that_a_closed_channel_leaves_owed_is_an_alarm(
    direct: OrdersHarness, order: Order
) -> None:
    """Both were settled in the moment in which it closed."""
    reader = direct.database.reader
    made = [await create(direct) for _ in range(2)]
    for each in made:
        extension = await reader.extensions.find(each["order_id"])
        assert extension is not None
        direct.payments.pay(extension.payment_request)
        direct.deafen()
        async with direct.database.transaction() as tx:
            settling = replace(extension, status=ExtensionStatus.SETTLING)
            assert await tx.extensions.move(extension, settling)
    direct.seller.close_channel(order.channel_point)
    await seller_watch.check(direct.channels)
    await direct.pass_time(minutes=2)
    found = await reader.findings.list_(now=direct.now)
    owed = {subject for kind, subject, _ in found if kind == "order.owed"}
    assert owed == {each["order_id"] for each in made}


async def test_a_lease_that_is_over_is_not_extended(
    direct: OrdersHarness, order: Order
) -> None:
    del order
    params = await wanted(direct)
    direct.seller.height += 5_000
    assert await listed(direct) == []
    error = (await call(direct, "lsps7.create_order", **params))["error"]
    assert (error["code"], "the lease ended" in error["data"]["message"]) == (1, True)


async def test_a_node_has_few_unpaid_orders(
    direct: OrdersHarness, order: Order
) -> None:
    del order
    for _ in range(RULES.orders_per_peer):
        await create(direct)
    invoices = len(direct.payments.invoices)
    error = (await call(direct, "lsps7.create_order", **await wanted(direct)))["error"]
    assert (error["code"], "too many unpaid" in error["data"]["message"]) == (1, True)
    assert len(direct.payments.invoices) == invoices
    await direct.pass_time(minutes=21)
    assert (await create(direct))["order_state"] == "CREATED"


async def test_payments_beyond_the_longest_lease_go_back(
    direct: OrdersHarness, order: Order
) -> None:
    del order
    (shown,) = await listed(direct)
    made = [
        await create(direct, channel_extension_expiry_blocks=shown[MOST])
        for _ in range(2)
    ]
    for each in made:
        await pay(direct, each)
    ends = [
        await direct.database.reader.extensions.find(each["order_id"]) for each in made
    ]
    assert [each.status for each in ends if each] == [
        ExtensionStatus.EXTENDED,
        ExtensionStatus.FAILED,
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"short_channel_id": None}, "short_channel_id"),
        ({"short_channel_id": 7}, "short_channel_id"),
        ({"short_channel_id": "1x2"}, "short_channel_id"),
        ({"short_channel_id": "1x2x3\n"}, "short_channel_id"),
        ({"short_channel_id": f"{10**9}x1x1"}, "short_channel_id"),
        ({"channel_extension_expiry_blocks": 0}, "channel_extension_expiry_blocks"),
        ({"channel_extension_expiry_blocks": "9"}, "channel_extension_expiry_blocks"),
        ({"channel_extension_expiry_blocks": True}, "channel_extension_expiry_blocks"),
        ({"channel_extension_expiry_blocks": 1e9}, "channel_extension_expiry_blocks"),
        ({"channel_extension_expiry_blocks": 2**32}, "channel_extension_expiry_blocks"),
        ({"token": "half price"}, "token"),
        ({"token": 7}, "token"),
        ({"refund_onchain_address": "x" * 513}, "refund_onchain_address"),
        ({"lsp_balance_sat": "1"}, "lsp_balance_sat"),
    ],
)
async def test_a_bad_field_is_named(
    direct: OrdersHarness, order: Order, changes: dict[str, Any], field: str
) -> None:
    del order
    params = {**await wanted(direct), **changes}
    error = (await call(direct, "lsps7.create_order", **params))["error"]
    assert error["code"] == -32602
    assert error["data"]["property"] == field


async def test_it_is_off_until_it_is_turned_on(
    direct: OrdersHarness, order: Order
) -> None:
    del order
    params = await wanted(direct)
    answer = await call(direct, "lsps0.list_protocols")
    assert answer["result"] == {"protocols": [1, 7]}
    direct.rules = replace(direct.rules, lsps1=RULES)
    answer = await call(direct, "lsps0.list_protocols")
    assert answer["result"] == {"protocols": [1]}
    for method in ("get_extendable_channels", "create_order", "get_order"):
        answer = await call(direct, f"lsps7.{method}", **params)
        assert answer["error"]["code"] == -32601
