"""A private chain with its whole market, all of it real, and what one does there.

auction = await ManualAuction.opened(folder)
ticket = await auction.offer(1_000_000)
await auction.register(ticket)
await auction.has_channel(1_000_000)
await auction.close()
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from leyden import values
from leyden.base import processes
from leyden.base.processes.daemons import claim
from leyden.channels.tickets.ticket_text import ref_of
from leyden.errors import LeydenError
from leyden_workshop.devnet import (
    access,
    network,
    overview,
    tickets,
    trader,
    trading,
    wallet,
)
from leyden_workshop.devnet.auction import Auction
from leyden_workshop.devnet.auctioneer import EVERY_S
from leyden_workshop.devnet.layout import AuctionPorts
from leyden_workshop.devnet.network import PrivateNetwork
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.ports import free_ports
from tests.programs import built
from tests.workshop.devnet.conftest import some_ports

RATE = 2480
LEASE = 2016
_WITHIN_S = 100
# Tests kill daemons again and again, and none of them for being broken.
_LAST_WAIT_S = 1.0


@dataclass
class ManualAuction:
    """The market of one home, supervised as `leyden up` does it."""

    home: Path
    said: list[str]
    auctioneer: SupervisingKeeper = field(init=False)
    _keeping: list["asyncio.Task[None]"] = field(default_factory=list)

    @classmethod
    async def opened(cls, home: Path, *, every_s: int = EVERY_S) -> Self:
        """Bring it up with free ports; skips where a program is not built."""
        programs = built("btcd", "lnd", "poold", "auctioneer")
        names = [field.name for field in values.fields(AuctionPorts)]
        traders = AuctionPorts(**dict(zip(names, free_ports(len(names)), strict=True)))
        ports = values.replace(some_ports(), auction=traders)
        chain = PrivateNetwork(
            home, programs=programs, ports=ports, last_wait_s=_LAST_WAIT_S
        )
        opened_auction = cls(home, [])
        try:
            await chain.start(opened_auction.said.append)
            opened_auction._keeping.append(asyncio.create_task(chain.supervise()))
            auction = Auction(
                home, programs=programs, every_s=every_s, last_wait_s=_LAST_WAIT_S
            )
            opened_auction.auctioneer = auction.keepers["auctioneer"]
            await auction.start(opened_auction.said.append)
            opened_auction._keeping.append(asyncio.create_task(auction.supervise()))
        except BaseException:
            await opened_auction.close()
            raise
        return opened_auction

    async def close(self) -> None:
        """End the supervision, and every daemon."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        await network.stop(self.home)

    @property
    def access(self) -> access.ChainAccess:
        return access.load(self.home)

    async def offer(self, sats: int) -> str:
        """Let the provider make a ticket."""
        async with trader.connect(self.access.pools["provider"]) as provider:
            account = next(each for each in await provider.accounts() if each.alive)
            return await provider.offer(account, sats, rate_fixed=RATE, blocks=LEASE)

    async def register(self, ticket: str) -> None:
        await trading.register(self.home, ticket)

    async def channels(self, sats: int) -> list[dict[str, Any]]:
        """Return the customer's active channels of this size."""
        async with wallet.opened(self.access.lnds["customer"]) as customer:
            return [
                each
                for each in await customer.channels()
                if each["capacity"] == str(sats) and each["active"]
            ]

    async def has_bid(self, sats: int) -> None:
        """Wait until the auctioneer has the provider's bid for so much."""

        async def is_reached() -> bool:
            bids = (await overview.status(self.home))["bids"]
            return any(bid["sats"] == sats for bid in bids)

        await self.until(f"a bid for {sats} sat is there", is_reached)

    async def has_channel(self, sats: int) -> None:
        """Let the auction match until the customer has an active channel so large."""

        async def is_reached() -> bool:
            if await self.channels(sats):
                return True
            await trading.tick(self.home)
            return False

        await self.until(f"a channel of {sats} sat is active", is_reached)

    async def is_open(self) -> None:
        """Wait until all are well."""

        async def holds() -> bool:
            return await overview.is_open(self.home)

        await self.until("the market is open", holds)

    async def sold(self, sats: int) -> list[dict[str, Any]]:
        """Return the provider's leases of this size."""
        async with trader.connect(self.access.pools["provider"]) as provider:
            return [
                each
                for each in await provider.leases()
                if each["channel_amt_sat"] == str(sats)
            ]

    async def has_ticket(self, ticket: str, pool: str, state: str) -> None:
        """Wait until one of the poolds has the ticket in this state."""

        async def is_reached() -> bool:
            return any(
                (each["pool"], each["id"], each["state"])
                == (pool, ref_of(ticket), state)
                for each in await tickets.list_tickets(self.access)
            )

        await self.until(f"the ticket is {state} at {pool}", is_reached)

    async def has_order(self, pool: str, sats: int) -> None:
        """Wait until one of the poolds has stored a bid for so much."""

        async def is_reached() -> bool:
            async with trader.connect(self.access.pools[pool]) as stored:
                bids = (await stored.orders())["bids"]
            return any(each["details"]["amt"] == str(sats) for each in bids)

        await self.until(f"{pool} has a bid for {sats} sat", is_reached)

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """Let a daemon answer nobody for a while; it may be killed meanwhile."""
        found = self._holder(name)
        assert found is not None, f"{name} does not run"
        processes.signal(found, signal.SIGSTOP)
        try:
            yield
        finally:
            processes.signal(found, signal.SIGCONT)

    async def kill(self, *names: str) -> None:
        """End daemons as a power cut would, all at once.

        A poold ends itself when its lnd does. Until then it answers as if it were well,
        and the market looks open: who went on at that moment told something to a poold
        that was about to end.
        """
        killed = []
        pools = self.access.pools.items()
        beside = [name for name, at in pools if at.lnd in names and name not in names]
        followers = [self._holder(name) for name in beside]
        for name in names:
            found = self._holder(name)
            assert found is not None, f"{name} does not run"
            killed.append(found)
        for found in killed:
            processes.signal(found, signal.SIGKILL)
        async with asyncio.timeout(_WITHIN_S):
            for found in (*killed, *filter(None, followers)):
                await processes.exited(found)

    def _holder(self, name: str) -> processes.ProcessIdentity | None:
        return processes.holder(claim(access.folder(self.home) / name))

    async def until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait for something; those who are away for a moment may be."""
        away: LeydenError | None = None
        try:
            async with asyncio.timeout(_WITHIN_S):
                while True:
                    try:
                        if await holds():
                            return
                        away = None
                    except LeydenError as error:
                        away = error
                    await asyncio.sleep(0.1)
        except TimeoutError:
            answer = await overview.status(self.home)
            raise AssertionError(f"never: {what} ({away})\n{answer}") from None
