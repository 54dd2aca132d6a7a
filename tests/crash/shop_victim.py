"""A shop to be killed: its worker, its ear, and a customer who does as the story says.

    python -m tests.crash.shop_victim STORY DATABASE_URL FOLDER

The treasury and the market live in the folder, and outlive us. Whatever was said must
still be true after a kill at any instant; told again, the story goes on where it was.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from leyden.app.loops import shop_queues
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.tasks.worker import Worker
from leyden.channels import orders
from leyden.channels.checkout import listen
from leyden.channels.money import credit
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.orders import Order, Status
from leyden.channels.rules.pricing import Channel
from leyden.channels.shop import EVERYTHING, TICKETS, Shop, ShopSettings
from leyden.channels.tickets import ticket_source
from leyden.channels.wiring.shop import SOURCES
from leyden.errors import Away, NotAllowed, NotFound, Stale, Taken
from leyden.values import replace
from tests.channels.shop_harness import CHANNEL, PRICE, request_of
from tests.crash.shared import SharedMarket, SharedSeller, SharedTreasury
from tests.crash.victim import KEYRING, say
from tests.fakes.payments import PaymentFailed
from tests.people.plenty import PLENTY

Result = TypeVar("Result")

TEAM = "harbour light"
PEER = f"02{'11' * 32}"
COUPONS = 4
ORDERS = 12
WORTH = 2_100
LEFT = 318  # of what the auction may take
_WITHIN_S = 120
_CLAIM_FOR = timedelta(seconds=5)  # so that nobody waits long for what a dead one held
_RULES = ShopSettings(
    sweep_every=timedelta(seconds=1),
    tickets_every=timedelta(seconds=1),
    answer_waits=timedelta(seconds=1),
    quotas=PLENTY,
)


def order_id(number: int) -> str:
    return f"5b0c3d1e-7a44-4c39-9a0e-{number:012d}FO"


def coupon_id(number: int) -> str:
    return f"0b5c3d1e-7a44-4c39-9a0e-{number:012d}FC"


async def shop_of(url: str, folder: Path) -> Shop:
    return Shop(
        database=await open_database(url),
        sealer=Sealer(KEYRING),
        payments=SharedTreasury(folder / "treasury"),
        sources=SOURCES,
        market=SharedMarket(folder / "market"),
        seller=SharedSeller(folder / "seller"),
        clock=utc_now,
        rules=_RULES,
    )


async def furnish(shop: Shop) -> None:
    """Make the organization and its coupons, unless they are there."""
    with contextlib.suppress(Taken):
        async with shop.database.transaction() as tx:
            await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=utc_now()))
            await tx.coupons.add(
                [
                    Coupon(
                        id=coupon_id(number),
                        sats=Sats(WORTH),
                        organization_id=TEAM,
                        created=utc_now(),
                        expires=None,
                        note="",
                    )
                    for number in range(COUPONS)
                ]
            )


@contextlib.asynccontextmanager
async def at_work(shop: Shop) -> AsyncIterator[None]:
    """Run what runs by itself."""
    if shop.database.is_alone:
        async with shop.database.transaction() as tx:
            await tx.tasks.free_all()
    queues = [replace(queue, claim_for=_CLAIM_FOR) for queue in shop_queues(shop)]
    worker = Worker(shop.database, queues, clock=utc_now)
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(shop))]
    try:
        yield
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def stubbornly(step: Callable[[], Awaitable[Result]]) -> Result:
    """Try again while others are faster, or the database is away, as customers do."""
    while True:
        with contextlib.suppress(Stale, Away):
            return await step()
        await asyncio.sleep(0.02)


async def create(shop: Shop, number: int, channel: Channel = CHANNEL) -> Order:
    return await stubbornly(
        lambda: orders.create(
            shop, TEAM, order_id(number), channel, actor="test", now=utc_now()
        )
    )


async def cancel(shop: Shop, number: int) -> Order:
    return await stubbornly(
        lambda: orders.cancel(shop, TEAM, order_id(number), actor="test", now=utc_now())
    )


async def until(shop: Shop, number: int, *statuses: Status) -> Order:
    async with asyncio.timeout(_WITHIN_S):
        while True:
            order = await stubbornly(lambda: orders.get(shop, TEAM, order_id(number)))
            if order.status in statuses:
                return order
            await asyncio.sleep(0.01)


async def redeem(shop: Shop, number: int) -> None:
    with contextlib.suppress(NotFound):  # claimed before, here or elsewhere
        await stubbornly(
            lambda: credit.redeem(
                shop.database,
                TEAM,
                coupon_id(number),
                actor="test",
                now=utc_now(),
                guesses=1_000,
            )
        )
        say("redeemed", str(number))


def pay(shop: Shop, order: Order, *, on_chain: bool) -> None:
    assert isinstance(shop.payments, SharedTreasury)
    if not order.payment_hash:
        return
    if on_chain:
        with shop.payments.held():
            paid = any(
                each.address == order.onchain_address
                for each in shop.payments.outputs()
            )
        if not paid:
            shop.payments.send(order.onchain_address, order.to_be_paid)
            shop.payments.mine()
        return
    with contextlib.suppress(PaymentFailed):  # paid before
        shop.payments.pay(request_of(order))


async def one_order(shop: Shop) -> None:
    """From a coupon to an order, its ticket, and its cancellation."""
    await redeem(shop, 0)
    order = await create(shop, 0)
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(shop, order, on_chain=False)
    order = await until(shop, 0, Status.CREATED, Status.CANCELLED)
    say("ticket", ticket_source.open_ticket(shop, order))
    order = await cancel(shop, 0)
    say("refund", str(order.credit_refund))


async def follow_tickets(shop: Shop) -> None:
    async with shop.database.transaction() as tx:
        await tx.tasks.put(TICKETS, EVERYTHING, due=utc_now())


async def filled_order(shop: Shop) -> None:
    """From a coupon to a channel that costs less than the order allows."""
    assert isinstance(shop.market, SharedMarket)
    await redeem(shop, 0)
    order = await create(shop, 0)
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(shop, order, on_chain=False)
    order = await until(shop, 0, Status.CREATED, Status.FILLED)
    ticket = ticket_source.open_ticket(shop, order)
    shop.market.register(ticket)
    shop.market.match(ticket, unused=LEFT)
    await stubbornly(lambda: follow_tickets(shop))
    await until(shop, 0, Status.FILLED)
    credited = (await credit.balance(shop.database, TEAM)).credit
    say("credit", str(credited))


async def direct_order(shop: Shop) -> None:
    """From a coupon to a channel for a node that the order names."""
    assert isinstance(shop.seller, SharedSeller)
    with shop.seller.held():
        if not shop.seller.online:
            shop.seller.fill([2_000_000])
            shop.seller.online.add(PEER)
    await redeem(shop, 0)
    channel = replace(CHANNEL, node_key=PEER)
    order = await create(shop, 0, channel)
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(shop, order, on_chain=False)
    order = await until(shop, 0, Status.FILLED)
    say("ticket", order.channel_point)
    credited = (await credit.balance(shop.database, TEAM)).credit
    say("credit", str(credited))


async def many_orders(shop: Shop) -> None:
    """Do what another shop on the same database does at the same moment."""

    async def one(number: int) -> None:
        if number < COUPONS:
            await redeem(shop, number)
        order = await create(shop, number)
        pay(shop, order, on_chain=number % 2 == 1)
        ended = (Status.CREATED, Status.CANCELLED)
        await until(shop, number, *ended)
        if number % 4 == 0:
            with contextlib.suppress(NotAllowed):
                say("refund", str((await cancel(shop, number)).credit_refund))

    await asyncio.gather(*(one(number) for number in range(ORDERS)))


STORIES = {
    "one order": one_order,
    "filled order": filled_order,
    "direct order": direct_order,
    "many orders": many_orders,
}


async def tell(story: str, url: str, folder: Path) -> None:
    shop = await shop_of(url, folder)
    await furnish(shop)
    async with at_work(shop):
        say("at work")
        await STORIES[story](shop)
    await shop.database.close()


if __name__ == "__main__":
    assert PRICE, "the price is worked out by hand"
    asyncio.run(tell(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
    say("the end")
