"""A private chain with everybody who is on it: started, found again, kept, stopped.

The daemons live on when we end, and are found again by the claims in their folders.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from leyden import processes
from leyden.devnet import access, hands, treasury
from leyden.devnet.access import Access
from leyden.devnet.btcd import Btcd
from leyden.devnet.chain import connected
from leyden.devnet.daemon import Daemon, Keeper, claim
from leyden.devnet.journal import Journal
from leyden.devnet.lnd import Lnd, access_to
from leyden.devnet.mining_key import MiningKey
from leyden.devnet.wallet import opened
from leyden.errors import Away, LeydenError, SetupError

log = structlog.get_logger()

# lnd takes a chain whose newest block is two hours old for one it has not caught up
# with; ten minutes is what the real one takes.
FRESH_S = 600.0
_LOOK_AT_LOGS_S = 60.0
_AGAIN_S = 1.0
_FOLLOWS_WITHIN_S = 120.0
_LOOK_AGAIN_S = 0.1
_GRACE_S = 60.0
# Several coins, so that one payment does not lock all of the treasury's money.
_TREASURY_COINS = 5
_DEEP_ENOUGH = 6


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Where the daemons listen, all on 127.0.0.1."""

    btcd: int = 18556
    treasury_peer: int = 9735
    treasury_grpc: int = 10010
    treasury_rest: int = 8081


class Network:
    """The private chain of one home."""

    def __init__(
        self,
        home: Path,
        *,
        programs: Mapping[str, Path],
        ports: Ports,
        chain: str = "simnet",
        treasury_sats: int = 1_000_000_000,
        fresh_s: float = FRESH_S,
    ) -> None:
        self._home = home
        self._treasury_sats = treasury_sats
        self._fresh_s = fresh_s
        folder = access.folder(home)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._key = MiningKey.kept_in(folder / "mining.key")
        self.access = _access(home, chain, ports)
        access.save(home, self.access)
        self._journal = Journal(hands.journal(home))
        btcd = Btcd(
            program=programs["btcd"],
            folder=folder / "btcd",
            chain=chain,
            access=self.access.btcd,
            mining_address=self._key.address(chain),
            journal=self._journal,
        )
        lnds = [
            Lnd(
                name=name,
                program=programs["lnd"],
                folder=folder / name,
                chain=chain,
                access=reached,
                btcd=self.access.btcd,
            )
            for name, reached in self.access.lnds.items()
        ]
        daemons: list[Daemon] = [btcd, *lnds]
        # Each needs those before it.
        self._keepers = [Keeper(daemon) for daemon in daemons]

    async def start(self, say: Callable[[str], None] = log.info) -> None:
        """Bring everything up, and what is up already not again.

        1. btcd, its blocks whole, at least 450 of them.
        2. The lnds, one after the other.
        3. A fresh block, if the newest is old: lnd waits for one.
        4. Coins for the treasury, if it has none.
        5. A macaroon for the platform, which may take payments and nothing else.
        """
        for keeper in self._keepers:
            began = time.monotonic()
            found = keeper.running()
            now = await keeper.ensure()
            how = "runs" if now == found else "is up"
            say(f"{keeper.daemon.name} {how} ({time.monotonic() - began:.1f} s)")
        await self._freshen()
        for name in self.access.lnds:
            await self._followed(name)
        if await self._fill_treasury():
            say(f"the treasury has {self._treasury_sats} sat")
        await treasury.bake(self.access.lnds["treasury"], self._home)

    async def supervise(self) -> None:
        """Keep it all running until cancelled; the daemons go on after that."""
        async with asyncio.TaskGroup() as group:
            for keeper in self._keepers:
                group.create_task(keeper.keep())
            group.create_task(self._keep_journal())
            group.create_task(self._keep_fresh())
            group.create_task(self._keep_logs_small())

    async def stop(self) -> None:
        """End every daemon gently, the last one first."""
        await stop(self._home)

    async def _freshen(self) -> float:
        """Mine a block if the newest is old; tell in how many seconds to look again."""
        async with connected(self.access.btcd) as chain:
            best = await chain.call("getbestblockhash")
            header = await chain.call("getblockheader", best)
            age = time.time() - header["time"]
            if age < self._fresh_s:
                return float(self._fresh_s - age)
            await chain.mine(1)
            await self._journal.catch_up(chain)
        return self._fresh_s

    async def _followed(self, name: str) -> None:
        """Wait until an lnd has seen the newest block."""
        deadline = time.monotonic() + _FOLLOWS_WITHIN_S
        async with (
            connected(self.access.btcd) as chain,
            opened(self.access.lnds[name]) as wallet,
        ):
            while await wallet.height() != (await chain.height(), True):
                if time.monotonic() > deadline:
                    raise SetupError(f"{name} does not follow the chain; see its log")
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def _fill_treasury(self) -> bool:
        """Give the treasury its coins if it has next to none; tell whether."""
        async with opened(self.access.lnds["treasury"]) as wallet:
            if await wallet.balance() >= self._treasury_sats // 10:
                return False
            for _ in range(_TREASURY_COINS):
                await hands.fund(
                    self._home,
                    await wallet.address(),
                    self._treasury_sats // _TREASURY_COINS,
                    confirmations=0,
                )
        await hands.mine(self._home, _DEEP_ENOUGH)
        await self._followed("treasury")
        return True

    async def _keep_journal(self) -> None:
        while True:
            try:
                async with connected(self.access.btcd) as chain:
                    async for _ in chain.blocks():
                        await self._journal.catch_up(chain)
            except LeydenError:
                await asyncio.sleep(_AGAIN_S)

    async def _keep_fresh(self) -> None:
        while True:
            try:
                wait = await self._freshen()
            except Away:
                wait = _AGAIN_S
            await asyncio.sleep(wait)

    async def _keep_logs_small(self) -> None:
        while True:
            for keeper in self._keepers:
                keeper.cap_log()
            await asyncio.sleep(_LOOK_AT_LOGS_S)


async def stop(home: Path) -> bool:
    """End every daemon of a home gently, the last one first; tell whether any ran."""
    try:
        names = access.load(home).daemons
    except SetupError:
        return False
    found = False
    for name in reversed(names):
        running = processes.holder(claim(access.folder(home) / name))
        if running is not None:
            found = True
            await processes.stop(running, grace_s=_GRACE_S)
    return found


def _access(home: Path, chain: str, ports: Ports) -> Access:
    folder = access.folder(home)
    try:
        password = access.load(home).btcd.password
    except SetupError:
        password = secrets.token_urlsafe(32)
    return Access(
        chain=chain,
        daemons=["btcd", "treasury"],
        btcd=access.Btcd(
            address=f"127.0.0.1:{ports.btcd}",
            user="leyden",
            password=password,
            certificate=str(folder / "btcd" / "rpc.cert"),
        ),
        lnds={
            "treasury": access_to(
                folder / "treasury",
                chain,
                rest=ports.treasury_rest,
                grpc=ports.treasury_grpc,
                peer=ports.treasury_peer,
            )
        },
    )
