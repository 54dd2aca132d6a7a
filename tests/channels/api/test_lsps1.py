"""LSPS1 over HTTP: the bodies of ZEUS and Alby Hub, and everybody else's garbage."""

import asyncio
import json
from typing import Any

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.platform import Platform
from leyden.base.rules.units import Sats
from leyden.base.settings import Settings
from leyden.channels.direct.api.lsps1 import Lsps1OverHttp
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.services import Lsps1Settings
from leyden.people import accounts
from leyden.values import replace
from tests.base.api.conftest import Answer, Caller
from tests.channels.api.flow.conftest import World, platform, world  # noqa: F401  fixtures

PEER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
ZEUS = (
    '{"lsp_balance_sat":"400000","client_balance_sat":"0",'
    '"required_channel_confirmations":8,"funding_confirms_within_blocks":6,'
    '"channel_expiry_blocks":12960,"token":"","refund_onchain_address":"",'
    f'"announce_channel":false,"public_key":"{PEER}"}}'
).encode()
ALBY = (
    f'{{"public_key":"{PEER}","lsp_balance_sat":"450000","client_balance_sat":"0",'
    '"required_channel_confirmations":0,"funding_confirms_within_blocks":6,'
    '"channel_expiry_blocks":13000,"token":"",'
    '"refund_onchain_address":"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",'
    '"announce_channel":false}'
).encode()
CREATE = "/lsps1/v1/create_order"


@pytest.fixture
async def anybody(platform: Platform, world: World) -> Caller:  # noqa: F811
    organization = await accounts.create_organization(
        platform, "the LSP", actor="operator:alice"
    )
    world.seller.fill([3_000_000] * 20)
    world.seller.online.add(PEER)
    rules = replace(
        world.channels.rules,
        lsps1=Lsps1Settings(organization="the LSP", most_reserved=Sats(10**9)),
    )
    sold = Lsps1OverHttp(replace(world.channels, rules=rules))
    public = Public(platform, Api(platform, OPERATIONS), version="1", sold=sold)
    return Caller(public, None, organization.id)  # type: ignore[arg-type]


async def get(caller: Caller, what: str) -> dict[str, Any]:
    answer = await caller.get(f"/lsps1/v1/{what}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


async def create(caller: Caller, raw: bytes, path: str = CREATE) -> Answer:
    return await caller.call("POST", path, raw)


async def filled(world: World, order_id: str) -> None:  # noqa: F811
    orders = world.channels.database.reader.orders
    async with asyncio.timeout(10):
        while (await orders.get(order_id)).status is not OrderStatus.FILLED:
            await asyncio.sleep(0.005)


def read_by_zeus(answer: Answer) -> str:
    """Return the order's id, or why there is none, as ZEUS reads an answer."""
    body = answer.json()
    return str(body["message"] if body.get("error") else body["order_id"])


async def test_what_is_sold_is_told_to_anybody(anybody: Caller) -> None:
    answer = await get(anybody, "get_info")
    (uri,) = answer["uris"]
    key, _, host = uri.partition("@")
    assert (len(key), host) == (66, "seller.example:9735")
    assert answer["max_channel_expiry_blocks"] == 52_416
    head = await anybody.call("HEAD", "/lsps1/v1/get_info")
    assert (head.status, head.body) == (200, b"")


@pytest.mark.parametrize("base", ["/lsps1/v1", "/lsps1/api/v1"])
@pytest.mark.parametrize("body", [ZEUS, ALBY], ids=["ZEUS", "Alby Hub"])
async def test_wallets_buy_a_channel(
    anybody: Caller,
    world: World,  # noqa: F811
    body: bytes,
    base: str,
) -> None:
    answer = await create(anybody, body, f"{base}/create_order")
    assert answer.status == 200, answer.body
    order = answer.json()
    bolt11 = order["payment"]["bolt11"]  # which is all that Alby Hub reads
    assert bolt11["invoice"].startswith("ln")
    assert int(bolt11["fee_total_sat"]) == int(bolt11["order_total_sat"]) > 0
    assert read_by_zeus(answer) == order["order_id"]
    world.pay(order)
    await filled(world, order["order_id"])
    order = await get(anybody, f"get_order?order_id={order['order_id']}")
    assert order["order_state"] == "COMPLETED"
    (opened,) = world.seller.channels.values()
    assert order["channel"]["funding_outpoint"] == opened.point
    assert opened.wanted.pubkey == PEER
    assert opened.wanted.zero_conf is (body == ALBY)


async def test_why_an_order_is_refused_is_told(anybody: Caller) -> None:
    answer = await create(anybody, ZEUS.replace(b"12960", b"99999"))
    assert answer.status == 400
    assert answer.json() == {
        "error": "Option mismatch",
        "message": "max_channel_expiry_blocks: is 52416",
        "code": 100,
        "data": {
            "property": "max_channel_expiry_blocks",
            "message": "max_channel_expiry_blocks: is 52416",
        },
    }
    for raw in (b"", b"[]", b"{", b"\xff", b'"' * 100, b"[" * 8_000, b"null"):
        answer = await create(anybody, raw)
        assert (answer.status, answer.json()["code"]) == (400, -32700)
    assert (await create(anybody, b" " * 9_000)).status == 413
    for wrong in ("7", '"x"', f'"{PEER}@127.0.0.1:9735"', "null"):
        raw = ZEUS.replace(f'"{PEER}"'.encode(), wrong.encode())
        answer = await create(anybody, raw)
        assert (answer.status, answer.json()["data"]["property"]) == (400, "public_key")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/lsps1/v1/get_order?order_id=00000000", 404),
        ("GET", "/lsps1/v1/get_order?order_id=" + "1" * 999, 404),
        ("GET", "/lsps1/v1/get_order?order_id=a&order_id=b", 400),
        ("GET", "/lsps1/v1/get_order?order_id=%00", 404),
        ("GET", "/lsps1/v1/get_order?%ff", 400),
        ("GET", "/lsps1/v1/get_order", 400),
        ("GET", "/lsps1/v1/create_order", 405),
        ("DELETE", "/lsps1/v1/get_info", 405),
        ("OPTIONS", "/lsps1/v1/get_info", 405),
        ("GET", "/lsps1/v1/", 404),
        ("GET", "/lsps1/v2/get_info", 404),
        ("GET", "/lsps1/", 404),
    ],
)
async def test_everything_else_is_a_clean_error(
    anybody: Caller, method: str, path: str, status: int
) -> None:
    answer = await anybody.call(method, path)
    assert (answer.status, bool(answer.json()["message"])) == (status, True)
    assert ("allow" in answer.headers) is (status == 405)


async def test_an_address_and_a_node_have_limits(anybody: Caller) -> None:
    for _ in range(5):
        assert (await create(anybody, ZEUS)).status == 200
    answer = await create(anybody, ZEUS)
    assert (answer.status, answer.json()["code"]) == (429, 1)
    assert int(answer.headers["retry-after"]) > 0
    answers = [await anybody.get("/lsps1/v1/get_info") for _ in range(60)]
    assert answers[-1].status == 429
    anybody.address = "203.0.113.5"
    assert (await anybody.get("/lsps1/v1/get_info")).status == 200


async def test_a_seller_that_is_away_is_told(
    anybody: Caller,
    world: World,  # noqa: F811
) -> None:
    world.seller.away = True
    answer = await anybody.get("/lsps1/v1/get_info")
    assert (answer.status, "retry-after" in answer.headers) == (503, True)
    assert "seller" in answer.json()["message"]


async def test_customers_orders_and_bolt8_are_not_found(
    anybody: Caller,
    alice: Caller,
) -> None:
    made = await alice.post("/flow/create", {"capacity": 1_000_000})
    path = f"/lsps1/v1/get_order?order_id={made.json()['order_id']}"
    assert (await anybody.get(path)).status == 404


async def test_nothing_is_there_where_it_is_not_offered(alice: Caller) -> None:
    assert (await alice.get("/lsps1/v1/get_info")).status == 404


def test_it_is_off_by_default() -> None:
    assert not Settings().lsps1
    assert json.loads(ZEUS)["public_key"] == PEER
