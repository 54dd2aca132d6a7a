"""What another LSP may answer, and what is made of it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from leyden.base.rules.units import Sats
from leyden.channels.direct.buying.http_lsp import HttpLsp
from leyden.channels.direct.rules.purchases import LspRefused, LspState
from leyden.channels.rules.payments import Outpoint
from leyden.channels.rules.pricing import Channel
from leyden.errors import SellerAway
from leyden.values import replace

KEY = "02" + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
CHANNEL = Channel(capacity=Sats(1_000_000), node_key=KEY)
# As Olympus, Megalith and others answer: flat fields, and the address of the node.
INFO = {
    "uris": [f"{KEY}@203.0.113.7:9735", "nonsense"],
    "min_required_channel_confirmations": 0,
    "min_funding_confirms_within_blocks": 12,
    "supports_zero_channel_reserve": True,
    "max_channel_expiry_blocks": 13_140,
    "min_initial_client_balance_sat": "0",
    "max_initial_client_balance_sat": "0",
    "min_initial_lsp_balance_sat": "150000",
    "max_initial_lsp_balance_sat": "16000000",
    "min_channel_balance_sat": "150000",
    "max_channel_balance_sat": "16000000",
}
INVOICE = "lnbc50u1p" + "q" * 200
ORDER: dict[str, Any] = {
    "order_id": "7f8a1b0e-1a1e-4f0e-b4c1-1d9d5b6e2f11",
    "lsp_balance_sat": "1000000",
    "client_balance_sat": "0",
    "order_state": "CREATED",
    "payment": {
        "bolt11": {
            "state": "EXPECT_PAYMENT",
            "expires_at": "2026-11-28T22:00:00.000Z",
            "fee_total_sat": "5000",
            "order_total_sat": "5000",
            "invoice": INVOICE,
        }
    },
    "channel": None,
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """An LSP that answers what a test says, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {"get_info": INFO, "create_order": ORDER}
        self.asked: list[tuple[str, str, Any]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        what = request.path.rpartition("/")[2]
        body = await request.json() if request.can_read_body else dict(request.query)
        self.asked.append((request.method, request.path, body))
        answer = self.answers.get(what)
        if callable(answer):
            response: web.StreamResponse = await answer(request)
            return response
        return web.json_response(answer)


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, HttpLsp]]:
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{what:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    lsp = HttpLsp(f"http://127.0.0.1:{port}/api/v1/", deadline_s=1.0)
    yield server, lsp
    await lsp.close()
    await runner.cleanup()


async def test_an_order_is_placed_as_the_lsp_wants_it(
    server: tuple[Server, HttpLsp],
) -> None:
    asked, lsp = server
    found = await lsp.order(CHANNEL)
    assert not isinstance(found, LspRefused)
    assert (found.id, found.price, found.invoice, found.channel) == (
        ORDER["order_id"],
        5_000,
        INVOICE,
        None,
    )
    await lsp.order(replace(CHANNEL, announce=True))
    # What is sold is asked for once in ten minutes.
    assert [path for _, path, _ in asked.asked] == [
        "/api/v1/get_info",
        "/api/v1/create_order",
        "/api/v1/create_order",
    ]
    assert asked.asked[1][2] == {
        "public_key": KEY,
        "lsp_balance_sat": "1000000",
        "client_balance_sat": "0",
        "required_channel_confirmations": 1,
        "funding_confirms_within_blocks": 12,
        "channel_expiry_blocks": 2_016,
        "announce_channel": False,
    }
    assert asked.asked[2][2]["announce_channel"] is True


async def test_an_order_is_followed(server: tuple[Server, HttpLsp]) -> None:
    asked, lsp = server
    point = f"{'ab' * 32}:1"
    asked.answers["get_order"] = ORDER | {
        "order_state": "COMPLETED",
        "channel": {"funding_outpoint": point, "funded_at": "", "expires_at": ""},
    }
    found = await lsp.find(ORDER["order_id"])
    assert asked.asked[-1] == (
        "GET",
        "/api/v1/get_order",
        {"order_id": ORDER["order_id"]},
    )
    assert found.state is LspState.COMPLETED
    assert found.channel == Outpoint("ab" * 32, 1)
    with pytest.raises(SellerAway) as raised:
        await lsp.find("another")
    assert "returned another order" in str(raised.value)


@pytest.mark.parametrize(
    "order",
    [
        # Amounts as numbers.
        ORDER | {"payment": {"bolt11": {"order_total_sat": 5_000, "invoice": INVOICE}}},
        # The shape of early 2024.
        ORDER | {"payment": {"order_total_sat": "5000", "lightning_invoice": INVOICE}},
        ORDER
        | {
            "payment": {
                "bolt11": {"order_total_sat": "5000", "invoice": INVOICE.upper()}
            }
        },
        {each: ORDER[each] for each in ("order_id", "order_state", "payment")},
    ],
)
async def test_what_servers_do_differently_is_understood(
    server: tuple[Server, HttpLsp], order: dict[str, Any]
) -> None:
    asked, lsp = server
    asked.answers["create_order"] = order
    found = await lsp.order(CHANNEL)
    assert not isinstance(found, LspRefused)
    assert (found.price, found.invoice) == (5_000, INVOICE)


@pytest.mark.parametrize("key", ["message", "error", "detail"])
async def test_a_refusal_has_a_reason(server: tuple[Server, HttpLsp], key: str) -> None:
    asked, lsp = server

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({key: "Client rejected\n" + "x" * 900}, status=400)

    asked.answers["create_order"] = refuse
    found = await lsp.order(CHANNEL)
    assert found == LspRefused("Client rejected" + "x" * 185)


async def html(_: web.Request) -> web.Response:
    return web.Response(text="<html>502</html>", content_type="text/html", status=502)


async def html_as_ok(_: web.Request) -> web.Response:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def internal(_: web.Request) -> web.Response:
    return web.json_response(ORDER, status=500)


async def busy(_: web.Request) -> web.Response:
    return web.json_response({"message": "slow down"}, status=429)


async def elsewhere(_: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": "/api/v1/elsewhere"})


async def huge(_: web.Request) -> web.Response:
    return web.Response(body=b" " * 70_000 + json.dumps(ORDER).encode())


async def nested(_: web.Request) -> web.Response:
    return web.Response(body=b"[" * 60_000)


async def listed(_: web.Request) -> web.Response:
    return web.json_response([ORDER])


async def hangs(_: web.Request) -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


async def drips(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(300):
        await response.write(b" ")
        await asyncio.sleep(0.1)
    return response


GARBAGE = (
    html,
    html_as_ok,
    internal,
    busy,
    elsewhere,
    huge,
    nested,
    listed,
    hangs,
    drips,
)
WRONG: tuple[dict[str, Any], ...] = (
    {},
    ORDER | {"order_id": 7},
    ORDER | {"order_id": ""},
    ORDER | {"order_id": "x" * 65},
    ORDER | {"order_id": "a b\n"},
    ORDER | {"order_state": "DONE"},
    ORDER | {"order_state": None},
    ORDER | {"payment": {"bolt11": {"order_total_sat": "-1", "invoice": INVOICE}}},
    ORDER | {"payment": {"bolt11": {"order_total_sat": True, "invoice": INVOICE}}},
    ORDER | {"payment": {"bolt11": {"order_total_sat": "1e9", "invoice": INVOICE}}},
    ORDER | {"payment": {"bolt11": {"order_total_sat": 10**30, "invoice": INVOICE}}},
)


@pytest.mark.parametrize("answer", [*GARBAGE, *WRONG])
@pytest.mark.parametrize("what", ["create_order", "get_order"])
async def test_garbage_is_no_answer(
    server: tuple[Server, HttpLsp], answer: Any, what: str
) -> None:
    asked, lsp = server
    asked.answers[what] = answer
    with pytest.raises(SellerAway):
        await (lsp.order(CHANNEL) if what == "create_order" else lsp.find("x"))
    assert "/api/v1/elsewhere" not in [path for _, path, _ in asked.asked]


@pytest.mark.parametrize(
    "wrong",
    [
        {"uris": []},
        {"uris": None},
        {"uris": [f"{KEY}@{'x' * 400}"]},
        {"uris": [f"{KEY}@203.0.113.7:9735 extra"]},
        {"max_initial_lsp_balance_sat": None},
        {"max_initial_lsp_balance_sat": "many"},
        {"max_channel_expiry_blocks": "13140.5"},
        {"max_channel_expiry_blocks": -1},
        {"min_required_channel_confirmations": True},
    ],
    ids=str,
)
async def test_an_lsp_that_says_nothing_useful_sells_nothing(
    server: tuple[Server, HttpLsp], wrong: dict[str, Any]
) -> None:
    asked, lsp = server
    asked.answers["get_info"] = INFO | wrong
    with pytest.raises(SellerAway):
        await lsp.order(CHANNEL)


async def test_nobody_listens() -> None:
    lsp = HttpLsp("http://127.0.0.1:1")
    with pytest.raises(SellerAway):
        await lsp.info()
    await lsp.close()


async def test_no_invoice_is_shown_as_none(server: tuple[Server, HttpLsp]) -> None:
    asked, lsp = server
    for payment in (None, {}, {"bolt11": None}, {"bolt11": {"invoice": "<script>"}}):
        asked.answers["create_order"] = ORDER | {"payment": payment}
        found = await lsp.order(CHANNEL)
        assert not isinstance(found, LspRefused)
        assert found.invoice == ""


@pytest.mark.parametrize("point", ["x", "ab:1", f"{'ab' * 32}:123456", 7, None, {}])
async def test_no_channel_is_made_of_garbage(
    server: tuple[Server, HttpLsp], point: Any
) -> None:
    asked, lsp = server
    completed = {"order_state": "COMPLETED", "channel": {"funding_outpoint": point}}
    asked.answers["get_order"] = ORDER | completed
    assert (await lsp.find(ORDER["order_id"])).channel is None
