"""A shop with nobody in it: real database, fake treasury, simulated market.

Nothing runs by itself. A test says when the treasury is heard, when due work is done
and what time it is, so every order of events can be had, and had again.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.units import Sats
from leyden.base.tasks.steps import ClaimedTask
from leyden.base.tasks.work import Work
from leyden.channels import checkout, expiry, orders, payment_sweep
from leyden.channels.books.verify import verify
from leyden.channels.direct import extensions, opening
from leyden.channels.direct.base import Lsps, Payer
from leyden.channels.direct.dialing import Dialing
from leyden.channels.money import credit
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import Invoice, PaymentRequest, PaymentUpdate
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import (
    CLOSING,
    EVERYTHING,
    EXPIRY,
    EXTENSION,
    OPENING,
    PRUNING,
    SWEEP,
    TICKET,
    TICKETS,
    WITHDRAWAL,
    ChannelServices,
    ChannelSettings,
)
from leyden.channels.tickets import ticket_source, tickets
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.tickets.ticket_source import TicketMaker
from leyden.channels.wiring.channels import SOURCES
from leyden.errors import Away, Stale
from tests.base.due_tasks import claim_due
from tests.conftest import NOW
from tests.fakes.payments import FakePayments
from tests.fakes.seller import FakeSeller
from tests.people.plenty import PLENTY

HARBOUR, LIGHTHOUSE = "harbour", "lighthouse"
CHANNEL = Channel(capacity=Sats(1_000_000))
PRICE = (
    16_163  # of that channel; tests/channels/rules/test_pricing.py works it out by hand
)

Handler = Callable[[ChannelServices, ClaimedTask], Awaitable[None]]
HANDLERS: Mapping[str, Handler] = {
    OPENING: opening.open_channel,
    EXPIRY: expiry.expire,
    EXTENSION: extensions.follow,
    PRUNING: expiry.prune,
    CLOSING: expiry.close_invoice,
    WITHDRAWAL: ticket_source.withdraw,
    TICKETS: tickets.follow,
    SWEEP: payment_sweep.sweep,
}


class Crashed(Exception):
    """The program died here."""


@dataclass
class OrdersHarness:
    """The channel services, and what everyone around them does."""

    database: Database
    sealer: Sealer
    payments: FakePayments = field(default_factory=FakePayments)
    market: SimulatedMarket = field(default_factory=SimulatedMarket)
    seller: FakeSeller = field(default_factory=FakeSeller)
    rules: ChannelSettings = field(
        default_factory=lambda: ChannelSettings(quotas=PLENTY)
    )
    dialing: Dialing = field(default_factory=Dialing)
    lsps: Lsps = field(default_factory=Lsps)
    payer: Payer | None = None
    now: datetime = NOW
    updates: list[PaymentUpdate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._news = self.payments.subscribe()

    @property
    def channels(self) -> ChannelServices:
        return ChannelServices(
            database=self.database,
            sealer=self.sealer,
            payments=self.payments,
            treasury=self.payments,
            sources=SOURCES,
            market=self.market,
            seller=self.seller,
            dialing=self.dialing,
            lsps=self.lsps,
            payer=self.payer,
            clock=lambda: self.now,
            rules=self.rules,
        )

    async def open(self) -> None:
        async with self.database.transaction() as tx:
            for name in (HARBOUR, LIGHTHOUSE):
                await tx.accounts.add(Organization(id=name, name=name, created=NOW))

    # What customers do.

    async def create(
        self, channel: Channel = CHANNEL, who: str = HARBOUR, order_id: str = ""
    ) -> Order:
        order_id = order_id or f"{uuid.uuid4()}FO"
        for _ in range(20):
            try:
                return await orders.create(
                    self.channels, who, order_id, channel, actor="test", now=self.now
                )
            except Stale:
                continue
        raise AssertionError("never settles")

    async def cancel(self, order: Order, who: str = HARBOUR) -> Order:
        for _ in range(20):
            try:
                return await orders.cancel(
                    self.channels, who, order.id, actor="test", now=self.now
                )
            except Stale:
                continue
        raise AssertionError("never settles")

    async def get(self, order: Order) -> Order:
        return await self.database.reader.orders.get(order.id)

    async def status(self, order: Order) -> OrderStatus:
        return (await self.get(order)).status

    async def ticket(self, order: Order) -> str:
        return ticket_source.open_ticket(self.channels, await self.get(order))

    async def credit(self, who: str = HARBOUR) -> int:
        return await self.database.reader.ledger.balance(ledger.credit(who))

    async def balance_of(self, name: str) -> int:
        return (await self.database.reader.ledger.sums()).get(name, Sats(0))

    async def give_credit(self, sats: int, who: str = HARBOUR) -> None:
        (coupon,) = await credit.issue_coupons(
            self.database,
            sats=sats,
            count=1,
            organization_id=who,
            expires=None,
            note="",
            actor="operator:alice",
            now=self.now,
        )
        await credit.redeem(self.database, who, coupon.id, actor="test", now=self.now)

    # What happens by itself, when the test says so.

    async def hear(self) -> None:
        """Hear everything that the treasury has told since."""
        while not self._news.empty():
            if (update := self._news.get_nowait()) is not None:
                self.updates.append(update)
                await checkout.record_payment(self.channels, update, now=self.now)

    def deafen(self) -> None:
        """Lose everything that the treasury has told since."""
        while not self._news.empty():
            self._news.get_nowait()

    async def hear_again(self) -> None:
        """Hear everything that was ever told once more."""
        for update in list(self.updates):
            if isinstance(update, Invoice):  # an old depth is not true any more
                await checkout.record_payment(self.channels, update, now=self.now)

    async def work(self, *kinds: str) -> None:
        """Do everything that is due, until nothing is; what is away waits a minute."""
        for _ in range(50):
            if not await self._work_once(kinds or (EXPIRY, TICKET, *HANDLERS)):
                return
        raise AssertionError("there is always something due")

    async def _work_once(self, kinds: tuple[str, ...]) -> bool:
        worked = False
        for kind in kinds:
            claims = await claim_due(
                self.database, kind, now=self.now, claim_for=timedelta(seconds=30)
            )
            for claim in claims:
                worked = True
                work = Work(self.database, claim)
                try:
                    if kind == TICKET:
                        await TicketMaker(self.channels).make(work)
                    else:
                        await HANDLERS[kind](self.channels, work)
                    if not work.settled:
                        async with work.transaction() as tx:
                            await work.done(tx)
                except (Away, Stale) as error:
                    pause = timedelta(seconds=0 if isinstance(error, Stale) else 60)
                    async with self.database.transaction() as tx:
                        await tx.tasks.reschedule(
                            claim, due=self.now + pause, attempts=claim.attempts
                        )
        return worked

    async def settle_down(self) -> None:
        """Hear and work until nothing moves any more."""
        for _ in range(20):
            await self.hear()
            await self.work()
            if self._news.empty():
                return
        raise AssertionError("it never settles down")

    async def pass_time(self, **of: float) -> None:
        self.now += timedelta(**of)
        await self.settle_down()

    async def start_sweeping(self) -> None:
        """Look for payments as the program does when it starts."""
        async with self.database.transaction() as tx:
            await tx.tasks.put(SWEEP, EVERYTHING, due=self.now)
        await self.settle_down()

    async def follow_tickets(self) -> None:
        async with self.database.transaction() as tx:
            await tx.tasks.put(TICKETS, EVERYTHING, due=self.now)
        await self.settle_down()

    async def prove(self) -> None:
        """Every rule of money holds, and the treasury's books agree."""
        away, self.payments.away = self.payments.away, False
        found = [str(each) for each in await verify(self.database, self.payments)]
        assert found == [], found
        self.payments.away = away


def request_of(order: Order) -> PaymentRequest:
    request = order.payment_request
    assert request is not None
    return request


async def at_once(*steps: Awaitable[object]) -> list[object]:
    return list(await asyncio.gather(*steps, return_exceptions=True))
