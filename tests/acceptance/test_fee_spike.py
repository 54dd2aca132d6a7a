"""A channel is published while fees are low, and then they rise.

The seller's lnd asks a server of the test for its estimates; the seller, its peer, the
chain and the shop are real. Blocks take nothing until the bumps are over.
"""

import asyncio
import json
import tempfile
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from leyden.domain import ledger
from leyden.domain.accounts import Organization
from leyden.domain.fundings import Funding, FundingRules, FundingState, Obstacle
from leyden.domain.orders import Order, Status
from leyden.domain.pricing import Channel
from leyden.domain.times import utc_now
from leyden.domain.units import Sats
from leyden.loops import STANDING_WITH_A_SELLER
from leyden.services.channels import orders
from leyden.services.channels.shop import EVERYTHING, Shop
from leyden.services.operators.verify import verify
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.values import replace
from tests.acceptance.test_rails import TEAM, Rails
from tests.contracts import sellers, treasuries
from tests.contracts.treasuries import Harbour, LndWorld
from tests.reaper import in_memory
from tests.services.shop_harness import request_of

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # a chain of its own, whose seller asks for its fees
    pytest.mark.timeout(300),
]
_RULES = FundingRules(bump_after=2, bump_again=2, highest_sat_per_vb=40)
_COIN = 1_000_000
_WITHIN_S = 60


class Fees(ThreadingHTTPServer):
    """Estimates as lnd asks for them at `fee.url`."""

    sat_per_vb = 2

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Estimates)


class _Estimates(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Fees)
        rate = self.server.sat_per_vb * 1_000
        told = {"fee_by_block_target": {"2": rate, "6": rate, "144": rate}}
        body = json.dumps({**told, "min_relay_feerate": 1_000}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def fees() -> Iterator[Fees]:
    with Fees() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.fixture(scope="module")
def asking(fees: Fees) -> Iterator[Harbour]:
    """A chain whose customer, the seller here, asks that server."""
    options: tuple[tuple[str, str | int], ...] = (
        ("fee.url", f"http://127.0.0.1:{fees.server_port}/"),
        ("fee.min-update-timeout", "1s"),
        ("fee.max-update-timeout", "2s"),
    )
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        treasuries.opened(Path(folder), options=options) as made,
    ):
        yield made


@dataclass
class Selling(Rails):
    """The shop, with a seller."""

    selling: sellers.LndWorld = field(kw_only=True)

    @property
    def shop(self) -> Shop:
        shop = super().shop
        rules = replace(
            shop.rules, fundings=_RULES, channels_every=timedelta(seconds=1)
        )
        return replace(shop, seller=self.selling.seller, rules=rules)

    async def bought(self) -> Order:
        """Sell a channel to the treasury's node, who pays over Lightning."""
        order = await orders.create(
            self.shop,
            TEAM,
            f"{uuid.uuid4()}FO",
            Channel(capacity=Sats(300_000), node_key=self.selling.peer),
            actor="test",
            now=self.now(),
        )
        self.world.begin_to_pay(request_of(order))
        return await self.until(order, Status.FILLED)

    async def funding(self) -> Funding:
        (found,) = await self.database.reader.fundings.watched()
        return found

    async def becomes(self, holds: Callable[[Funding], bool]) -> Funding:
        found = await self.funding()
        try:
            async with asyncio.timeout(_WITHIN_S):
                while not holds(found):
                    await asyncio.sleep(0.1)
                    found = await self.funding()
        except TimeoutError:
            raise AssertionError(str(found)) from None
        return found

    async def estimates(self, sat_per_vb: int) -> None:
        """Wait until the seller's lnd knows of that rate."""
        async with asyncio.timeout(_WITHIN_S):
            while (
                abs((await self.selling.seller.wallet()).fee_sat_per_vb - sat_per_vb)
                > 1
            ):
                await asyncio.sleep(0.2)

    async def rate(self, funding: Funding) -> float:
        """Return what funding and child pay together, for each vbyte."""
        coins = set(funding.coins)
        told = await self.selling.seller.spending(coins, since=0)
        (parent,) = [each for each in told if each.txid == funding.txid]
        children = [
            each
            for each in told
            if any(spent.txid == funding.txid for spent in each.spends)
        ]
        paying = [parent, *sorted(children, key=lambda each: each.fee)[-1:]]
        return sum(each.fee for each in paying) / sum(each.vbytes for each in paying)


@pytest.fixture
async def selling(
    asking: Harbour, sqlite_db: Database, sealer: Sealer
) -> AsyncIterator[Selling]:
    seller = await sellers.LndWorld(asking).open()
    found = Selling(LndWorld(asking), sqlite_db, sealer, selling=seller)
    await seller.fill(_COIN)
    async with sqlite_db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=utc_now()))
        for kind in STANDING_WITH_A_SELLER:
            await tx.tasks.put(kind, EVERYTHING, due=found.now())
    await found.open()
    yield found
    await found.close()
    await found.world.close()
    await seller.close()


def is_bumped(funding: Funding, *, times: int) -> bool:
    return funding.bumps == times


async def test_a_spike_is_followed_up_to_the_highest_rate_and_the_books_stand(
    selling: Selling, fees: Fees
) -> None:
    await selling.estimates(2)
    order = await selling.bought()
    assert not await selling.world.kept(request_of(order))
    before = await selling.database.reader.ledger.sums()
    leases = await selling.database.reader.leases.of_orders([order.id])
    for bumps, estimate, pays in ((1, 20, 20), (2, 100, _RULES.highest_sat_per_vb)):
        fees.sat_per_vb = estimate
        await selling.estimates(estimate)
        await selling.selling.mine_nothing(_RULES.bump_after)
        found = await selling.becomes(partial(is_bumped, times=bumps))
        assert found.state is FundingState.UNCONFIRMED

        async def is_paid(funding: Funding, rate: int) -> bool:
            return abs(await selling.rate(funding) - rate) <= 1

        async with asyncio.timeout(_WITHIN_S):
            while not await is_paid(found, pays):
                await asyncio.sleep(0.2)
    await selling.selling.mine_nothing(_RULES.bump_again)
    found = await selling.becomes(lambda each: each.obstacle is Obstacle.CAPPED)
    assert found.bumps == 2
    assert await selling.rate(found) <= _RULES.highest_sat_per_vb
    await selling.selling.mine()
    found = await selling.becomes(lambda each: each.state is FundingState.CONFIRMED)
    assert found.obstacle is Obstacle.NONE
    assert (await selling.get(order)).status is Status.FILLED
    assert await selling.database.reader.ledger.sums() == before, "bumps book nothing"
    assert await selling.database.reader.leases.of_orders([order.id]) == leases
    assert leases[order.id].channel_point == found.channel_point
    assert -before[ledger.RECEIVED] == order.total_fee
    assert [
        str(each) for each in await verify(selling.database, selling.world.payments)
    ] == []
