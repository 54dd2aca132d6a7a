"""Paid on real rails: btcd, the treasury's lnd, and a customer's lnd with a channel.

The shop is whole: its worker, its ear, its database; only the auction is simulated.
Each way in which a payment can go is gone for real, and at the end of
each test the books are proved against the treasury's own.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from leyden.app.loops import STANDING_OF_CHANNELS, channel_queues
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.tasks.worker import Worker
from leyden.channels import orders
from leyden.channels.books.verify import verify
from leyden.channels.checkout import listen
from leyden.channels.money import credit
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import EVERYTHING, ChannelServices, ChannelSettings
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden_workshop.devnet import access
from leyden_workshop.devnet.wallet import opened
from tests.channels.contracts.treasuries import LndWorld, TreasuryHarness
from tests.channels.orders_harness import PRICE, request_of
from tests.fakes.payments import PaymentFailed
from tests.people.plenty import PLENTY

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

TEAM = "harbour light"
CHANNEL = Channel(capacity=Sats(1_000_000))
_RULES = ChannelSettings(
    sweep_every=timedelta(seconds=1),
    tickets_every=timedelta(seconds=1),
    answer_waits=timedelta(seconds=1),
    quotas=PLENTY,
)


@dataclass
class Rails:
    """The shop, and everyone around it."""

    world: LndWorld
    database: Database
    sealer: Sealer
    market: SimulatedMarket = field(default_factory=SimulatedMarket)
    ahead: timedelta = timedelta(0)
    _running: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def channels(self) -> ChannelServices:
        return ChannelServices(
            database=self.database,
            sealer=self.sealer,
            payments=self.world.payments,
            sources=SOURCES,
            market=self.market,
            clock=self.now,
            rules=_RULES,
        )

    def now(self) -> datetime:
        return utc_now() + self.ahead

    async def open(self) -> None:
        """Start, as the program does."""
        async with self.database.transaction() as tx:
            for kind in STANDING_OF_CHANNELS:
                await tx.tasks.put(kind, EVERYTHING, due=self.now())
        worker = Worker(self.database, channel_queues(self.channels), clock=self.now)
        self._running = [
            asyncio.create_task(worker.run()),
            asyncio.create_task(listen(self.channels)),
        ]

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def order(self) -> Order:
        return await orders.create(
            self.channels,
            TEAM,
            f"{uuid.uuid4()}FO",
            CHANNEL,
            actor="test",
            now=self.now(),
        )

    async def cancel(self, order: Order) -> Order:
        return await orders.cancel(
            self.channels, TEAM, order.id, actor="test", now=self.now()
        )

    async def get(self, order: Order) -> Order:
        return await self.database.reader.orders.get(order.id)

    async def until(self, order: Order, status: OrderStatus) -> Order:
        found = order
        try:
            async with asyncio.timeout(60):
                while (found := await self.get(order)).status is not status:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{found.status} instead of {status}") from None
        return found

    async def until_credit(self, sats: int) -> None:
        found = 0
        try:
            async with asyncio.timeout(60):
                while (found := await self.credit()) != sats:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"credit of {found} instead of {sats}") from None

    async def until_booked(self, sats: int) -> None:
        """Wait until so much is booked as received."""
        found = 0
        try:
            async with asyncio.timeout(60):
                while (found := -await self.balance_of(ledger.RECEIVED)) != sats:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{found} booked instead of {sats}") from None

    async def until_closed(self, order: Order) -> None:
        """Wait until its invoice takes nothing any more."""
        async with asyncio.timeout(60):
            while (await self.get(order)).invoice is not InvoiceState.CANCELLED:
                await asyncio.sleep(0.02)

    async def until_seen(self, order: Order, *sats: int) -> None:
        """Wait until these outputs are known."""
        async with asyncio.timeout(60):
            while sorted(sats) != sorted(
                each.sats
                for each in await self.database.reader.outputs.of_order(order.id)
                if each.state != "gone"
            ):
                await asyncio.sleep(0.02)

    async def credit(self) -> int:
        return (await credit.balance(self.database, TEAM)).credit

    async def balance_of(self, name: str) -> int:
        return (await self.database.reader.ledger.sums()).get(name, Sats(0))


@pytest.fixture
async def rails(
    treasury: TreasuryHarness,
    sqlite_db: Database,
    sealer: Sealer,
) -> AsyncIterator[Rails]:
    rails = Rails(LndWorld(treasury), sqlite_db, sealer)
    async with sqlite_db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=utc_now()))
    await rails.open()
    yield rails
    await rails.close()
    assert [str(each) for each in await verify(sqlite_db, rails.world.payments)] == []
    await rails.world.close()


async def test_lightning_to_the_sat(rails: Rails) -> None:
    order = await rails.order()
    rails.world.begin_to_pay(request_of(order))
    created = await rails.until(order, OrderStatus.CREATED)
    assert (created.paid, created.invoice) == (True, InvoiceState.SETTLED)
    assert not await rails.world.is_kept(request_of(order))
    assert await rails.credit() == 0
    assert await rails.balance_of(ledger.RECEIVED) == -PRICE


async def test_lightning_in_parts(rails: Rails) -> None:
    order = await rails.order()
    rails.world.begin_to_pay(request_of(order), at_a_time=5_000)
    await rails.until(order, OrderStatus.CREATED)
    parts = await rails.world.parts(request_of(order))
    assert (len(parts), sum(parts)) == (4, PRICE)
    assert await rails.credit() == 0
    assert await rails.balance_of(ledger.RECEIVED) == -PRICE


async def test_more_than_was_due_over_lightning_is_credit(rails: Rails) -> None:
    order = await rails.order()
    rails.world.begin_to_pay(request_of(order), PRICE + 837)
    await rails.until(order, OrderStatus.CREATED)
    assert not await rails.world.is_kept(request_of(order))
    assert await rails.credit() == 837


async def test_less_than_is_due_over_lightning_is_refused(rails: Rails) -> None:
    order = await rails.order()
    rails.world.begin_to_pay(request_of(order), PRICE - 1)
    assert await rails.world.is_kept(request_of(order))
    assert (await rails.get(order)).status is OrderStatus.WAITING_PAYMENT


async def test_without_a_ticket_the_payer_gets_the_money_back(rails: Rails) -> None:
    rails.market.refuses = "the account is empty"
    order = await rails.order()
    rails.world.begin_to_pay(request_of(order))
    failed = await rails.until(order, OrderStatus.FAILED)
    assert not failed.paid
    assert await rails.world.is_kept(request_of(order))
    assert await rails.credit() == 0
    assert await rails.balance_of(ledger.RECEIVED) == 0


async def test_one_output_on_the_chain(rails: Rails) -> None:
    order = await rails.order()
    await rails.world.send(order.onchain_address, PRICE)
    await rails.until_seen(order, PRICE)
    assert (await rails.get(order)).status is OrderStatus.WAITING_PAYMENT
    await rails.world.mine(1)
    await rails.until(order, OrderStatus.CREATED)
    # Nobody can pay it a second time.
    await rails.until_closed(order)
    with pytest.raises(PaymentFailed):
        await rails.world.pay(request_of(order))


async def test_several_outputs_add_up_and_the_surplus_is_credit(rails: Rails) -> None:
    order = await rails.order()
    await rails.world.send(order.onchain_address, 10_000)
    await rails.world.mine(1)
    await rails.until_seen(order, 10_000)
    await rails.world.send(order.onchain_address, 5_000)
    await rails.world.send(order.onchain_address, 2_000)
    await rails.until_seen(order, 2_000, 5_000, 10_000)
    await rails.world.mine(1)
    await rails.until(order, OrderStatus.CREATED)
    await rails.until_credit(17_000 - PRICE)


async def test_less_than_is_due_on_the_chain_becomes_credit_in_the_end(
    rails: Rails,
) -> None:
    order = await rails.order()
    await rails.world.send(order.onchain_address, 10_000)
    await rails.world.mine(1)
    await rails.until_seen(order, 10_000)
    assert (await rails.get(order)).status is OrderStatus.WAITING_PAYMENT
    rails.ahead = timedelta(minutes=61)
    await rails.until(order, OrderStatus.EXPIRED)
    await rails.until_credit(10_000)


async def test_both_rails_at_once_buy_one_ticket_and_credit(rails: Rails) -> None:
    """T-blink1295."""
    order = await rails.order()
    rails.market.away = True
    await rails.world.send(order.onchain_address, PRICE)
    await rails.world.pay(request_of(order))
    await rails.until(order, OrderStatus.CREATING)
    await rails.world.mine(1)
    rails.market.away = False
    await rails.until(order, OrderStatus.CREATED)
    await rails.until_credit(PRICE)
    assert await rails.balance_of(ledger.RECEIVED) == -2 * PRICE


async def test_what_comes_late_is_credit_or_goes_back(rails: Rails) -> None:
    order = await rails.order()
    rails.ahead = timedelta(minutes=61)
    await rails.until(order, OrderStatus.EXPIRED)
    await rails.until_closed(order)
    with pytest.raises(PaymentFailed):
        await rails.world.pay(request_of(order))
    await rails.world.send(order.onchain_address, PRICE)
    await rails.world.mine(1)
    await rails.until_credit(PRICE)
    assert (await rails.get(order)).status is OrderStatus.EXPIRED


async def test_what_comes_after_a_cancel_is_credit_or_goes_back(rails: Rails) -> None:
    order = await rails.order()
    assert (await rails.cancel(order)).status is OrderStatus.CANCELLED
    await rails.until_closed(order)
    with pytest.raises(PaymentFailed):
        await rails.world.pay(request_of(order))
    await rails.world.send(order.onchain_address, PRICE)
    await rails.world.mine(1)
    await rails.until_credit(PRICE)
    assert (await rails.cancel(order)).credit_refund == 0


async def test_a_paid_order_that_is_given_up_becomes_credit(rails: Rails) -> None:
    order = await rails.order()
    rails.world.begin_to_pay(request_of(order))
    await rails.until(order, OrderStatus.CREATED)
    assert (await rails.cancel(order)).credit_refund == PRICE
    again = await rails.order()
    assert (again.credit_used, again.to_be_paid) == (PRICE, 0)
    await rails.until(again, OrderStatus.CREATED)


async def test_a_payment_that_is_replaced_counts_as_what_replaced_it(
    rails: Rails,
) -> None:
    order = await rails.order()
    spent = await rails.world.send_replaceably(order.onchain_address, PRICE)
    await rails.until_seen(order, PRICE)
    await rails.world.spend_again(spent, order.onchain_address, 10_000, fee=9_000)
    await rails.world.mine(1)
    await rails.until_seen(order, 10_000)
    assert (await rails.get(order)).status is OrderStatus.WAITING_PAYMENT
    assert await rails.balance_of(ledger.held(order.id)) == 10_000


async def test_a_reorganisation_that_brings_the_payment_again_changes_nothing(
    rails: Rails,
) -> None:
    order = await rails.order()
    await rails.world.send(order.onchain_address, PRICE)
    await rails.world.mine(2)
    await rails.until(order, OrderStatus.CREATED)
    await rails.world.reorganise(2)
    await rails.world.mine(1)
    await rails.until_seen(order, PRICE)
    await rails.until_booked(PRICE)
    assert (await rails.get(order)).status is OrderStatus.CREATED


async def test_a_reorganisation_before_the_ticket_waits_for_the_payment_again(
    rails: Rails,
) -> None:
    order = await rails.order()
    rails.market.away = True
    await rails.world.send(order.onchain_address, PRICE)
    await rails.world.mine(1)
    await rails.until(order, OrderStatus.CREATING)
    await rails.world.undo(1)
    await rails.until(order, OrderStatus.WAITING_PAYMENT)
    await rails.until_booked(0)
    rails.market.away = False
    await rails.world.mine(2)
    await rails.until(order, OrderStatus.CREATED)
    assert await rails.balance_of(ledger.RECEIVED) == -PRICE


async def test_what_a_longer_branch_undoes_buys_nothing_until_a_block_has_it_again(
    rails: Rails,
) -> None:
    """Of two undone blocks lnd's wallet forgets one, and counts on from the other."""
    order = await rails.order()
    rails.market.away = True
    await rails.world.send(order.onchain_address, PRICE)
    await rails.world.mine(2)
    await rails.until(order, OrderStatus.CREATING)
    await rails.world.unmine(2)
    await rails.until(order, OrderStatus.WAITING_PAYMENT)
    await rails.until_booked(0)
    rails.market.away = False
    await rails.world.mine_nothing(3)
    await asyncio.sleep(2)  # the platform looks for payments twice
    assert (await rails.get(order)).status is OrderStatus.WAITING_PAYMENT
    await rails.world.mine(1)
    await rails.until(order, OrderStatus.CREATED)
    assert await rails.balance_of(ledger.RECEIVED) == -PRICE


async def test_a_reorganisation_that_takes_the_payment_away_is_owed_to_us(
    rails: Rails,
) -> None:
    order = await rails.order()
    spent = await rails.world.send_replaceably(order.onchain_address, PRICE)
    await rails.world.mine(1)
    await rails.until(order, OrderStatus.CREATED)
    home = rails.world.harness.home
    async with opened(access.load(home).lnds["treasury"]) as wallet:
        elsewhere = await wallet.address()
    await rails.world.undo(1)
    await rails.world.spend_again(spent, elsewhere, 10_000, fee=9_000)
    await rails.world.mine(2)
    await rails.until_booked(0)
    assert await rails.balance_of(ledger.receivable(TEAM)) == -PRICE
    assert (await rails.get(order)).status is OrderStatus.CREATED


async def test_a_treasury_that_is_killed_while_it_is_paid_takes_it_afterwards(
    rails: Rails,
) -> None:
    order = await rails.order()
    rails.market.away = True
    await rails.world.pay(request_of(order))
    await rails.until(order, OrderStatus.CREATING)
    await rails.world.harness.treasury_killed()
    rails.market.away = False
    await asyncio.sleep(0.5)  # long enough to find that nobody is there
    assert (await rails.get(order)).status is OrderStatus.CREATING
    await rails.world.harness.treasury_back()
    await rails.until(order, OrderStatus.CREATED)
    assert not await rails.world.is_kept(request_of(order))


async def test_what_came_while_the_platform_was_down_is_found(rails: Rails) -> None:
    """F9: no stream tells it again, so it is looked for."""
    lightning, chain = await rails.order(), await rails.order()
    await rails.close()
    await rails.world.pay(request_of(lightning))
    await rails.world.send(chain.onchain_address, PRICE)
    await rails.world.mine(1)
    await rails.open()
    await rails.until(lightning, OrderStatus.CREATED)
    await rails.until(chain, OrderStatus.CREATED)
    assert not await rails.world.is_kept(request_of(lightning))
