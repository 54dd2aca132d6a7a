"""The market of a private chain: auctioneer, sellers and buyers.

    auctioneer                    ours, beside btcd
    treasury   + provider         buys channels for the platform's orders
    asker      + asker-pool       sells channels, of every lease there is
    seller                        opens direct channels, with coins of its own
    purse                         opens just-in-time channels, if one is asked for
    customer   + customer-pool    pays, registers tickets, gets the channels

The market starts after the chain, and nothing waits for it. Its daemons
keep running when this process ends.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from leyden.channels.direct.rules.openings import LSPS
from leyden.customer.claim.poold import ClaimPoold
from leyden.errors import LeydenError, SetupError
from leyden_workshop.devnet import (
    access,
    actions,
    auctioneer,
    purse,
    seller,
    stock,
)
from leyden_workshop.devnet.auctioneer import EVERY_S, Auctioneer
from leyden_workshop.devnet.following import wait_until_synced
from leyden_workshop.devnet.lnd import LndDaemon
from leyden_workshop.devnet.supervision import (
    LAST_WAIT_S,
    SupervisingKeeper,
    bring_all_up,
    keep_logs_small,
)

log = logging.getLogger(__name__)

_CHANNEL_SATS = 16_000_000
_LOOK_AGAIN_S = 1.0
_PURSE_LOOKS = 10  # one in so many looks is at the provider's account, too
_AFTER_TROUBLE_S = 5.0
_LNDS = ("asker", "customer", "seller", "purse")
# The seller says that it speaks LSPS, to its peers and to everybody.
_OPTIONS: Mapping[str, tuple[tuple[str, str | int], ...]] = {
    "seller": (("protocol.custom-init", LSPS), ("protocol.custom-nodeann", LSPS)),
    "purse": purse.OPTIONS,
}
_BUYERS = ("customer-pool",)


class Auction:
    """The auction of one home, with all its daemons."""

    def __init__(
        self,
        home: Path,
        *,
        programs: Mapping[str, Path],
        every_s: int = EVERY_S,
        last_wait_s: float = LAST_WAIT_S,
    ) -> None:
        network = access.load(home)
        if network.auctioneer is None:
            raise SetupError(f"the private chain in {home} has no auction")
        self._home = home
        self._access = network
        self._auctioneer = network.auctioneer
        folder = access.folder(home)
        self.keepers = {
            "auctioneer": SupervisingKeeper(
                Auctioneer(
                    program=programs["auctioneer"],
                    folder=folder / "auctioneer",
                    chain=network.chain,
                    access=network.auctioneer,
                    btcd=network.btcd,
                    buyers=[folder / name for name in _BUYERS],
                    every_s=every_s,
                ),
                last_wait_s=last_wait_s,
            )
        }
        self._lnds = [name for name in _LNDS if name in network.lnds]
        for name in self._lnds:
            self.keepers[name] = SupervisingKeeper(
                LndDaemon(
                    name=name,
                    program=programs["lnd"],
                    folder=folder / name,
                    chain=network.chain,
                    access=network.lnds[name],
                    btcd=network.btcd,
                    options=_OPTIONS.get(name, ()),
                ),
                last_wait_s=last_wait_s,
            )
        for name, pool in network.pools.items():
            self.keepers[name] = SupervisingKeeper(
                ClaimPoold(
                    name=name,
                    program=programs["poold"],
                    folder=folder / name,
                    chain=network.chain,
                    access=pool,
                    lnd=network.lnds[pool.lnd],
                    auctioneer=network.auctioneer.address,
                ),
                last_wait_s=last_wait_s,
            )

    async def start(self, say: Callable[[str], None] = log.info) -> None:
        """Start the daemons that are not running yet.

        1. The auctioneer and the lnds of asker, customer and seller.
        2. The poolds: each needs a synced lnd, and the auctioneer.
        3. Coins for the seller, the provider's account, and the customer's channels:
           to pay orders with, and nodes that bought a channel.
        4. Asks for every lease: with those the market is open.
        """
        for names in (("auctioneer",), self._lnds, self._access.pools):
            await bring_all_up([self.keepers[name] for name in names], say)
            for name in self._access.lnds.keys() & names:
                await wait_until_synced(self._access, name)
        if await seller.ensure(self._home):
            say(f"the seller has coins of {seller.COIN_SATS:,} sat each")
        if "purse" in self._lnds:
            await purse.bake(self._access.lnds["purse"], self._home)
            await stock.ensure_coins(
                self._home, "purse", purse.SATS, least=purse.SATS // 2
            )
        if await stock.ensure_provider(self._home):
            say(f"the provider's Pool account has {stock.PROVIDER_SATS:,} sat")
        for name in await stock.ensure_channels(
            self._home, sats=_CHANNEL_SATS, least=_CHANNEL_SATS // 8
        ):
            say(f"the customer can pay the {name} up to {_CHANNEL_SATS:,} sat")
        status_ = await auctioneer.status(self._auctioneer)
        if added := await stock.ensure_asks(self._home, status_):
            say(f"the asker has {added} asks in the auction")

    async def supervise(self) -> None:
        """Supervise the daemons until cancelled; they keep running after that."""
        async with asyncio.TaskGroup() as group:
            for keeper in self.keepers.values():
                group.create_task(keeper.keep())
            group.create_task(self._keep_trading())
            group.create_task(keep_logs_small(list(self.keepers.values())))

    async def _keep_trading(self) -> None:
        """Mine blocks to confirm each batch; renew spent accounts and asks."""
        for look in itertools.count():
            try:
                status_ = await auctioneer.status(self._auctioneer)
                waiting = any(not batch["confirmed"] for batch in status_["batches"])
                # A trader that sees the block before it hears the batch's end stops.
                if waiting and not status_["running"]:
                    await actions.mine(self._home, stock.DEEP_ENOUGH)
                await stock.ensure_asks(self._home, status_)
                if look % _PURSE_LOOKS == 0 and await stock.ensure_provider(self._home):
                    log.info("the provider has a different account")
                await asyncio.sleep(_LOOK_AGAIN_S)
            except LeydenError as error:
                log.info("the auction is incomplete", extra={"reason": error.message})
                await asyncio.sleep(_AFTER_TROUBLE_S)
