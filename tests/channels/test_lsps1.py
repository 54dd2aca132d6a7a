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
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.payments import InvoiceState, PaymentRequest
from leyden.channels.shop import CLOSING, EXPIRY, PRUNING, Lsps1Settings
from leyden.errors import Conflict, SellerAway, SoldOut, TooMany
from leyden.values import replace
from tests.channels.shop_harness import (
    HARBOUR,
    LIGHTHOUSE,
    ShopHarness,
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
async def shop(harness: ShopHarness) -> AsyncIterator[ShopHarness]:
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
    harness: ShopHarness, who: Orderer | None = None, **fields: Any
) -> Order:
    sold = Lsps1(harness.shop)
    order, _ = await sold.create({**WANTED, **fields}, who or over_bolt8())
    return order


async def asked(
    harness: ShopHarness, method: str, *, id_: str = ZEUS_ID, **params: Any
) -> Any:
    """Ask as a peer does, in bytes."""
    request = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    answer = await Rpc(Lsps1(harness.shop)).answer(PEER, json.dumps(request).encode())
    assert answer is not None
    told = json.loads(answer)
    assert (told["jsonrpc"], told["id"]) == ("2.0", id_)
    return told


async def states(
    harness: ShopHarness, order_id: str, id_: str = ZEUS_ID
) -> tuple[str, str]:
    told = await asked(harness, "lsps1.get_order", id_=id_, order_id=order_id)
    found = told["result"]
    return found["order_state"], found["payment"]["bolt11"]["state"]


async def test_what_is_paid_beyond_an_invoice_is_credit_of_the_operator(
    shop: ShopHarness,
) -> None:
    order = await ordered(shop)
    before = await shop.credit()
    shop.payments.pay(request_of(order), sats=PRICE + 21)
    await shop.settle_down()
    assert await shop.status(order) is Status.FILLED
    assert await shop.credit() == before + 21


async def test_the_price_of_a_channel_that_never_comes_stays_with_us(
    shop: ShopHarness,
) -> None:
    """The buyer has no account: the operator pays it back."""
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    await shop.settle_down()
    shop.seller.take_coin((await shop.get(order)).channel_point)
    shop.seller.height += 5
    await seller_watch.check(shop.shop)
    assert await states(shop, order.id) == ("FAILED", "PAID")
    assert await shop.credit() == PRICE


async def test_an_order_is_paid_opened_and_settled(shop: ShopHarness) -> None:
    told = await asked(shop, "lsps1.create_order", **WANTED)
    made = told["result"]
    bolt11 = made["payment"]["bolt11"]
    assert {name: made[name] for name in WANTED} == WANTED
    assert (bolt11["fee_total_sat"], bolt11["order_total_sat"]) == (
        str(PRICE),
        str(PRICE),
    )
    assert list(made["payment"]) == ["bolt11"], "a refund on-chain nobody could keep"
    assert made["channel"] is None
    assert len(made["order_id"]) <= 64
    assert await states(shop, made["order_id"]) == ("CREATED", "EXPECT_PAYMENT")
    order = await shop.database.reader.orders.get(made["order_id"])
    shop.payments.pay(request_of(order))
    await shop.hear()
    assert await states(shop, order.id) == ("CREATED", "HOLD")
    await shop.settle_down()
    assert await states(shop, order.id) == ("COMPLETED", "PAID")
    told = await asked(shop, "lsps1.get_order", order_id=order.id)
    (opened,) = shop.seller.opened_for(order.id)
    assert told["result"]["channel"]["funding_outpoint"] == opened.point
    assert opened.wanted.pubkey == PEER
    assert not opened.wanted.zero_conf
    # What the chain did not take is ours: nobody here has credit for it.
    assert await shop.credit() == 0
    assert await shop.place(ledger.EARNED) + await shop.place(ledger.SELLER) == PRICE


async def test_no_address_is_taken_when_nobody_would_see_it(shop: ShopHarness) -> None:
    before = await shop.create()
    shop.payments.known_addresses = [before.onchain_address]
    orders = [await ordered(shop) for _ in range(2)]
    assert [each.onchain_address for each in orders] == ["", ""]
    await shop.start_sweeping()
    shop.payments.pay(request_of(orders[0]))
    await shop.settle_down()
    assert await shop.status(orders[0]) is Status.FILLED


async def test_credit_of_the_operators_organization_pays_for_nobody(
    shop: ShopHarness,
) -> None:
    await shop.give_credit(1_000_000)
    order = await ordered(shop)
    assert (order.credit_used, order.to_be_paid) == (0, PRICE)
    assert order.status is Status.WAITING_PAYMENT
    assert await shop.credit() == 1_000_000


async def test_zero_confirmations_open_such_a_channel(shop: ShopHarness) -> None:
    order = await ordered(shop, required_channel_confirmations=0)
    shop.payments.pay(request_of(order))
    await shop.settle_down()
    (opened,) = shop.seller.opened_for(order.id)
    assert opened.wanted.zero_conf


async def test_a_seller_without_zero_conf_offers_none(shop: ShopHarness) -> None:
    shop.seller.own_features = frozenset({LSPS})
    told = await asked(shop, "lsps1.get_info")
    assert told["result"]["min_required_channel_confirmations"] == 1
    with pytest.raises(Fault, match="Option mismatch"):
        await ordered(shop, required_channel_confirmations=0)


async def test_an_order_that_is_not_paid_expires_and_reserves_nothing(
    shop: ShopHarness,
) -> None:
    order = await ordered(shop)
    await shop.pass_time(minutes=21)
    assert await states(shop, order.id) == ("FAILED", "REFUNDED")
    assert await shop.database.reader.reserved_coins.all_() == set()


async def test_an_order_that_nobody_paid_is_deleted_after_a_week(
    shop: ShopHarness,
) -> None:
    unpaid, paid = await ordered(shop), await ordered(shop, over_bolt8(OTHER))
    customers = await shop.create(who=LIGHTHOUSE)
    shop.payments.pay(request_of(paid))
    await shop.pass_time(minutes=61)
    shop.now = unpaid.expires + timedelta(days=7)
    await shop.settle_down()
    assert await states(shop, unpaid.id) == ("FAILED", "REFUNDED")
    await shop.pass_time(minutes=62)
    told = await asked(shop, "lsps1.get_order", order_id=unpaid.id)
    assert told["error"]["code"] == 101
    assert await shop.database.reader.orders.find(unpaid.id) is None
    assert await shop.status(paid) is Status.FILLED
    assert await shop.status(customers) is Status.EXPIRED, "it may be paid late"


async def test_an_order_with_an_open_invoice_is_not_deleted(shop: ShopHarness) -> None:
    order = await ordered(shop)
    shop.now = order.expires
    await shop.work(EXPIRY)
    assert await shop.status(order) is Status.EXPIRED
    shop.now += timedelta(days=7)
    await shop.work(PRUNING)
    assert await shop.status(order) is Status.EXPIRED
    await shop.work(CLOSING)
    await shop.pass_time(days=7)
    assert await shop.database.reader.orders.find(order.id) is None


async def test_an_order_that_was_paid_is_not_deleted(shop: ShopHarness) -> None:
    """An older version gave it an address, and expired it."""
    order = await shop.create()
    async with shop.database.transaction() as tx:
        await tx.tasks.put(PRUNING, order.id, due=shop.now)
    shop.payments.send(order.onchain_address, 21)
    await shop.pass_time(minutes=61)
    async with shop.database.transaction() as tx:
        await tx.tasks.put(PRUNING, order.id, due=shop.now)
    await shop.settle_down()
    assert await shop.status(order) is Status.EXPIRED


async def test_a_node_that_refuses_is_refunded(shop: ShopHarness) -> None:
    shop.seller.refuses = "chan size exceeds maximum"
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    await shop.settle_down()
    assert await states(shop, order.id) == ("FAILED", "REFUNDED")
    invoice = shop.payments.invoices[order.payment_hash]
    assert invoice.state is InvoiceState.CANCELLED


# Who sees an order.


async def test_over_bolt8_only_the_same_peer_finds_an_order(shop: ShopHarness) -> None:
    order = await ordered(shop)
    sold = Lsps1(shop.shop)
    assert (await sold.get(order.id, over_bolt8()))[0].id == order.id
    for who in (over_bolt8(OTHER), over_http()):
        with pytest.raises(Fault, match="Not found"):
            await sold.get(order.id, who)


async def test_over_http_the_id_is_the_secret(shop: ShopHarness) -> None:
    order = await ordered(shop, over_http())
    sold = Lsps1(shop.shop)
    assert (await sold.get(order.id, over_http(OTHER, "192.0.2.1")))[0].id == order.id
    with pytest.raises(Fault, match="Not found"):
        await sold.get(order.id, over_bolt8())


async def test_orders_of_customers_are_not_found(shop: ShopHarness) -> None:
    order = await shop.create()
    for who in (over_http(), over_bolt8()):
        with pytest.raises(Fault, match="Not found"):
            await Lsps1(shop.shop).get(order.id, who)


# Limits.


async def test_a_thousand_orders_for_one_peer_are_five(shop: ShopHarness) -> None:
    sold = Lsps1(shop.shop)
    made = await at_once(*(sold.create(WANTED, over_bolt8()) for _ in range(1_000)))
    refused = [each for each in made if isinstance(each, TooMany)]
    assert (len(refused), len(shop.payments.requests)) == (995, 5)
    # They block neither other peers nor, over HTTP, who orders for the same node.
    await ordered(shop, over_bolt8(OTHER))
    await ordered(shop, over_http())


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
    shop: ShopHarness,
) -> None:
    """Both have looked, and made an invoice, before either stores its order."""
    shop.rules = replace(shop.rules, lsps1=replace(RULES, orders_per_peer=1))
    payments = Together()
    one, two = (Lsps1(replace(shop.shop, payments=payments)) for _ in range(2))
    made = await at_once(
        one.create(WANTED, over_bolt8()), two.create(WANTED, over_bolt8())
    )
    assert [isinstance(each, TooMany) for each in made].count(True) == 1
    assert await shop.database.reader.lsps1_orders.unpaid() == 1


async def test_coins_of_orders_without_a_channel_are_capped(shop: ShopHarness) -> None:
    rules = replace(RULES, most_reserved=Sats(6_000_000))
    shop.rules = replace(shop.rules, lsps1=rules)
    orders = [await ordered(shop, over_bolt8(peer)) for peer in (PEER, OTHER)]
    late = await ordered(shop, over_http(PEER))
    shop.seller.freezes = True
    for each in (*orders, late):
        shop.payments.pay(request_of(each))  # held, and returned if no channel comes
        await shop.settle_down()
    assert [await shop.status(each) for each in orders] == [Status.SUBMITTED] * 2
    invoice = shop.payments.invoices[late.payment_hash]
    assert (await shop.status(late), invoice.state) == (
        Status.FAILED,
        InvoiceState.CANCELLED,
    )
    with pytest.raises(SoldOut, match="no channel yet"):
        await ordered(shop, over_http(THIRD))
    shop.seller.thaw(refuses=False)
    await shop.pass_time(seconds=6)
    await ordered(shop, over_http(THIRD))


async def test_while_a_paid_channel_is_opened_the_next_has_to_wait(
    shop: ShopHarness,
) -> None:
    shop.seller.freezes = True
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    await shop.settle_down()
    assert await shop.status(order) is Status.SUBMITTED
    with pytest.raises(Conflict, match="another open order"):
        await ordered(shop)
    shop.seller.thaw(refuses=False)
    await shop.pass_time(seconds=6)
    await ordered(shop)


async def test_unpaid_orders_are_no_quota_of_the_organizations(
    shop: ShopHarness,
) -> None:
    for peer in (PEER, OTHER):
        for _ in range(4):
            await ordered(shop, over_bolt8(peer))
    reader = shop.database.reader
    assert await reader.lsps1_orders.unpaid() == 8
    assert await reader.quotas.unpaid_orders(HARBOUR, now=shop.now) == 0
    await shop.create()
    assert await reader.quotas.unpaid_orders(HARBOUR, now=shop.now) == 1


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
async def test_what_is_no_key_gets_no_channel(shop: ShopHarness, key: str) -> None:
    with pytest.raises(Fault, match="Invalid params"):
        await ordered(shop, over_http(key))
    assert (shop.payments.requests, shop.seller.dialled) == ({}, [])


async def test_the_platforms_own_nodes_get_no_channel(shop: ShopHarness) -> None:
    await ordered(shop)
    shop.rules = replace(shop.rules, treasury=OTHER)
    for key in (OTHER, shop.seller.pubkey):
        with pytest.raises(Fault):
            await ordered(shop, over_http(key))


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
async def test_what_asks_for_no_answer_gets_none(shop: ShopHarness, raw: bytes) -> None:
    assert await Rpc(Lsps1(shop.shop)).answer(PEER, raw) is None


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
async def test_garbage_is_refused(shop: ShopHarness, raw: bytes, code: int) -> None:
    answer = await Rpc(Lsps1(shop.shop)).answer(PEER, raw)
    assert answer is not None
    told = json.loads(answer)
    assert (told["id"], told["error"]["code"]) == (None, code)


async def test_a_seller_that_is_away_is_an_error_of_ours(shop: ShopHarness) -> None:
    shop.seller.away = True
    told = await asked(shop, "lsps1.create_order", **WANTED)
    assert told["error"]["code"] == -32603
    shop.seller.away = False
    shop.rules = replace(shop.rules, lsps1=replace(RULES, organization="nobody"))
    with pytest.raises(SellerAway):
        await ordered(shop)


# What LDK (0.7.0) needs: it ignores an LSP after an answer that it cannot parse.


async def test_ldk_is_not_told_that_its_payment_is_held(shop: ShopHarness) -> None:
    order = await ordered(shop)
    shop.payments.pay(request_of(order))
    await shop.hear()
    assert await states(shop, order.id, LDK_ID) == ("CREATED", "EXPECT_PAYMENT")
    assert await states(shop, order.id, ZEUS_ID) == ("CREATED", "HOLD")


@pytest.mark.parametrize("token", [None, ""])
async def test_a_token_comes_back_as_it_came(
    shop: ShopHarness, token: str | None
) -> None:
    sent = {**WANTED, "token": token}
    told = await asked(shop, "lsps1.create_order", id_=LDK_ID, **sent)
    assert told["result"]["token"] == token
    found = await asked(
        shop, "lsps1.get_order", id_=LDK_ID, order_id=told["result"]["order_id"]
    )
    assert found["result"]["token"] == token
