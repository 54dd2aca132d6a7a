"""A platform that sells just-in-time channels, its purse, and a wallet that buys."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from leyden.app.loops import channel_queues
from leyden.base.tasks.worker import Worker
from leyden.channels.books.verify import verify
from leyden.channels.direct.base import Purse
from leyden.channels.direct.rules.jit import JitOrder, JitStatus, scid_of
from leyden.channels.services import JIT, ChannelServices, JitSettings
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness
from tests.channels.test_lsps1 import OTHER, PEER
from tests.fakes.forwarding import FakeForwarding, Paid
from tests.fakes.messages import FakeMessages
from tests.fakes.seller import FakeSeller
from tests.fakes.unpublished import FakeUnpublished
from tests.waiting import until

PURSE = f"02{'f9308a01' * 8}"
SIZE = 100_000_000
# 240 vbytes at 10 sat, and 1,000.
FEE = 3_400_000
HASH = "ab" * 32


@dataclass
class JitHarness:
    """Everything around just-in-time orders."""

    orders: OrdersHarness
    rules: JitSettings = field(default_factory=JitSettings)
    purse: FakeSeller = field(default_factory=lambda: FakeSeller(pubkey=PURSE))
    messages: FakeMessages = field(default_factory=FakeMessages)
    serving_channels: ChannelServices = field(init=False)

    def __post_init__(self) -> None:
        self.forwarding = FakeForwarding(self.purse)
        self.unpublished = FakeUnpublished(self.forwarding)
        self.purse.fill([2_000_000] * 3)
        self.purse.online.add(PEER)

    @property
    def channels(self) -> ChannelServices:
        """The services, with the purse."""
        purse = Purse(
            seller=self.purse,
            messages=self.messages,
            forwarding=self.forwarding,
            unpublished=self.unpublished,
        )
        rules = replace(self.orders.rules, jit=self.rules)
        return replace(self.orders.channels, purse=purse, rules=rules)

    @asynccontextmanager
    async def serving(self, *, within_s: float = 30) -> AsyncIterator[None]:
        """Run one process that serves; what is in its memory ends with the block."""
        database = self.orders.database
        async with database.transaction() as tx:
            await tx.tasks.put(JIT, "all", due=self.orders.now)
        channels = self.serving_channels = self.channels
        queues = [each for each in channel_queues(channels) if each.kind == JIT]
        worker = Worker(database, queues, clock=channels.clock)
        running = asyncio.create_task(worker.run())
        try:
            await until(
                lambda: self.messages.listeners and self.is_intercepting,
                within_s=within_s,
            )
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    @property
    def is_intercepting(self) -> bool:
        return self.forwarding.is_asking

    async def call(
        self, method: str, peer: str = PEER, **params: Any
    ) -> dict[str, Any]:
        """Let a peer send a request, and return its answer."""
        body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        self.messages.arrive(peer, json.dumps(body).encode())
        async with asyncio.timeout(10):
            sent = await self.messages.sent.get()
        assert sent.peer == peer
        found: dict[str, Any] = json.loads(sent.data)
        return found

    async def offer(self, peer: str = PEER) -> dict[str, Any]:
        answer = await self.call("lsps2.get_info", peer)
        (only,) = answer["result"]["opening_fee_params_menu"]
        return dict(only)

    async def buy(
        self, offer: dict[str, Any], peer: str = PEER, size: object = str(SIZE)
    ) -> dict[str, Any]:
        return await self.call(
            "lsps2.buy", peer, opening_fee_params=offer, payment_size_msat=size
        )

    async def bought(self, peer: str = PEER) -> int:
        """Buy; return the channel id as lnd has it."""
        answer = await self.buy(await self.offer(peer), peer)
        return scid_of(answer["result"]["jit_channel_scid"])

    async def order(self, scid: int) -> JitOrder:
        found = [
            each
            for each in await self.orders.database.reader.jit_orders.in_states(
                list(JitStatus)
            )
            if each.scid == scid
        ]
        return found[0]

    async def becomes(self, scid: int, status: JitStatus) -> JitOrder:
        """Wait for the order's status."""

        async def is_so() -> bool:
            return (await self.order(scid)).status is status

        try:
            await until(is_so, within_s=20)
        except TimeoutError:
            raise AssertionError(await self.order(scid)) from None
        return await self.order(scid)

    async def resolved(self, *paid: Paid) -> None:
        """Wait until these HTLCs are no longer held."""
        await until(lambda: all(each.fate != "held" for each in paid), within_s=20)

    async def prove(self) -> None:
        """Every rule holds, and no node was paid what its payer got back."""
        assert self.forwarding.lost_msat == 0
        assert self.unpublished.robbed_msat == 0
        for point, channel in self.purse.channels.items():
            claimed = [p for p in self.forwarding.paid_in(point) if p.fate == "claimed"]
            assert channel.published or not claimed, "a node's channel is nowhere"
        broken = await verify(self.orders.database, purse=self.channels.purse)
        assert [str(each) for each in broken] == []


__all__ = ["FEE", "HASH", "OTHER", "PEER", "PURSE", "SIZE", "JitHarness"]
