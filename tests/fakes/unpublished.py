"""Channels that are published when we say so, beside a fake seller and its forwards.

It keeps lnd's contract: coins are locked before the transaction is stored, and stay so
until somebody unlocks them; a channel can come although its opening was cancelled; and
whoever gives up a channel in which a payment was claimed has robbed its node.
"""

import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.connection import UNPUBLISHED_PERMISSIONS
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningRefused
from leyden.channels.direct.rules.transactions import txid_of
from leyden.errors import SellerAway
from tests.fakes.channels import OpenedChannel
from tests.fakes.forwarding import FakeForwarding, Fate


@dataclass
class FakeUnpublished:
    """The openings of one lnd, for the length of a test."""

    forwarding: FakeForwarding
    refuses: str = ""  # why nothing is published
    allowed: bool = True  # by our macaroon
    # "funded", "stored", "giving up" or "given up": the answer never arrives.
    dies_at: str = ""
    keeps: set[str] = field(default_factory=set)  # orders that are not given up
    gave_up: list[str] = field(default_factory=list)  # orders
    published: list[str] = field(default_factory=list)  # transactions
    robbed_msat: int = 0  # claimed in channels that were given up
    _made: int = 0

    async def open(
        self, wanted: WantedOpening, store: Callable[[str], Awaitable[None]]
    ) -> Opening | OpeningRefused:
        """Lock, store, and let the peer sign."""
        funded = self.fund(wanted)
        if isinstance(funded, OpeningRefused):
            return funded
        self._maybe_die("funded")
        await store(funded)
        opening = self.sign(funded)
        self._maybe_die("stored")
        return opening

    def fund(self, wanted: WantedOpening) -> str | OpeningRefused:
        """Lock the coins, and sign a transaction that spends them."""
        seller = self.forwarding.seller
        seller.check_reachable()
        if why := seller.why_not(wanted):
            return OpeningRefused(why)
        self._made += 1
        transaction = _transaction(wanted, self._made)
        point = f"{txid_of(transaction)}:0"
        seller.channels[point] = OpenedChannel(
            wanted=wanted, point=point, signed=False, deferred=True
        )
        return transaction

    def sign(self, transaction: str) -> Opening:
        """Let the peer sign."""
        seller = self.forwarding.seller
        if seller.freezes:
            raise SellerAway(why="the seller does not respond", retry_after_s=5)
        channel = seller.channels[f"{txid_of(transaction)}:0"]
        channel.signed = True
        seller.maybe_lose_answer()
        return channel.opening(seller.height)

    async def publish(
        self, order_id: str, transaction: str, coins: Sequence[Coin]
    ) -> str:
        """Publish it."""
        seller = self.forwarding.seller
        seller.check_reachable()
        if self.refuses:
            return self.refuses
        channel = seller.channels.get(f"{txid_of(transaction)}:0")
        assert channel is not None, "it pays into a channel that nobody has"
        assert channel.wanted.order_id == order_id
        assert channel.wanted.coins == tuple(coins)
        if not channel.published:
            seller.publish_one(channel)
            self.published.append(transaction)
        seller.maybe_lose_answer()
        return ""

    async def give_up(self, order_id: str, point: str, coins: Sequence[Coin]) -> None:
        """Forget what is not signed, and the channel; unlock the coins."""
        seller, forwarding = self.forwarding.seller, self.forwarding
        seller.check_reachable()
        self._maybe_die("giving up")
        if order_id in self.keeps:
            raise SellerAway(why="lnd didn't abandon a channel", retry_after_s=5)
        self.gave_up.append(order_id)
        for each in list(seller.channels.values()):
            if each.wanted.order_id != order_id or each.published:
                continue
            spends = set(each.wanted.coins) & set(coins)
            if each.point == point or (spends and not each.signed):
                for paid in forwarding.paid_in(each.point):
                    if paid.fate in {Fate.CLAIMED, Fate.FORWARDED}:
                        self.robbed_msat += paid.out_msat
                del seller.channels[each.point]
        self._maybe_die("given up")
        seller.maybe_lose_answer()

    async def denied(self) -> list[str]:
        """List what our macaroon lacks."""
        self.forwarding.seller.check_reachable()
        return [] if self.allowed else list(UNPUBLISHED_PERMISSIONS)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def _maybe_die(self, at: str) -> None:
        if self.dies_at == at:
            self.dies_at = ""
            raise SellerAway(why="the connection broke", retry_after_s=5)


def _transaction(wanted: WantedOpening, number: int) -> str:
    """Return a signed transaction from the coins to the channel."""
    inputs = b"".join(
        bytes.fromhex(each.outpoint.txid)[::-1]
        + struct.pack("<IBI", each.outpoint.vout, 0, 0xFFFFFFFF)
        for each in wanted.coins
    )
    output = struct.pack("<QB", wanted.capacity, 34) + b"\x00\x20" + bytes(32)
    raw = (
        struct.pack("<I", 2)
        + b"\x00\x01"
        + bytes([len(wanted.coins)])
        + inputs
        + b"\x01"
        + output
        + bytes(len(wanted.coins))  # empty witnesses
        + struct.pack("<I", number)
    )
    return raw.hex()
