"""A shop to be killed: its worker, its ear, and a customer who does as the story says.

    python -m tests.crash.orders_victim STORY DATABASE_URL FOLDER [MINUTES]

The treasury and the market live in the folder, and outlive us. Whatever was said must
still be true after a kill at any instant; told again, the story goes on where it was,
or where it is so many minutes later, on a clock that runs ten times as fast.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from leyden.app.loops import channel_queues
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.base.tasks.worker import Worker
from leyden.channels import orders
from leyden.channels.checkout import listen
from leyden.channels.direct.base import Lsps, Purse
from leyden.channels.direct.rules.jit import JitOrder, JitStatus
from leyden.channels.direct.rules.purchases import SPENT
from leyden.channels.money import credit
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.pricing import Channel
from leyden.channels.rules.sources import Source
from leyden.channels.services import (
    EVERYTHING,
    JIT,
    TICKETS,
    ChannelServices,
    ChannelSettings,
    JitSettings,
)
from leyden.channels.tickets import ticket_source
from leyden.channels.wiring.channels import SOURCES
from leyden.errors import Away, NotAllowed, NotFound, Stale, Taken
from leyden.values import replace
from tests.channels.jit_harness import HASH, PURSE, SIZE
from tests.channels.orders_harness import CHANNEL, PRICE, request_of
from tests.crash.shared import (
    SharedForwarding,
    SharedLsp,
    SharedMarket,
    SharedPayer,
    SharedSeller,
    SharedTreasury,
    SharedUnpublished,
)
from tests.crash.victim import KEYRING, say
from tests.fakes.forwarding import Fate
from tests.fakes.messages import FakeMessages
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
_RULES = ChannelSettings(
    sweep_every=timedelta(seconds=1),
    tickets_every=timedelta(seconds=1),
    answer_waits=timedelta(seconds=1),
    quotas=PLENTY,
    jit=JitSettings(),
)
LSP = "https://lsp.example/api/v1"
# The stories in which a wallet trusts us.
_TRUSTING = {"new wallet paid"}


def order_id(number: int) -> str:
    return f"5b0c3d1e-7a44-4c39-9a0e-{number:012d}FO"


def coupon_id(number: int) -> str:
    return f"0b5c3d1e-7a44-4c39-9a0e-{number:012d}FC"


def purse_of(folder: Path) -> Purse:
    seller = SharedSeller(folder / "purse")
    seller.pubkey = PURSE
    forwarding = SharedForwarding(folder / "forwards", seller)
    return Purse(
        seller=seller,
        messages=FakeMessages(),
        forwarding=forwarding,
        unpublished=SharedUnpublished(folder / "unpublished", forwarding),
    )


async def shop_of(url: str, folder: Path) -> ChannelServices:
    lsp = SharedLsp(folder / "lsp")
    return ChannelServices(
        database=await open_database(url),
        sealer=Sealer(KEYRING),
        payments=SharedTreasury(folder / "treasury"),
        sources=SOURCES,
        market=SharedMarket(folder / "market"),
        seller=SharedSeller(folder / "seller"),
        purse=purse_of(folder),
        lsps=Lsps((LSP,), lambda _url: lsp),
        payer=SharedPayer(folder / "payer", lsp),
        clock=utc_now,
        rules=_RULES,
    )


async def furnish(channels: ChannelServices) -> None:
    """Make the organization and its coupons, unless they are there."""
    with contextlib.suppress(Taken):
        async with channels.database.transaction() as tx:
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
async def at_work(channels: ChannelServices) -> AsyncIterator[None]:
    """Run what runs by itself."""
    if channels.database.is_alone:
        async with channels.database.transaction() as tx:
            await tx.tasks.release_all()
    queues = [
        replace(queue, claim_for=_CLAIM_FOR) for queue in channel_queues(channels)
    ]
    worker = Worker(channels.database, queues, clock=utc_now)
    running = [asyncio.create_task(worker.run()), asyncio.create_task(listen(channels))]
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


async def create(
    channels: ChannelServices, number: int, channel: Channel = CHANNEL
) -> Order:
    return await stubbornly(
        lambda: orders.create(
            channels, TEAM, order_id(number), channel, actor="test", now=utc_now()
        )
    )


async def cancel(channels: ChannelServices, number: int) -> Order:
    return await stubbornly(
        lambda: orders.cancel(
            channels, TEAM, order_id(number), actor="test", now=utc_now()
        )
    )


async def until(
    channels: ChannelServices, number: int, *statuses: OrderStatus
) -> Order:
    async with asyncio.timeout(_WITHIN_S):
        while True:
            order = await stubbornly(
                lambda: orders.get(channels, TEAM, order_id(number))
            )
            if order.status in statuses:
                return order
            await asyncio.sleep(0.01)


async def redeem(channels: ChannelServices, number: int) -> None:
    with contextlib.suppress(NotFound):  # claimed before, here or elsewhere
        await stubbornly(
            lambda: credit.redeem(
                channels.database,
                TEAM,
                coupon_id(number),
                actor="test",
                now=utc_now(),
                guesses=1_000,
            )
        )
        say("redeemed", str(number))


def pay(channels: ChannelServices, order: Order, *, on_chain: bool) -> None:
    assert isinstance(channels.payments, SharedTreasury)
    if not order.payment_hash:
        return
    if on_chain:
        with channels.payments.held():
            paid = any(
                each.address == order.onchain_address
                for each in channels.payments.outputs()
            )
        if not paid:
            channels.payments.send(order.onchain_address, order.to_be_paid)
            channels.payments.mine()
        return
    with contextlib.suppress(PaymentFailed):  # paid before
        channels.payments.pay(request_of(order))


async def one_order(channels: ChannelServices) -> None:
    """From a coupon to an order, its ticket, and its cancellation."""
    await redeem(channels, 0)
    order = await create(channels, 0)
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(channels, order, on_chain=False)
    order = await until(channels, 0, OrderStatus.CREATED, OrderStatus.CANCELLED)
    say("ticket", ticket_source.open_ticket(channels, order))
    order = await cancel(channels, 0)
    say("refund", str(order.credit_refund))


async def follow_tickets(channels: ChannelServices) -> None:
    async with channels.database.transaction() as tx:
        await tx.tasks.put(TICKETS, EVERYTHING, due=utc_now())


async def filled_order(channels: ChannelServices) -> None:
    """From a coupon to a channel that costs less than the order allows."""
    assert isinstance(channels.market, SharedMarket)
    await redeem(channels, 0)
    order = await create(channels, 0)
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(channels, order, on_chain=False)
    order = await until(channels, 0, OrderStatus.CREATED, OrderStatus.FILLED)
    ticket = ticket_source.open_ticket(channels, order)
    channels.market.register(ticket)
    channels.market.match(ticket, unused=LEFT)
    await stubbornly(lambda: follow_tickets(channels))
    await until(channels, 0, OrderStatus.FILLED)
    credited = (await credit.balance(channels.database, TEAM)).credit
    say("credit", str(credited))


async def direct_order(channels: ChannelServices) -> None:
    """From a coupon to a channel for a node that the order names."""
    assert isinstance(channels.seller, SharedSeller)
    with channels.seller.held():
        if not channels.seller.online:
            channels.seller.fill([2_000_000])
            channels.seller.online.add(PEER)
    await redeem(channels, 0)
    channel = replace(CHANNEL, node_key=PEER)
    order = await create(channels, 0, channel)
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(channels, order, on_chain=False)
    order = await until(channels, 0, OrderStatus.FILLED)
    say("ticket", order.channel_point)
    credited = (await credit.balance(channels.database, TEAM)).credit
    say("credit", str(credited))


async def bought_order(channels: ChannelServices) -> None:
    """From a coupon to a channel that is bought from another LSP."""
    assert isinstance(channels.payer, SharedPayer)
    await redeem(channels, 0)
    order = await create(channels, 0, replace(CHANNEL, node_key=PEER))
    say("created", f"{order.credit_used} {order.lightning_invoice}")
    pay(channels, order, on_chain=False)
    async with asyncio.timeout(_WITHIN_S):
        while not await is_bought(channels, order):
            await asyncio.sleep(0.01)
    channels.payer.mine()
    order = await until(channels, 0, OrderStatus.FILLED)
    say("ticket", order.channel_point)
    credited = (await credit.balance(channels.database, TEAM)).credit
    say("credit", str(credited))


async def is_bought(channels: ChannelServices, order: Order) -> bool:
    purchase = await channels.database.reader.purchases.find(order.id)
    return purchase is not None and purchase.status in SPENT


async def wallet_paid(channels: ChannelServices) -> None:
    """From a channel id that a wallet buys to the fee of its first payment."""
    purse = channels.purse
    assert purse is not None
    assert isinstance(purse.seller, SharedSeller)
    assert isinstance(purse.forwarding, SharedForwarding)
    with purse.seller.held():
        if not purse.seller.online:
            purse.seller.fill([2_000_000])
            purse.seller.online.add(PEER)
    await stubbornly(lambda: begin_to_sell(channels))
    order = await bought(channels)
    say("sold", order.id)
    async with asyncio.timeout(_WITHIN_S):
        while order.status is not JitStatus.EARNED or order.is_unpublished:
            if order.status is JitStatus.SOLD and not is_paid(purse.forwarding):
                purse.forwarding.pay(order.scid, HASH, 60_000_000, 40_000_000)
            await asyncio.sleep(0.01)
            (order,) = await wallet_orders(channels)
    say("earned", str(order.earned_msat))


def is_paid(forwarding: SharedForwarding) -> bool:
    """Return whether a payment is on its way, or arrived; a payer tries again."""
    with forwarding.held():
        gone = {Fate.FAILED, Fate.UNKNOWN}
        return any(each.fate not in gone for each in forwarding.paid.values())


async def begin_to_sell(channels: ChannelServices) -> None:
    async with channels.database.transaction() as tx:
        await tx.tasks.put(JIT, EVERYTHING, due=utc_now())


async def wallet_orders(channels: ChannelServices) -> list[JitOrder]:
    return await channels.database.reader.jit_orders.in_states(list(JitStatus))


async def bought(channels: ChannelServices) -> JitOrder:
    """Buy a channel id, unless there is one."""
    assert channels.purse is not None
    messages = channels.purse.messages
    assert isinstance(messages, FakeMessages)

    async def call(method: str, **params: object) -> dict[str, Any]:
        async with asyncio.timeout(_WITHIN_S):
            while not messages.listeners:
                await asyncio.sleep(0.01)
            body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
            messages.arrive(PEER, json.dumps(body).encode())
            found = json.loads((await messages.sent.get()).data)
        return dict(found["result"])

    if not await wallet_orders(channels):
        (offer,) = (await call("lsps2.get_info"))["opening_fee_params_menu"]
        await call("lsps2.buy", opening_fee_params=offer, payment_size_msat=str(SIZE))
    (order,) = await wallet_orders(channels)
    return order


async def many_orders(channels: ChannelServices) -> None:
    """Do what another shop on the same database does at the same moment."""

    async def one(number: int) -> None:
        if number < COUPONS:
            await redeem(channels, number)
        order = await create(channels, number)
        pay(channels, order, on_chain=number % 2 == 1)
        ended = (OrderStatus.CREATED, OrderStatus.CANCELLED)
        await until(channels, number, *ended)
        if number % 4 == 0:
            with contextlib.suppress(NotAllowed):
                say("refund", str((await cancel(channels, number)).credit_refund))

    await asyncio.gather(*(one(number) for number in range(ORDERS)))


STORIES = {
    "one order": one_order,
    "filled order": filled_order,
    "direct order": direct_order,
    "bought order": bought_order,
    "wallet paid": wallet_paid,
    "new wallet paid": wallet_paid,
    "many orders": many_orders,
}


async def tell(story: str, url: str, folder: Path, *minutes: str) -> None:
    channels = await shop_of(url, folder)
    if minutes:
        begun, later = utc_now(), timedelta(minutes=int(minutes[0]))
        channels = replace(
            channels, clock=lambda: begun + later + 10 * (utc_now() - begun)
        )
    if story in _TRUSTING:
        rules = replace(_RULES, jit=JitSettings(client_trusts_lsp=True))
        channels = replace(channels, rules=rules)
    if story == "bought order":
        rules = replace(_RULES, sources=(Source.LSPS1,))
        channels = replace(channels, rules=rules)
    await furnish(channels)
    async with at_work(channels):
        say("at work")
        await STORIES[story](channels)
    await channels.database.close()


if __name__ == "__main__":
    assert PRICE, "the price is worked out by hand"
    asyncio.run(tell(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
    say("the end")
