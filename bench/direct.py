"""B22: from a payment to the broadcast of its channel, against the bare calls.

A real lnd sells to another one on a private chain. The bare calls are what any program
has to ask it: whether the channel is there, whether the peer is connected, the opening,
and whether its transaction is published. Ours books the payment, guards the limits and
moves the order on disk, too. Time ends when the seller's lnd has broadcast the funding
transaction; then blocks are mined, untimed.

    ./leyden bench direct [--rounds 10]
"""

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import Figures, Report, turns

from leyden import logs
from leyden.domain.accounts import Organization
from leyden.domain.destinations import Destination
from leyden.domain.openings import (
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
)
from leyden.domain.orders import Status
from leyden.domain.pricing import Channel
from leyden.domain.times import utc_now
from leyden.domain.units import Sats
from leyden.loops import shop_queues
from leyden.market.simulated import SimulatedMarket
from leyden.payments.fake import FakePayments
from leyden.sellers.base import WantedOpening
from leyden.sellers.lnd import LndSeller
from leyden.services.channels import orders
from leyden.services.channels.payment_stream import listen
from leyden.services.channels.shop import Shop
from leyden.storage.database import open_database
from leyden.storage.schema import migrate
from leyden.storage.secrets import Keyring, Sealer
from leyden.tasks.worker import Worker
from tests.contracts.sellers import LndWorld, until, wanted
from tests.contracts.treasuries import opened

BARE, OURS, AGAIN = "bare", "ours", "bare again"
_TEAM = "harbour"
_COIN = 1_000_000
_CAPACITY = 200_000
_GOAL = 1.5


class Watched(LndSeller):
    """A seller that notes when an opening of it was broadcast."""

    broadcast: asyncio.Future[float]

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        """Open a channel, and record the time."""
        answer = await super().open(wanted)
        if isinstance(answer, OpeningRefused):
            self.broadcast.set_exception(RuntimeError(answer.why))
        else:
            self.broadcast.set_result(time.perf_counter())
        return answer


async def bare(world: LndWorld, coin: Coin, order_id: str) -> float:
    """Make the necessary calls; return the seconds."""
    began = time.perf_counter()
    found = await world.seller.find(order_id, [coin])
    assert found.state is OpeningState.NONE
    assert await world.seller.connect(world.peer, [])
    answer = await world.seller.open(wanted(world, order_id, coin, capacity=_CAPACITY))
    assert isinstance(answer, Opening), answer
    return time.perf_counter() - began


async def ours(shop: Shop, world: LndWorld, order_id: str) -> float:
    """Pay an order; return the seconds until its channel is broadcast."""
    assert isinstance(shop.seller, Watched)
    assert isinstance(shop.payments, FakePayments)
    shop.seller.broadcast = asyncio.get_running_loop().create_future()
    channel = Channel(
        capacity=Sats(_CAPACITY), destination=Destination(pubkey=world.peer)
    )
    order = await orders.create(
        shop, _TEAM, order_id, channel, actor="bench", now=utc_now()
    )
    request = order.payment_request
    assert request is not None
    began = time.perf_counter()
    shop.payments.pay(request)
    ended = await shop.seller.broadcast
    await until(lambda: _is_over(shop))  # settled and filled: untimed
    return ended - began


async def _is_over(shop: Shop) -> bool:
    return not await shop.database.reader.orders.in_status(Status.SUBMITTED)


async def measured(world: LndWorld, shop: Shop, rounds: int) -> Figures:
    """Run the contenders in turns."""
    figures, numbers = Figures(), itertools.count()
    for name in turns([BARE, OURS, AGAIN], rounds=rounds):
        coin = await world.fill(_COIN + next(numbers))
        await world.seller.connect(world.peer, [world.at])
        order_id = f"5b0c3d1e-7a44-4c39-9a0e-{next(numbers):012d}FO"
        if name == OURS:
            figures.add(name, await ours(shop, world, order_id))
        else:
            figures.add(name, await bare(world, coin, order_id))
        await world.mine()
    return figures


async def run(folder: Path, world: LndWorld, rounds: int) -> Figures:
    """Open a shop beside the seller, and measure."""
    url = f"sqlite:///{folder}/leyden.db"
    migrate(url)
    await world.open()
    shop = Shop(
        database=await open_database(url),
        sealer=Sealer(Keyring.new()),
        payments=FakePayments(),
        market=SimulatedMarket(),
        seller=Watched(world.as_seller()),
        clock=utc_now,
    )
    async with shop.database.transaction() as tx:
        await tx.accounts.add(Organization(id=_TEAM, name=_TEAM, created=utc_now()))
    worker = Worker(shop.database, shop_queues(shop), clock=utc_now)
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(shop))]
    try:
        return await measured(world, shop, rounds)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if shop.seller is not None:
            await shop.seller.close()
        await shop.database.close()
        await world.close()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    logs.configure(form="text", level="error")
    with tempfile.TemporaryDirectory() as name, opened(Path(name) / "home") as harbour:
        figures = asyncio.run(run(Path(name), LndWorld(harbour), rounds))
    report = Report("B22 from a payment to the broadcast of its channel")
    report.null(figures.ratio(AGAIN, BARE))
    report.at_most(_GOAL, figures.ratio(OURS, BARE))
    for name in (BARE, OURS):
        report.note(f"{name}: {figures.median(name) * 1_000:.0f} ms (median)")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
