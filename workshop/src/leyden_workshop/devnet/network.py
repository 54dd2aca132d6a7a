"""A private chain and its treasury: starting, supervising, stopping.

The daemons keep running after this process ends, and are found again by the
claims in their folders. auction.py adds the daemons of the auction.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from leyden.base import processes
from leyden.base.processes.daemons import Daemon, claim
from leyden.errors import LeydenError
from leyden_workshop.devnet import access, actions, auctioneer, treasury
from leyden_workshop.devnet.btcd import Btcd
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.following import wait_until_synced
from leyden_workshop.devnet.journal import Journal
from leyden_workshop.devnet.layout import NAMES, DaemonPorts, access_for
from leyden_workshop.devnet.lnd import LndDaemon
from leyden_workshop.devnet.mining_key import MiningKey
from leyden_workshop.devnet.supervision import (
    LAST_WAIT_S,
    SupervisingKeeper,
    bring_up,
    keep_logs_small,
)
from leyden_workshop.devnet.wallet import opened

log = logging.getLogger(__name__)

# lnd takes a chain whose newest block is two hours old for one it has not caught up
# with; ten minutes is what the real one takes.
FRESH_S = 600.0
_AGAIN_S = 1.0
_GRACE_S = 60.0
# Several coins, so that one payment does not lock all of the treasury's money.
_TREASURY_COINS = 5
_DEEP_ENOUGH = 6


class PrivateNetwork:
    """The private chain of one home."""

    def __init__(
        self,
        home: Path,
        *,
        programs: Mapping[str, Path],
        ports: DaemonPorts,
        chain: str = "simnet",
        cluster: access.ClusterAccess | None = None,
        treasury_sats: int = 1_000_000_000,
        fresh_s: float = FRESH_S,
        block_s: float = 0.0,
        last_wait_s: float = LAST_WAIT_S,
    ) -> None:
        self._home = home
        self._treasury_sats = treasury_sats
        self._fresh_s = fresh_s
        self._block_s = block_s
        folder = access.folder(home)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._key = MiningKey.load_or_create(folder / "mining.key")
        self.access = access_for(home, chain, ports, cluster=cluster)
        access.save(home, self.access)
        self._journal = Journal(actions.journal(home))
        btcd = Btcd(
            program=programs["btcd"],
            folder=folder / "btcd",
            chain=chain,
            access=self.access.btcd,
            mining_address=self._key.address(chain),
            journal=self._journal,
        )
        lnd = LndDaemon(
            name="treasury",
            program=programs["lnd"],
            folder=folder / "treasury",
            chain=chain,
            access=self.access.lnds["treasury"],
            btcd=self.access.btcd,
        )
        daemons: list[Daemon] = [btcd, lnd]
        # Each needs those before it.
        self._keepers = [
            SupervisingKeeper(daemon, last_wait_s=last_wait_s) for daemon in daemons
        ]

    async def start(self, say: Callable[[str], None] = log.info) -> None:
        """Start everything that is not running yet.

        1. btcd, with complete blocks, at least 450 of them.
        2. A new block, if the newest is old: lnd is not ready before there is one.
        3. The treasury's lnd.
        4. Coins for the treasury, if it has none.
        5. A macaroon for the platform that may only take payments.
        """
        btcd, lnd = self._keepers
        await bring_up(btcd, say)
        await self._mine_if_stale()
        await bring_up(lnd, say)
        await wait_until_synced(self.access, "treasury")
        if await self._fill_treasury():
            say(f"the treasury has {self._treasury_sats:,} sat")
        await treasury.bake(self.access.lnds["treasury"], self._home)

    async def supervise(self) -> None:
        """Supervise the daemons until cancelled; they keep running afterwards."""
        async with asyncio.TaskGroup() as group:
            for keeper in self._keepers:
                group.create_task(keeper.keep())
            group.create_task(self._keep_journal())
            group.create_task(self._keep_fresh())
            if self._block_s:
                group.create_task(self._keep_confirming())
            group.create_task(keep_logs_small(self._keepers))

    async def stop(self) -> None:
        """Stop every daemon gracefully, in reverse order of starting."""
        await stop(self._home)

    async def _mine_if_stale(self) -> float:
        """Mine a block if the newest is old; return the seconds to wait."""
        async with connected(self.access.btcd) as chain:
            best = await chain.call("getbestblockhash")
            header = await chain.call("getblockheader", best)
            age = time.time() - header["time"]
            if age < self._fresh_s:
                return float(self._fresh_s - age)
            await chain.mine(1)
            await self._journal.catch_up(chain)
        return self._fresh_s

    async def _fill_treasury(self) -> bool:
        """Fund the treasury if it has next to nothing; return whether it did."""
        async with opened(self.access.lnds["treasury"]) as wallet:
            if await wallet.balance() >= self._treasury_sats // 10:
                return False
            for _ in range(_TREASURY_COINS):
                await actions.fund(
                    self._home,
                    await wallet.address(),
                    self._treasury_sats // _TREASURY_COINS,
                    confirmations=0,
                )
        await actions.mine(self._home, _DEEP_ENOUGH)
        await wait_until_synced(self.access, "treasury")
        return True

    async def _keep_journal(self) -> None:
        while True:
            try:
                async with connected(self.access.btcd) as chain:
                    async for _ in chain.blocks():
                        await self._journal.catch_up(chain)
            except (LeydenError, OSError) as error:
                log.info("blocks are not journaled", extra={"reason": str(error)})
                await asyncio.sleep(_AGAIN_S)

    async def _keep_fresh(self) -> None:
        while True:
            try:
                wait = await self._mine_if_stale()
            except (LeydenError, OSError) as error:
                log.info("no block is mined", extra={"reason": str(error)})
                wait = _AGAIN_S
            await asyncio.sleep(wait)

    async def _keep_confirming(self) -> None:
        """Mine a block now and then while a transaction waits for one, and six in all.

        Not while the auction makes a batch: a trader that sees the block before it
        hears the batch's end stops.
        """
        left = _DEEP_ENOUGH  # something may have waited since before the start
        while True:
            await asyncio.sleep(self._block_s)
            try:
                async with connected(self.access.btcd) as chain:
                    if await chain.call("getrawmempool"):
                        left = _DEEP_ENOUGH
                    if not left or await self._makes_batch():
                        continue
                    left -= 1
                    await chain.mine(1)
                    await self._journal.catch_up(chain)
            except (LeydenError, OSError) as error:
                log.info("no block is mined", extra={"reason": str(error)})

    async def _makes_batch(self) -> bool:
        if self.access.auctioneer is None:
            return False
        with suppress(LeydenError):  # it starts later, and may be down
            return bool((await auctioneer.status(self.access.auctioneer))["running"])
        return False


async def stop(home: Path, *, besides: Collection[str] = ()) -> bool:
    """Stop every daemon of a home gracefully; return whether any ran.

    Daemons are stopped in reverse order of starting.
    """
    found = False
    for name in reversed(NAMES):
        running = processes.holder(claim(access.folder(home) / name))
        if running is not None and name not in besides:
            found = True
            await processes.stop(running, grace_s=_GRACE_S)
    return found
