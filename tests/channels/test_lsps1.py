"""Channels for everybody over LSPS1: one money path, and nothing for nothing."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct import seller_watch
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.lsps1.rpc import LONGEST, Rpc
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.rules.lsps1 import Fault, Transport
from leyden.channels.direct.rules.openings import LSPS
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState, PaymentRequest
from leyden.channels.services import CLOSING, EXPIRY, PRUNING, Lsps1Settings
from leyden.errors import Conflict, SellerAway, SoldOut, TooMany
from leyden.values import replace
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    OrdersHarness,
    at_once,
    request_of,
)
from tests.fakes.payments import FakePayments

PEER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
OTHER = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
THIRD = "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9"
WANTED: dict[str, Any] = {
    "lsp_balance_sat": "1000000",
    "client_balance_sat": "0",
    "required_channel_confirmations": 1,
    "funding_confirms_within_blocks": 6,
    "channel_expiry_blocks": 4_380,
    "token": "",
    "announce_channel": False,
}
# 2,000, a premium of 109 bps as the auction rounds it, and 240 vbytes at 50 sat.
PRICE = 2_000 + 10_897 + 12_000
RULES = Lsps1Settings(organization=HARBOUR, most_reserved=Sats(100_000_000))
LDK_ID, ZEUS_ID = "f" * 32, str(uuid.UUID(int=7))


def over_bolt8(peer: str = PEER) -> Orderer:
    return Orderer(source=Transport.BOLT8, peer=peer)


def over_http(peer: str = PEER, address: str = "203.0.113.5") -> Orderer:
    return Orderer(source=Transport.HTTP, peer=peer, address=address)


@pytest.fixture
async def direct(harness: OrdersHarness) -> AsyncIterator[OrdersHarness]:
    harness.seller.fill([3_000_000] * 40)
    harness.seller.online |= {PEER, OTHER}
    harness.rules = replace(
        harness.rules,
        lsps1=RULES,
        seller_most_per_hour=Sats(10**9),
        seller_most_per_peer=Sats(10**9),
    )
    yield harness
    await harness.settle_down()
    await harness.prove()
    for each in await harness.database.reader.orders.all_():
        assert len(harness.seller.opened_for(each.id)) <= 1


async def ordered(
    harness: OrdersHarness, who: Orderer | None = None, **fields: Any
) -> Order:
    sold = Lsps1(harness.channels)
    order, _ = await sold.create({**WANTED, **fields}, who or over_bolt8())
    return order


async def call_lsps1(
    harness: OrdersHarness, method: str, *, id_: str = ZEUS_ID, **params: Any
) -> Any:
    """Ask as a peer does, in bytes."""
    request = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    answer = await Rpc(Lsps1(harness.channels)).answer(
        PEER, json.dumps(request).encode()
    )
    assert answer is not None
    body = json.loads(answer)
    assert (body["jsonrpc"], body["id"]) == ("2.0", id_)
    return body


async def states(
    harness: OrdersHarness, order_id: str, id_: str = ZEUS_ID
) -> tuple[str, str]:
    answer = await call_lsps1(harness, "lsps1.get_order", id_=id_, order_id=order_id)
    found = answer["result"]
    return found["order_state"], found["payment"]["bolt11"]["state"]


async def test_what_is_paid_beyond_an_invoice_is_credit_of_the_operator(
    direct: OrdersHarness,
) -> None:
    order = await ordered(direct)
    before = await direct.credit()
    direct.payments.pay(request_of(order), sats=PRICE + 21)
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.FILLED
    assert await direct.credit() == before + 21


async def test_the_price_of_a_channel_that_never_comes_stays_with_us(
    direct: OrdersHarness,
) -> None:
    """The buyer has no account: the operator pays it back."""
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    await direct.settle_down()
    direct.seller.take_coin((await direct.get(order)).channel_point)
    direct.seller.height += 5
    await seller_watch.check(direct.channels)
    assert await states(direct, order.id) == ("FAILED", "PAID")
    assert await direct.credit() == PRICE


async def test_an_order_is_paid_opened_and_settled(direct: OrdersHarness) -> None:
    answer = await call_lsps1(direct, "lsps1.create_order", **WANTED)
    made = answer["result"]
    bolt11 = made["payment"]["bolt11"]
    assert {name: made[name] for name in WANTED} == WANTED
    assert (bolt11["fee_total_sat"], bolt11["order_total_sat"]) == (
        str(PRICE),
        str(PRICE),
    )
    assert list(made["payment"]) == ["bolt11"], "a refund on-chain nobody could keep"
    assert made["channel"] is None
    assert len(made["order_id"]) <= 64
    assert await states(direct, made["order_id"]) == ("CREATED", "EXPECT_PAYMENT")
    order = await direct.database.reader.orders.get(made["order_id"])
    direct.payments.pay(request_of(order))
    await direct.hear()
    assert await states(direct, order.id) == ("CREATED", "HOLD")
    await direct.settle_down()
    assert await states(direct, order.id) == ("COMPLETED", "PAID")
    answer = await call_lsps1(direct, "lsps1.get_order", order_id=order.id)
    (opened,) = direct.seller.opened_for(order.id)
    assert answer["result"]["channel"]["funding_outpoint"] == opened.point
    assert opened.wanted.pubkey == PEER
    assert not opened.wanted.zero_conf
    # What the chain did not take is ours: nobody here has credit for it.
    assert await direct.credit() == 0
    assert (
        await direct.balance_of(ledger.EARNED) + await direct.balance_of(ledger.SELLER)
        == PRICE
    )


async def test_no_address_is_taken_when_nobody_would_see_it(
    direct: OrdersHarness,
) -> None:
    before = await direct.create()
    direct.payments.known_addresses = [before.onchain_address]
    orders = [await ordered(direct) for _ in range(2)]
    assert [each.onchain_address for each in orders] == ["", ""]
    await direct.start_sweeping()
    direct.payments.pay(request_of(orders[0]))
    await direct.settle_down()
    assert await direct.status(orders[0]) is OrderStatus.FILLED


async def test_credit_of_the_operators_organization_pays_for_nobody(
    direct: OrdersHarness,
) -> None:
    await direct.give_credit(1_000_000)
    order = await ordered(direct)
    assert (order.credit_used, order.to_be_paid) == (0, PRICE)
    assert order.status is OrderStatus.WAITING_PAYMENT
    assert await direct.credit() == 1_000_000


async def test_zero_confirmations_open_such_a_channel(direct: OrdersHarness) -> None:
    order = await ordered(direct, required_channel_confirmations=0)
    direct.payments.pay(request_of(order))
    await direct.settle_down()
    (opened,) = direct.seller.opened_for(order.id)
    assert opened.wanted.zero_conf


async def test_a_seller_without_zero_conf_offers_none(direct: OrdersHarness) -> None:
    direct.seller.own_features = frozenset({LSPS})
    answer = await call_lsps1(direct, "lsps1.get_info")
    assert answer["result"]["min_required_channel_confirmations"] == 1
    with pytest.raises(Fault, match="Option mismatch"):
        await ordered(direct, required_channel_confirmations=0)


async def test_an_order_that_is_not_paid_expires_and_reserves_nothing(
    direct: OrdersHarness,
) -> None:
    order = await ordered(direct)
    await direct.pass_time(minutes=21)
    assert await states(direct, order.id) == ("FAILED", "REFUNDED")
    assert await direct.database.reader.reserved_coins.all_() == set()


async def test_an_order_that_nobody_paid_is_deleted_after_a_week(
    direct: OrdersHarness,
) -> None:
    unpaid, paid = await ordered(direct), await ordered(direct, over_bolt8(OTHER))
    customers = await direct.create(who=LIGHTHOUSE)
    direct.payments.pay(request_of(paid))
    await direct.pass_time(minutes=61)
    direct.now = unpaid.expires + timedelta(days=7)
    await direct.settle_down()
    assert await states(direct, unpaid.id) == ("FAILED", "REFUNDED")
    await direct.pass_time(minutes=62)
    answer = await call_lsps1(direct, "lsps1.get_order", order_id=unpaid.id)
    assert answer["error"]["code"] == 101
    assert await direct.database.reader.orders.find(unpaid.id) is None
    assert await direct.status(paid) is OrderStatus.FILLED
    assert await direct.status(customers) is OrderStatus.EXPIRED, "it may be paid late"


async def test_an_order_with_an_open_invoice_is_not_deleted(
    direct: OrdersHarness,
) -> None:
    order = await ordered(direct)
    direct.now = order.expires
    await direct.work(EXPIRY)
    assert await direct.status(order) is OrderStatus.EXPIRED
    direct.now += timedelta(days=7)
    await direct.work(PRUNING)
    assert await direct.status(order) is OrderStatus.EXPIRED
    await direct.work(CLOSING)
    await direct.pass_time(days=7)
    assert await direct.database.reader.orders.find(order.id) is None


async def test_an_order_that_was_paid_is_not_deleted(direct: OrdersHarness) -> None:
    """An older version gave it an address, and expired it."""
    order = await direct.create()
    async with direct.database.transaction() as tx:
        await tx.tasks.put(PRUNING, order.id, due=direct.now)
    direct.payments.send(order.onchain_address, 21)
    await direct.pass_time(minutes=61)
    async with direct.database.transaction() as tx:
        await tx.tasks.put(PRUNING, order.id, due=direct.now)
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.EXPIRED


async def test_a_node_that_refuses_is_refunded(direct: OrdersHarness) -> None:
    direct.seller.refuses = "chan size exceeds maximum"
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    await direct.settle_down()
    assert await states(direct, order.id) == ("FAILED", "REFUNDED")
    invoice = direct.payments.invoices[order.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


# Who sees an order.


async def test_over_bolt8_only_the_same_peer_finds_an_order(
    direct: OrdersHarness,
) -> None:
    order = await ordered(direct)
    sold = Lsps1(direct.channels)
    assert (await sold.get(order.id, over_bolt8()))[0].id == order.id
    for who in (over_bolt8(OTHER), over_http()):
        with pytest.raises(Fault, match="Not found"):
            await sold.get(order.id, who)


async def test_over_http_the_id_is_the_secret(direct: OrdersHarness) -> None:
    order = await ordered(direct, over_http())
    sold = Lsps1(direct.channels)
    assert (await sold.get(order.id, over_http(OTHER, "192.0.2.1")))[0].id == order.id
    with pytest.raises(Fault, match="Not found"):
        await sold.get(order.id, over_bolt8())


async def test_orders_of_customers_are_not_found(direct: OrdersHarness) -> None:
    order = await direct.create()
    for who in (over_http(), over_bolt8()):
        with pytest.raises(Fault, match="Not found"):
            await Lsps1(direct.channels).get(order.id, who)


# Limits.


async def test_a_thousand_orders_for_one_peer_are_five(direct: OrdersHarness) -> None:
    sold = Lsps1(direct.channels)
    made = await at_once(*(sold.create(WANTED, over_bolt8()) for _ in range(1_000)))
    refused = [each for each in made if isinstance(each, TooMany)]
    assert (len(refused), len(direct.payments.requests)) == (995, 5)
    # They block neither other peers nor, over HTTP, who orders for the same node.
    await ordered(direct, over_bolt8(OTHER))
    await ordered(direct, over_http())


class Together(FakePayments):
    """A treasury that makes two invoices at once, or none."""

    def __init__(self) -> None:
        super().__init__()
        self.both = asyncio.Barrier(2)

    async def request(
        self, order_id: str, sats: Sats, *, lives: timedelta, with_address: bool = True
    ) -> PaymentRequest:
        async with asyncio.timeout(10):
            await self.both.wait()
        return await super().request(
            order_id, sats, lives=lives, with_address=with_address
        )


async def test_of_two_processes_at_the_limit_one_gets_the_place(
    direct: OrdersHarness,
) -> None:
    """Both have looked, and made an invoice, before either stores its order."""
    direct.rules = replace(direct.rules, lsps1=replace(RULES, orders_per_peer=1))
    payments = Together()
    one, two = (Lsps1(replace(direct.channels, payments=payments)) for _ in range(2))
    made = await at_once(
        one.create(WANTED, over_bolt8()), two.create(WANTED, over_bolt8())
    )
    assert [isinstance(each, TooMany) for each in made].count(True) == 1
    assert await direct.database.reader.lsps1_orders.unpaid() == 1


async def test_coins_of_orders_without_a_channel_are_capped(
    direct: OrdersHarness,
) -> None:
    rules = replace(RULES, most_reserved=Sats(6_000_000))
    direct.rules = replace(direct.rules, lsps1=rules)
    orders = [await ordered(direct, over_bolt8(peer)) for peer in (PEER, OTHER)]
    late = await ordered(direct, over_http(PEER))
    direct.seller.freezes = True
    for each in (*orders, late):
        direct.payments.pay(request_of(each))  # held, and returned if no channel comes
        await direct.settle_down()
    assert [await direct.status(each) for each in orders] == [OrderStatus.SUBMITTED] * 2
    invoice = direct.payments.invoices[late.payment_hash]
    assert (await direct.status(late), invoice.state) == (
        OrderStatus.FAILED,
        InvoiceState.CANCELLED,
    )
    with pytest.raises(SoldOut, match="no channel yet"):
        await ordered(direct, over_http(THIRD))
    direct.seller.thaw(refuses=False)
    await direct.pass_time(seconds=6)
    await ordered(direct, over_http(THIRD))


async def test_while_a_paid_channel_is_opened_the_next_has_to_wait(
    direct: OrdersHarness,
) -> None:
    direct.seller.freezes = True
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    await direct.settle_down()
    assert await direct.status(order) is OrderStatus.SUBMITTED
    with pytest.raises(Conflict, match="another open order"):
        await ordered(direct)
    direct.seller.thaw(refuses=False)
    await direct.pass_time(seconds=6)
    await ordered(direct)


async def test_unpaid_orders_are_no_quota_of_the_organizations(
    direct: OrdersHarness,
) -> None:
    for peer in (PEER, OTHER):
        for _ in range(4):
            await ordered(direct, over_bolt8(peer))
    reader = direct.database.reader
    assert await reader.lsps1_orders.unpaid() == 8
    assert await reader.quotas.unpaid_orders(HARBOUR, now=direct.now) == 0
    await direct.create()
    assert await reader.quotas.unpaid_orders(HARBOUR, now=direct.now) == 1


# Bad input.


@pytest.mark.parametrize(
    "key",
    [
        "",
        "02",
        "04" + PEER[2:],
        "02" + "00" * 31 + "05",  # on no curve
        "02" + "ff" * 32,
        f"{PEER}@127.0.0.1:9735",
        f"{PEER}@169.254.169.254:80",
        f"{PEER}@[::ffff:10.0.0.1]:9735",
        PEER + "\n",
    ],
)
async def test_what_is_no_key_gets_no_channel(direct: OrdersHarness, key: str) -> None:
    with pytest.raises(Fault, match="Invalid params"):
        await ordered(direct, over_http(key))
    assert (direct.payments.requests, direct.seller.dialled) == ({}, [])


async def test_the_platforms_own_nodes_get_no_channel(direct: OrdersHarness) -> None:
    await ordered(direct)
    direct.rules = replace(direct.rules, treasury=OTHER)
    for key in (OTHER, direct.seller.pubkey):
        with pytest.raises(Fault):
            await ordered(direct, over_http(key))


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":"1","result":{"protocols":[1]}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        b'{"error":1}',
        b'{"jsonrpc":"2.0","method":"lsps1.get_info"}',
        b"[" * (LONGEST + 1),
        b'{"jsonrpc":"2.0","method":"lsps1.get_info","id":"' + b"x" * 60_000,
    ],
)
async def test_what_asks_for_no_answer_gets_none(
    direct: OrdersHarness, raw: bytes
) -> None:
    assert await Rpc(Lsps1(direct.channels)).answer(PEER, raw) is None


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", -32700),
        (b"\0", -32700),
        (b"{nope", -32700),
        (b'{"a":1} {"b":2}', -32700),
        (b"\xff\xfe", -32700),
        (b"[" * LONGEST, -32700),
        (b'{"id":"1","method":"\\ud800"}', -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"id":1,"method":"lsps1.get_info"}', -32600),
        (b'{"id":null,"method":"lsps1.get_info"}', -32600),
        (b'{"id":"1","method":7}', -32600),
        (b'{"jsonrpc":"1.0","id":"1","method":"lsps1.get_info"}', -32600),
        (b'{"id":"' + b"1" * 129 + b'","method":"lsps1.get_info"}', -32600),
    ],
)
async def test_garbage_is_refused(direct: OrdersHarness, raw: bytes, code: int) -> None:
    answer = await Rpc(Lsps1(direct.channels)).answer(PEER, raw)
    assert answer is not None
    body = json.loads(answer)
    assert (body["id"], body["error"]["code"]) == (None, code)


async def test_a_seller_that_is_away_is_an_error_of_ours(direct: OrdersHarness) -> None:
    direct.seller.away = True
    answer = await call_lsps1(direct, "lsps1.create_order", **WANTED)
    assert answer["error"]["code"] == -32603
    direct.seller.away = False
    direct.rules = replace(direct.rules, lsps1=replace(RULES, organization="nobody"))
    with pytest.raises(SellerAway):
        await ordered(direct)


# What LDK (0.7.0) needs: it ignores an LSP after an answer that it cannot parse.


async def test_ldk_is_not_told_that_its_payment_is_held(direct: OrdersHarness) -> None:
    order = await ordered(direct)
    direct.payments.pay(request_of(order))
    await direct.hear()
    assert await states(direct, order.id, LDK_ID) == ("CREATED", "EXPECT_PAYMENT")
    assert await states(direct, order.id, ZEUS_ID) == ("CREATED", "HOLD")


@pytest.mark.parametrize("token", [None, ""])
async def test_a_token_comes_back_as_it_came(
    direct: OrdersHarness, token: str | None
) -> None:
    sent = {**WANTED, "token": token}
    answer = await call_lsps1(direct, "lsps1.create_order", id_=LDK_ID, **sent)
    assert answer["result"]["token"] == token
    found = await call_lsps1(
        direct, "lsps1.get_order", id_=LDK_ID, order_id=answer["result"]["order_id"]
    )
    assert found["result"]["token"] == token
