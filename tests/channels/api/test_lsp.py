"""What holds for LSPs that channels are bought from: the fake, and our own server."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest
from aiohttp import web

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.platform import Platform
from leyden.base.rules.units import Sats
from leyden.channels.direct.api.lsps1 import Lsps1OverHttp
from leyden.channels.direct.base import Lsp
from leyden.channels.direct.buying.http_lsp import HttpLsp
from leyden.channels.direct.rules.purchases import LspOrder, LspRefused, LspState
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import Lsps1Settings
from leyden.errors import SellerAway
from leyden.people import accounts
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World, platform, world  # noqa: F401  fixtures
from tests.channels.test_direct_channels import PEER
from tests.conftest import NOW
from tests.fakes.lsp import FakeLsp, FakePayer
from tests.waiting import until

CHANNEL = Channel(capacity=Sats(1_000_000), node_key=PEER)


class Seller(Protocol):
    """An LSP, and what its payers and its own lnd do."""

    @property
    def lsp(self) -> Lsp:
        """What is to be tried."""
        ...

    async def pay(self, order: LspOrder) -> None:
        """Pay an order."""

    def refuse(self) -> None:
        """Let its lnd open no channel."""


@dataclass
class FakeSeller:
    """In memory."""

    lsp: FakeLsp

    async def pay(self, order: LspOrder) -> None:
        await FakePayer(self.lsp).pay(order.invoice, fee_limit=Sats(10))

    def refuse(self) -> None:
        self.lsp.claims = False


@dataclass
class OwnSeller:
    """Our own server."""

    lsp: Lsp
    world: World

    async def pay(self, order: LspOrder) -> None:
        self.world.pay({"order_id": order.id})

    def refuse(self) -> None:
        self.world.seller.refuses = "channel rejected"


@pytest.fixture(params=["fake", "own"])
async def sold(
    request: pytest.FixtureRequest,
    platform: Platform,  # noqa: F811
    world: World,  # noqa: F811
) -> AsyncIterator[Seller]:
    if request.param == "fake":
        yield FakeSeller(FakeLsp(clock=lambda: NOW))
        return
    organization = await accounts.create_organization(
        platform, "the LSP", actor="operator:alice"
    )
    world.seller.fill([3_000_000] * 20)
    world.seller.online.add(PEER)
    rules = replace(world.channels.rules, lsps1=Lsps1Settings(organization="the LSP"))
    selling = Lsps1OverHttp(replace(world.channels, rules=rules))
    public = Public(platform, Api(platform, OPERATIONS), version="1", sold=selling)
    caller = Caller(public, None, organization.id)  # type: ignore[arg-type]

    async def handle(request: web.Request) -> web.Response:
        answer = await caller.call(
            request.method, str(request.rel_url), await request.read()
        )
        return web.Response(
            status=answer.status,
            body=answer.body,
            content_type="application/json",
        )

    app = web.Application()
    app.router.add_route("*", "/{what:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    lsp = HttpLsp(f"http://127.0.0.1:{runner.addresses[0][1]}/lsps1/v1")
    yield OwnSeller(lsp, world)
    await lsp.close()
    await runner.cleanup()


async def ordered(sold: Seller, wanted: Channel = CHANNEL) -> LspOrder:
    found = await sold.lsp.order(wanted)
    assert not isinstance(found, LspRefused)
    return found


async def test_what_is_sold_has_limits_and_an_address(sold: Seller) -> None:
    info = await sold.lsp.info()
    assert len(info.uri.partition("@")[0]) == 66
    assert 0 < info.smallest <= 1_000_000 <= info.largest
    assert info.longest_blocks >= 2_016


@pytest.mark.parametrize(
    "change", [{}, {"announce": True}, {"zero_conf": True}], ids=str
)
async def test_an_order_names_a_price_and_costs_nothing(
    sold: Seller, change: dict[str, Any]
) -> None:
    order = await ordered(sold, replace(CHANNEL, **change))
    assert order.state is LspState.CREATED
    assert order.price > 0
    assert order.invoice.startswith("ln")
    assert order.channel is None
    assert await sold.lsp.find(order.id) == order


async def test_each_order_has_an_invoice_of_its_own(sold: Seller) -> None:
    first, second = await ordered(sold), await ordered(sold)
    assert first.id != second.id
    assert first.invoice != second.invoice


async def test_a_channel_that_is_too_large_is_refused(sold: Seller) -> None:
    if isinstance(sold, FakeSeller):
        sold.lsp.refuses = "max_channel_balance_sat: is 16000000"
    too_large = replace(CHANNEL, capacity=Sats(10**9))
    found = await sold.lsp.order(too_large)
    assert isinstance(found, LspRefused)
    assert "max_" in found.why


async def test_an_order_that_does_not_exist_is_not_found(sold: Seller) -> None:
    with pytest.raises((SellerAway, KeyError)):
        await sold.lsp.find("5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO")


async def test_a_paid_order_has_a_channel(sold: Seller) -> None:
    order = await ordered(sold)
    await sold.pay(order)

    async def is_completed() -> bool:
        return (await sold.lsp.find(order.id)).state is LspState.COMPLETED

    await until(is_completed)
    found = await sold.lsp.find(order.id)
    assert found.channel is not None
    assert found.id == order.id


async def test_an_order_without_a_channel_fails(sold: Seller) -> None:
    order = await ordered(sold)
    sold.refuse()
    await sold.pay(order)

    async def is_failed() -> bool:
        return (await sold.lsp.find(order.id)).state is LspState.FAILED

    await until(is_failed)
    assert (await sold.lsp.find(order.id)).channel is None
