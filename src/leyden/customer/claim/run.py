"""One run of a claim, from its macaroon to the channel.

1. The order's folder is locked. The macaroon of a run that was killed is revoked, and
   another is baked: its root key is written down first. It is in a file in memory.
2. poold runs beside the node. Killed, we leave it without the bridge to its lnd, and
   it ends; the next run stops it if it has not.
3. The ticket is registered, unless this folder's poold knows it already.
4. poold is kept running until the order is filled and the node has the channel.
5. However that ended: poold is stopped, then its macaroon revoked.
"""

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from leyden.base.cli import exit_codes
from leyden.base.files import write_private
from leyden.base.processes.daemons import Keeper
from leyden.client import ApiError
from leyden.customer.claim import poold, recipient
from leyden.customer.claim.owner import NodeOwner
from leyden.customer.claim.poold import Beside, keeper_beside
from leyden.customer.claim.recipient import NodeMarket
from leyden.customer.claim.rest import Pool
from leyden.customer.claim.state import ClaimFolder, TicketClaim
from leyden.customer.progress import Progress
from leyden.customer.session import ApiSession
from leyden.errors import Away, Conflict, SetupError
from leyden.schemas.flow import OrderAnswer
from leyden.schemas.nodes import NodeItem
from leyden.values import Struct

_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder in memory, on every Linux
_LOOK_EVERY_S: Final = 2.0
_STARTS_AND_ENDS: Final = timedelta(minutes=10)
_SAID: Final = {
    "creating": "creating the ticket",
    "created": "the ticket is registered; waiting for the platform to see it",
    "submitted": "waiting for a seller in the auction; keep this running",
    "filled": "a seller was found; waiting for the channel to appear",
}
_SERVER_ERROR: Final = 500
_OVER: Final = frozenset({"expired", "failed", "cancelled"})


class Claiming(Struct, frozen=True, kw_only=True):
    """An order, its node, and all that is needed to bring them together."""

    session: ApiSession
    order_id: str
    node: NodeItem
    market: NodeMarket
    owner: NodeOwner
    folder: ClaimFolder
    program: Path  # poold
    progress: Progress
    within_s: int

    async def run(self) -> str:
        """Return the channel point, once the node has the channel."""
        _end_on_signals()
        async with self.folder.locked():
            claim = self.folder.load() or TicketClaim(node_id=self.node.node_id)
            over = False
            try:
                point = await self._run(claim)
                over = True
            except exit_codes.Refusal:  # the order has ended without a channel
                over = True
                raise
            except TimeoutError:
                raise exit_codes.TookTooLong(
                    f"no channel after {self.within_s:,} s"
                ) from None
            finally:
                revoked = await asyncio.to_thread(self.owner.revoked, self.folder)
                if revoked and over:
                    self.folder.remove()
            return point

    async def _run(self, claim: TicketClaim) -> str:
        self.progress(f"baking a macaroon for poold at {self.node.node_name!r}")
        lasts = timedelta(seconds=self.within_s) + _STARTS_AND_ENDS
        macaroon = await asyncio.to_thread(
            self.owner.bake, self.folder, claim, lasts=lasts
        )
        folder = self.folder.folder
        with _in_memory() as memory:
            opens = memory / "poold.macaroon"
            write_private(opens, bytes.fromhex(macaroon), lasting=False)
            wanted = Beside(
                node=await asyncio.to_thread(
                    recipient.reached, self.session, self.node, folder
                ),
                macaroon=opens,
                folder=folder,
                program=self.program,
                chain=self.market.chain,
                auctioneer=self.market.auctioneer,
            )
            async with keeper_beside(wanted) as (keeper, reached):
                self.progress("starting poold")
                await keeper.ensure()
                async with asyncio.timeout(self.within_s):
                    await self._register(reached)
                    return await self._wait(keeper)

    async def _register(self, reached: Pool) -> None:
        """Register the ticket, unless an earlier run did."""
        if await poold.tickets(reached):
            return
        while (order := await self._status()).status == "creating":
            self.progress(_SAID["creating"])
            await asyncio.sleep(_LOOK_EVERY_S)
        if order.status != "created":
            self._refuse(order)
            raise Conflict(
                f"the order is {order.status}: its ticket was registered elsewhere"
            )
        self.progress("registering the ticket")
        await poold.register(reached, order.sidecar_ticket)

    async def _wait(self, keeper: Keeper) -> str:
        while True:
            try:
                order = await self._status()
                self._refuse(order)
                self.progress(_SAID[order.status])
                if order.status == "filled" and await self._has(order):
                    return str(order.channel_point)
                await keeper.ensure()
            except (ApiError, Away, SetupError) as error:
                if isinstance(error, ApiError) and not _later(error):
                    raise
                self.progress(f"{error.message}; retrying")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _status(self) -> OrderAnswer:
        return await asyncio.to_thread(self.session.client.flow.status, self.order_id)

    def _refuse(self, order: OrderAnswer) -> None:
        if order.status in _OVER:
            raise exit_codes.Refusal(
                f"the order is {order.status} and gets no channel: leyden channels "
                f"show {self.order_id}",
                status=Conflict.status,
            )

    async def _has(self, order: OrderAnswer) -> bool:
        """Return whether the node has the order's channel, pending or open."""
        if order.channel_point is msgspec.UNSET:
            return False
        points = await asyncio.to_thread(self.owner.channel_points)
        return order.channel_point in points


def _later(error: ApiError) -> bool:
    """Return whether the platform may answer another time."""
    return error.status in {0, 429} or error.status >= _SERVER_ERROR


def _end_on_signals() -> None:
    """End as on Ctrl-C when a terminal is closed or the machine shuts down."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        for each in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, task.cancel)


@contextlib.contextmanager
def _in_memory() -> Iterator[Path]:
    memory = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="leyden-claim-", dir=memory) as name:
        yield Path(name)
