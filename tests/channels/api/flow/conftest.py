"""A shop behind the API: its treasury is a fake, its market simulated, its work done.

The clock stands still, so what is due later is not done until a test turns it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from leyden.app.loops import channel_queues
from leyden.app.serving.api import Api
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.base.tasks.worker import Worker
from leyden.channels.books.verify import verify
from leyden.channels.checkout import listen
from leyden.channels.direct.dialing import Dialing
from leyden.channels.money import credit
from leyden.channels.rules.payments import PaymentRequest
from leyden.channels.services import (
    EVERYTHING,
    TICKETS,
    ChannelServices,
    ChannelSettings,
)
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.nodes.rules.peer_ports import PeerPorts
from tests.base.api.conftest import Caller
from tests.conftest import NOW
from tests.fakes.payments import FakePayments
from tests.fakes.seller import FakeSeller
from tests.people.plenty import PLENTY

PRICE = 16_163  # of a million sat for two weeks; tests/channels/rules/test_pricing.py
PEER_HOST = "127.0.0.1"  # of hosted nodes, as on a private chain
UNKNOWN = "5b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55FO"

ORDER_FIELDS = {
    "order_id": str,
    "creation_date": str,
    "status": str,
    "paid": bool,
    "order_nonce": str,
    "capacity": int,
    "self_chan_balance": int,
    "lease_duration_blocks": int,
    "node_tier": str,
    "rate_fixed": int,
    "sidecar_ticket": str,
    "onchain_address": str,
    "lightning_invoice": str,
    "service_fee": int,
    "pool_fee": int,
    "self_chan_balance_fee": int,
    "total_fee": int,
    "amount_due": int,
    "credit_used": int,
}
# What a filled order has beside them.
FILLED_FIELDS = {
    **ORDER_FIELDS,
    "channel_point": str,
    "node": str,
    "peer": str,
    "lease_ends": str,
    "lease_ends_block": int,
    "unused_fee": int,
}


@dataclass
class World:
    """Everything around the API, and its hands."""

    channels: ChannelServices
    payments: FakePayments
    market: SimulatedMarket
    seller: FakeSeller = field(default_factory=FakeSeller)
    now: list[datetime] = field(default_factory=lambda: [NOW])

    def request(self, order: Mapping[str, Any]) -> PaymentRequest:
        (found,) = (
            each
            for each in self.payments.requests.values()
            if each.order_id == order["order_id"]
        )
        return found

    def pay(self, order: Mapping[str, Any]) -> None:
        self.payments.pay(self.request(order))

    def later(self, **of: float) -> None:
        self.now[0] += timedelta(**of)

    async def follow_tickets(self) -> None:
        async with self.channels.database.transaction() as tx:
            await tx.tasks.put(TICKETS, EVERYTHING, due=self.now[0])

    async def coupon(self, sats: int, organization_id: str | None) -> str:
        (issued,) = await credit.issue_coupons(
            self.channels.database,
            sats=sats,
            count=1,
            organization_id=organization_id,
            expires=None,
            note="",
            actor="operator:alice",
            now=self.now[0],
        )
        return issued.id

    async def give_credit(self, caller: Caller, sats: int) -> None:
        coupon = await self.coupon(sats, caller.organization_id)
        assert (await caller.post("/flow/redeem", {"coupon": coupon})).status == 200

    async def open_account(self, caller: Caller, most_owed: int) -> None:
        await credit.open_account(
            self.channels.database,
            caller.organization_id,
            most_owed=most_owed,
            actor="operator:alice",
            now=self.now[0],
        )


@pytest.fixture
async def world(db: Database, sealer: Sealer) -> AsyncIterator[World]:
    payments, market, seller = FakePayments(), SimulatedMarket(), FakeSeller()
    now = [NOW]
    channels = ChannelServices(
        database=db,
        sealer=sealer,
        payments=payments,
        sources=SOURCES,
        treasury=payments,
        market=market,
        seller=seller,
        dialing=Dialing(peer_host=PEER_HOST, peer_ports=PeerPorts(((21_000, 21_009),))),
        clock=lambda: now[0],
        rules=ChannelSettings(answer_waits=timedelta(seconds=2), quotas=PLENTY),
    )
    worker = Worker(db, channel_queues(channels), clock=channels.clock)
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(channels))]
    yield World(channels, payments, market, seller, now)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    payments.away = False
    assert [str(each) for each in await verify(db)] == []


@pytest.fixture
def platform(settings: Settings, world: World) -> Platform:
    return Platform(
        settings=settings,
        database=world.channels.database,
        sealer=world.channels.sealer,
        clock=world.channels.clock,
        channels=world.channels,
    )


@pytest.fixture
def million() -> dict[str, int]:
    return {"capacity": 1_000_000}


async def ordered(caller: Caller, **wish: object) -> dict[str, Any]:
    answer = await caller.post("/flow/create", {"capacity": 1_000_000, **wish})
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


async def status_of(caller: Caller, order: Mapping[str, Any]) -> dict[str, Any]:
    answer = await caller.post("/flow/status", {"order_id": order["order_id"]})
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


async def until(
    caller: Caller, order: Mapping[str, Any], status: str
) -> dict[str, Any]:
    """Wait until the order stands there."""
    async with asyncio.timeout(10):
        while (found := await status_of(caller, order))["status"] != status:
            await asyncio.sleep(0.005)
    return found


def check_fields(found: Mapping[str, Any], fields: Mapping[str, type[Any]]) -> None:
    assert list(found) == list(fields)
    assert {name: type(value) for name, value in found.items()} == dict(fields)


async def refused(api: Api, caller: Caller, path: str, body: bytes) -> str:
    """Send a body that must be refused; give the reason."""
    assert caller.api is api
    answer = await caller.call("POST", path, body)
    assert answer.status == 400, (body, answer.body)
    assert {"message", "code", "doc_url"} <= set(answer.json())
    message: str = answer.json()["message"]
    return message
