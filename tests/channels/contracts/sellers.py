"""Each seller, with a peer beside it, and hands that fill its wallet."""

import asyncio
import contextlib
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Seller, WantedOpening
from leyden.channels.direct.lnd import LndSeller
from leyden.channels.direct.rules.openings import Coin, OpeningState
from leyden.channels.payments.treasury import Treasury
from leyden.errors import NodeRefused
from leyden.nodes.lnd.connection import LndAccess
from leyden.values import replace
from leyden_workshop.devnet import access, actions
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.seller import bake, macaroon
from tests.channels.contracts.rivals import abandon, mine_nothing, rival_of, unmine
from tests.channels.contracts.treasuries import TreasuryHarness, owners_access, synced
from tests.fakes.seller import FakeSeller
from tests.waiting import until

_WITHIN_S = 30.0


class World(Protocol):
    """A seller and everyone around it."""

    @property
    def seller(self) -> Seller:
        """The seller."""
        ...

    @property
    def peer(self) -> str:
        """The key of a node that takes channels, one pending at a time."""
        ...

    @property
    def at(self) -> str:
        """Where that node listens."""
        ...

    async def fill(self, sats: int) -> Coin:
        """Add a coin of that size to the wallet, and return it once it is confirmed."""
        ...

    async def refuse(self) -> None:
        """Let the peer refuse the next channel."""

    async def pay(self, sats: int) -> None:
        """Let the seller pay so much to the peer through their announced channel."""

    async def part(self) -> None:
        """Let seller and peer lose their connection."""

    async def mine(self) -> None:
        """Confirm what there is."""

    async def mine_nothing(self, blocks: int) -> None:
        """Find blocks that take no transaction."""

    async def reorganise(self, depth: int) -> None:
        """Undo blocks, and mine one more than there were."""

    async def unmine(self, depth: int) -> None:
        """Undo blocks, and find one more than there were that take no transaction."""

    async def sign_rival(self, coin: Coin) -> None:
        """Sign a transaction of this coin, which pays much, and tell nobody."""

    async def publish_rival(self) -> None:
        """Publish it, in place of what spends the coin by now."""

    async def abandon(self, channel_point: str) -> None:
        """Let seller and peer forget a channel that never comes."""

    async def close_channel(self, channel_point: str) -> None:
        """Let the peer close a channel, and a block confirm that."""

    async def give_up(self, wanted: WantedOpening) -> None:
        """Ask for a channel, and be gone before the answer."""

    async def leave(self) -> None:
        """Take the seller away."""


def wanted(
    world: World, order_id: str, *coins: Coin, capacity: int = 200_000
) -> WantedOpening:
    return WantedOpening(
        order_id=order_id,
        pubkey=world.peer,
        capacity=Sats(capacity),
        announce=False,
        coins=coins,
        fee_sat_per_vb=2,
    )


async def coin_of(seller: Seller, sats: int) -> Coin:
    """Wait for a coin of that size."""
    async with asyncio.timeout(_WITHIN_S):
        while True:
            for each in (await seller.wallet()).coins:
                if each.sats == sats:
                    return each
            await asyncio.sleep(0.1)


@dataclass
class FakeWorld:
    """All in memory."""

    seller: FakeSeller = field(default_factory=FakeSeller)
    peer: str = f"03{'7a' * 32}"
    at: str = "198.51.100.7:9735"

    def __post_init__(self) -> None:
        self.seller.reached.add(self.at)
        self.seller.fill([10_000_000])

    async def fill(self, sats: int) -> Coin:
        self.seller.fill([sats])
        return await coin_of(self.seller, sats)

    async def refuse(self) -> None:
        self.seller.refuses = "Number of pending channels exceed maximum"

    async def pay(self, sats: int) -> None:
        self.seller.reachable_by = Sats(self.seller.reachable_by + sats)

    async def part(self) -> None:
        self.seller.online.clear()

    async def mine(self) -> None:
        self.seller.mined_from = 0
        self.seller.height += 6

    async def mine_nothing(self, blocks: int) -> None:
        self.seller.mined_from = 10_000
        self.seller.height += blocks

    async def reorganise(self, depth: int) -> None:
        del depth
        self.seller.height += 1

    async def unmine(self, depth: int) -> None:
        del depth
        for point in self.seller.channels:
            self.seller.reorganise(point)
        self.seller.mined_from = 10_000

    async def sign_rival(self, coin: Coin) -> None:
        del coin

    async def publish_rival(self) -> None:
        for point in self.seller.channels:
            self.seller.take_coin(point)

    async def abandon(self, channel_point: str) -> None:
        del self.seller.channels[channel_point]

    async def close_channel(self, channel_point: str) -> None:
        self.seller.close_channel(channel_point)

    async def give_up(self, wanted: WantedOpening) -> None:
        self.seller.answers_lost = 1
        with contextlib.suppress(Exception):
            await self.seller.open(wanted)

    async def leave(self) -> None:
        self.seller.away = True


@dataclass
class LndWorld:
    """A real lnd that sells to another: the customer's, to the treasury's."""

    harness: TreasuryHarness
    peer: str = ""
    seller: LndSeller = field(init=False)

    async def open(self) -> "LndWorld":
        await bake(self.harness.customer, self.harness.home)
        self.owner = Treasury(owners_access(self.harness.customer))
        self._peers = Treasury(self.harness.treasury_access())
        self.peer = (await self._peers.call("GET", "/v1/getinfo"))["identity_pubkey"]
        self.seller = LndSeller(self.as_seller())
        await self.mine()
        return self

    def as_seller(self) -> LndAccess:
        """Return the seller as the platform reaches it: by its own macaroon."""
        reached = owners_access(self.harness.customer)
        return replace(reached, macaroon=macaroon(self.harness.home))

    @property
    def at(self) -> str:
        return access.load(self.harness.home).lnds["treasury"].peer

    async def fill(self, sats: int) -> Coin:
        address = await self.seller.address()
        await actions.fund(self.harness.home, address, sats, confirmations=1)
        return await coin_of(self.seller, sats)

    async def refuse(self) -> None:
        """Open one that stays pending: lnd takes no second."""
        coin = await self.fill(333_000)
        await self.seller.open(wanted(self, "one that is pending", coin))

    async def pay(self, sats: int) -> None:
        wish = {"value": str(sats)}

        async def is_paid() -> bool:
            """Try again: the channel of peers who have just met is not up at once."""
            made = await self._peers.call("POST", "/v1/invoices", wish)
            bill = {"payment_request": made["payment_request"]}
            paid = await self.owner.call("POST", "/v1/channels/transactions", bill)
            return not paid["payment_error"]

        await until(is_paid, every_s=0.2)

    async def part(self) -> None:
        with contextlib.suppress(NodeRefused):
            await self.owner.call("DELETE", f"/v1/peers/{self.peer}")
        key = (await self.owner.call("GET", "/v1/getinfo"))["identity_pubkey"]
        with contextlib.suppress(NodeRefused):
            await self._peers.call("DELETE", f"/v1/peers/{key}")

    async def mine(self) -> None:
        await actions.mine(self.harness.home, 6)
        await synced(self.owner, self.harness.home)
        await synced(self._peers, self.harness.home)

    async def mine_nothing(self, blocks: int) -> None:
        async with connected(access.load(self.harness.home).btcd) as chain:
            await mine_nothing(chain, blocks)
        await synced(self.owner, self.harness.home)

    async def unmine(self, depth: int) -> None:
        async with connected(access.load(self.harness.home).btcd) as chain:
            await unmine(chain, depth)
        await synced(self.owner, self.harness.home)

    async def sign_rival(self, coin: Coin) -> None:
        self._rival = await rival_of(self.owner, coin, sat_per_vb=100)

    async def publish_rival(self) -> None:
        async with connected(access.load(self.harness.home).btcd) as chain:
            await chain.call("sendrawtransaction", self._rival)

    async def abandon(self, channel_point: str) -> None:
        for each in (self.owner, self._peers):
            await abandon(each, channel_point)

    async def close_channel(self, channel_point: str) -> None:
        path = f"/v1/channels/{channel_point.replace(':', '/')}"
        await until(lambda: self._is_active(channel_point))
        async with aclosing(self._peers.stream("DELETE", path)) as updates:
            await anext(updates)  # the closing transaction is published
        await self.mine()

    async def _is_active(self, channel_point: str) -> bool:
        response = await self._peers.call("GET", "/v1/channels?active_only=true")
        return any(
            each["channel_point"] == channel_point for each in response["channels"]
        )

    async def reorganise(self, depth: int) -> None:
        async with connected(access.load(self.harness.home).btcd) as chain:
            first = await chain.call("getblockhash", await chain.height() - depth + 1)
            await chain.call("invalidateblock", first)
            await chain.mine(depth + 1)
        await synced(self.owner, self.harness.home)
        await synced(self._peers, self.harness.home)

    async def give_up(self, wanted: WantedOpening) -> None:
        asking = asyncio.create_task(self.seller.open(wanted))
        # Not before lnd was told: who leaves while still dialing has asked for nothing.
        while not asking.done() and await self._is_untold(wanted):
            pass
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    async def _is_untold(self, wanted: WantedOpening) -> bool:
        found = await self.seller.find(wanted.order_id, wanted.coins)
        return found.state is OpeningState.NONE

    async def leave(self) -> None:
        await self.seller.close()
        self.seller = LndSeller(replace(self.as_seller(), port=1))

    async def close(self) -> None:
        for each in (self.seller, self.owner, self._peers):
            await each.close()
