"""B12: the cost of an order, against bare calls to poold, on a real auction.

From paid to a ticket: ours hears of the payment, keeps money and ticket in SQLite and
has the order `created`; the base offers a ticket and reads its id. From registered to
submitted: ours has seen it; the base asks poold until it says so. And a look at a
hundred tickets that nobody registers, against ten.

It brings up a chain with its auction, half a gigabyte of daemons that
`leyden daemons build` makes.

    ./leyden bench market [--rounds 6]
"""

import argparse
import asyncio
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import uvloop
from bench.measure import Figures, Report, turns

from leyden import logs
from leyden.domain.accounts import Organization
from leyden.domain.orders import Order, Status
from leyden.domain.pricing import Channel, Quote, quote
from leyden.domain.quotas import Quota
from leyden.domain.times import utc_now
from leyden.domain.units import Sats
from leyden.loops import shop_queues
from leyden.market.account import PoolAccount
from leyden.market.pool import PoolMarket
from leyden.market.poold import Poold
from leyden.market.stubs import trader_pb2 as trader
from leyden.payments.fake import FakePayments
from leyden.services.channels import checkout, orders
from leyden.services.channels.book import OrderBook
from leyden.services.channels.shop import (
    EVERYTHING,
    TICKET,
    TICKETS,
    Shop,
    ShopSettings,
)
from leyden.storage.database import open_database
from leyden.storage.schema import migrate
from leyden.storage.secrets import Keyring, Sealer
from leyden.tasks.queues import Queue
from leyden.tasks.work import Work
from leyden.tasks.worker import Worker
from leyden.values import replace
from tests.contracts.markets import reached
from tests.devnet.bazaar import Bazaar

ROUNDS = 6
TEAM = "harbour"
LOOK_S = 0.001
# As after an hour of service: SQLite's log has its full size and grows no more.
COMMITS_BEFORE = 600
# At this rate nobody sells, so nothing is matched meanwhile.
WISH = Channel(capacity=Sats(200_000), bps=1)


@dataclass
class Bench:
    """A shop on a real auction, on a test chain."""

    shop: Shop
    payments: FakePayments
    market: PoolMarket
    poold: Poold
    account: bytes
    bazaar: Bazaar
    priced: Quote
    made: dict[str, asyncio.Event] = field(default_factory=dict)

    async def created(self) -> Order:
        """Create an order that waits for its payment."""
        order_id = f"{uuid.uuid4()}FO"
        return await orders.create(
            self.shop, TEAM, order_id, WISH, actor="test", now=utc_now()
        )

    async def pay(self, order: Order) -> None:
        """Pay it, and report the payment as the treasury does."""
        request = order.payment_request
        assert request is not None
        self.payments.pay(request)
        invoice = self.payments.invoices[order.payment_hash]
        await checkout.record_payment(self.shop, invoice, now=utc_now())

    async def ticketed(self, order: Order) -> Order:
        """Wait until its ticket is stored; polling every millisecond would be late."""
        await self.made.setdefault(order.id, asyncio.Event()).wait()
        order = await self.shop.database.reader.orders.get(order.id)
        assert order.status is Status.CREATED
        return order

    def queues(self) -> list[Queue]:
        """Return the shop's queues; they announce each ticket that is done."""
        return [
            replace(each, run=partial(self._run, each))
            for each in shop_queues(self.shop)
        ]

    async def _run(self, queue: Queue, work: Work) -> None:
        await queue.run(work)
        if queue.kind == TICKET:
            self.made.setdefault(work.key, asyncio.Event()).set()

    async def until(self, order: Order, status: Status) -> Order:
        """Wait until our database says so."""
        while order.status is not status:
            await asyncio.sleep(LOOK_S)
            order = await self.shop.database.reader.orders.get(order.id)
        return order

    async def bare_ticket(self) -> tuple[str, bytes]:
        """Offer a ticket and read its id: the bare call."""
        bid = trader.Bid(
            details=trader.Order(
                trader_key=self.account,
                amt=WISH.capacity,
                rate_fixed=self.priced.rate_fixed,
                min_units_match=2,
                max_batch_fee_rate_sat_per_kw=12_500,
            ),
            lease_duration_blocks=WISH.lease_duration_blocks,
            version=5,
        )
        asked = trader.OfferSidecarRequest(auto_negotiate=True, bid=bid)
        made = await self.poold.call("OfferSidecar", asked)
        read = await self.poold.call("DecodeSidecarTicket", made)
        return made.ticket, read.id


async def paid_to_ticket(bench: Bench, rounds: int, report: Report) -> None:
    """Compare the way from paid to a ticket."""
    figures = Figures()
    for name in turns(["bare", "ours", "bare again"], rounds=rounds):
        order = await bench.created() if name == "ours" else None
        began = time.perf_counter()
        if order is not None:
            await bench.pay(order)
            await bench.ticketed(order)
        else:
            await bench.bare_ticket()
        figures.add(name, time.perf_counter() - began)
    report.null(figures.ratio("bare again", "bare"))
    report.note(f"bare: {figures.median('bare') * 1_000:.1f} ms")
    report.at_most(2.0, figures.ratio("ours", "bare", what="paid to ticket / bare"))


async def registered_to_submitted(bench: Bench, rounds: int, report: Report) -> None:
    """Compare the way from registered to submitted."""
    figures = Figures()
    for name in turns(["bare", "ours", "bare again"], rounds=rounds):
        if name == "ours":
            order = await bench.created()
            await bench.pay(order)
            order = await bench.ticketed(order)
            text = checkout.open_ticket(bench.shop, order)
        else:
            text, id_ = await bench.bare_ticket()
        await bench.bazaar.register(text)
        began = time.perf_counter()
        if name == "ours":
            await bench.until(order, Status.SUBMITTED)
        else:
            asked = trader.ListSidecarsRequest(sidecar_id=id_)

            async def waits(asked: trader.ListSidecarsRequest = asked) -> bool:
                told = await bench.poold.call("ListSidecars", asked)
                return bool(told.tickets[0].state == "expecting channel")

            await _until(waits)
        figures.add(name, time.perf_counter() - began)
    report.null(figures.ratio("bare again", "bare"))
    report.note(f"bare: {figures.median('bare') * 1_000:.1f} ms")
    what = "registered to submitted / bare"
    report.at_most(1.5, figures.ratio("ours", "bare", what=what))


async def looks(bench: Bench, rounds: int, report: Report) -> None:
    """Compare a look at a hundred tickets with one at ten."""
    figures = Figures()
    refs = []
    for _ in range(100):
        _, id_ = await bench.bare_ticket()
        refs.append(id_.hex())
    for name in turns(["10", "100", "10 again"], rounds=rounds * 5):
        wanted = refs[: int(name.split()[0])]
        began = time.perf_counter()
        assert len(await bench.market.progress(wanted)) == len(wanted)
        figures.add(name, time.perf_counter() - began)
    report.null(figures.ratio("10 again", "10"))
    report.note(f"ten: {figures.median('10') * 1_000:.2f} ms")
    report.at_most(2.0, figures.ratio("100", "10", what="100 tickets / 10"))


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():  # noqa: ASYNC110  poold tells nobody
        await asyncio.sleep(LOOK_S)


async def measured(folder: Path, rounds: int, report: Report) -> None:
    """Start everything, and measure."""
    url = f"sqlite:///{folder}/leyden.db"
    await asyncio.to_thread(migrate, url)
    database = await open_database(url)
    bazaar = await Bazaar.opened(folder / "home")
    poold = Poold(reached(bazaar, "provider"))
    account = PoolAccount(poold)
    market = PoolMarket(
        poold, account, OrderBook(database), batch_fee_sat_per_kw=12_500
    )
    payments = FakePayments()
    shop = Shop(
        database=database,
        sealer=Sealer(Keyring.new()),
        payments=payments,
        market=market,
        clock=utc_now,
        rules=ShopSettings(tickets_polls=50, quotas=dict.fromkeys(Quota, 10**9)),
    )
    key = bytes.fromhex((await account.find()).trader_key)
    priced = quote(WISH, shop.rules.terms, await market.terms())
    bench = Bench(shop, payments, market, poold, key, bazaar, priced)
    async with database.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=utc_now()))
        await tx.tasks.put(TICKETS, EVERYTHING, due=utc_now())
    for number in range(COMMITS_BEFORE):
        async with database.transaction() as tx:
            await tx.tasks.put("nothing", f"{number}", due=utc_now())
    working = asyncio.create_task(Worker(database, bench.queues(), clock=utc_now).run())
    try:
        await paid_to_ticket(bench, rounds, report)
        await registered_to_submitted(bench, rounds, report)
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    await looks(bench, rounds, report)
    await poold.close()
    await database.close()
    await bazaar.close()


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    logs.configure(form="text", level="error")
    report = Report("B12 an order beside bare calls to poold")
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(measured(Path(folder), asked.rounds, report))
    sys.exit(report.end())


if __name__ == "__main__":
    main()
