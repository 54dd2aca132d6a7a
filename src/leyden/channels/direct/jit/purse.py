"""The purse: the lnd that sells just-in-time channels, and what it has."""

import asyncio
import time

from leyden.channels.direct.base import Purse
from leyden.channels.direct.rules.openings import SellerWallet
from leyden.channels.services import ChannelServices
from leyden.errors import SellerAway


async def read(
    channels: ChannelServices, purse: Purse, *, needs_chain: bool = True
) -> SellerWallet:
    """Return the purse's wallet; raise SellerAway if we must not sell from this lnd.

    Whoever intercepts its HTLCs can spend from it.
    """
    wallet = await purse.seller.wallet()
    treasury = await channels.database.reader.treasury.find()
    seller = await channels.database.reader.seller.find()
    for name, known in (
        ("treasury", channels.rules.treasury or (treasury and treasury.pubkey)),
        ("seller", channels.rules.seller or (seller and seller.pubkey)),
    ):
        if wallet.pubkey == known:
            raise SellerAway(
                why=f"jit_host: this lnd is the {name}; just-in-time channels need "
                "an lnd of their own, see docs/operators/just-in-time.md"
            )
    if needs_chain and not wallet.synced:
        raise SellerAway(why="the purse's lnd is not synced with its chain")
    return wallet


async def is_stranger(
    channels: ChannelServices, purse: Purse, peer: str, *, order_id: str | None = None
) -> bool:
    """Return whether the node never paid for a channel, and has none with us.

    lnd may send what is for one of its channels over any other of them. What is the
    order's own does not count.
    """
    if await channels.database.reader.jit_orders.earned_from(peer):
        return False
    listed = await purse.forwarding.channels()
    return all(each.peer != peer or each.order_id == order_id for each in listed)


class RecentWallet:
    """The purse's wallet as it was a moment ago, for many who ask at once."""

    def __init__(
        self, channels: ChannelServices, purse: Purse, *, needs_chain: bool = True
    ) -> None:
        self._channels, self._purse = channels, purse
        self._needs_chain = needs_chain
        self._read: tuple[SellerWallet, float] | None = None
        self._reading = asyncio.Lock()

    async def get(self, *, fresh_s: float) -> SellerWallet:
        """Return the wallet, read again after so many seconds."""
        async with self._reading:
            if self._read is None or time.monotonic() - self._read[1] > fresh_s:
                wallet = await read(
                    self._channels, self._purse, needs_chain=self._needs_chain
                )
                self._read = wallet, time.monotonic()
            return self._read[0]

    def forget(self) -> None:
        """Have the wallet read again."""
        self._read = None
