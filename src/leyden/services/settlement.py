"""What a payment does when it is seen: once, however often it is told of.

Money for an order that waits for it is held; whatever the order needs no more is
credit, and a Lightning payment that nobody needs is handed back. An organization that
owes us for money the chain took back repays that first.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from operator import itemgetter

from leyden import logs
from leyden.domain.payments import (
    Invoice,
    KnownOutput,
    Outpoint,
    Output,
    Sighting,
)
from leyden.errors import Away, Stale
from leyden.services import invoices, outputs
from leyden.services.desk import Desk
from leyden.services.shop import Shop

log = logs.get()

_TRIES = 8


async def payment_seen(shop: Shop, sighting: Sighting, *, now: datetime) -> None:
    """Book what is seen and move its order on; what is not ours is let be."""
    if news := await _news(shop, [sighting]):
        await _book(shop, news, now)


async def payments_seen(
    shop: Shop, sightings: Sequence[Sighting], *, now: datetime
) -> None:
    """Book many at once, in the order in which they were seen.

    One that cannot be booked holds up no other: each is tried by itself then, and the
    log tells of it. It is looked at again with the next sweep.
    """
    news = await _news(shop, sightings)
    if not news:
        return
    try:
        await _book(shop, news, now)
    except Away:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, it is one payment's
        log.warning("booked one by one", payments=len(news), why=str(error))
        for each in news:
            await _book_alone(shop, each, now)


async def _book_alone(shop: Shop, news: tuple[str, Sighting], now: datetime) -> None:
    try:
        await _book(shop, [news], now)
    except Away:
        raise
    except Exception:
        order_id, sighting = news
        log.exception("a payment cannot be booked", order=order_id, told=str(sighting))


async def _book(
    shop: Shop, news: Sequence[tuple[str, Sighting]], now: datetime
) -> None:
    async def book() -> None:
        async with shop.database.transaction() as tx:
            desk = await Desk.laid(
                tx,
                {order_id for order_id, _ in news},
                now=now,
                with_outputs=any(isinstance(each, Output) for _, each in news),
            )

            def decide(each: tuple[str, Sighting]) -> None:
                order_id, sighting = each
                if isinstance(sighting, Invoice):
                    invoices.seen(desk, desk.order(order_id), sighting)
                else:
                    outputs.seen(desk, desk.order(order_id), sighting, shop.rules)

            # Side by side in the database, so that few of its pages change at a time;
            # what is told of one order keeps its order.
            await desk.work(tx, sorted(news, key=itemgetter(0)), decide)

    await until_not_stale(book)


async def until_not_stale(step: Callable[[], Awaitable[None]]) -> None:
    """Look again when someone else was faster; it settles within a few rounds."""
    for _ in range(_TRIES - 1):
        try:
            return await step()
        except Stale:
            continue
    return await step()


async def _news(
    shop: Shop, sightings: Sequence[Sighting]
) -> list[tuple[str, Sighting]]:
    """Leave what is ours and was not booked before: every block tells it all again."""
    reader = shop.database.reader
    hashes = {each.payment_hash for each in sightings if isinstance(each, Invoice)}
    addresses = {each.address for each in sightings if isinstance(each, Output)}
    invoiced = await reader.orders.invoiced(hashes) if hashes else {}
    paid_to = await reader.orders.paid_to(addresses) if addresses else {}
    known: dict[Outpoint, KnownOutput] = {}
    if paid_to:
        ids = [order.id for order in paid_to.values()]
        known = {each.outpoint: each for each in await reader.outputs.of_orders(ids)}
    news: list[tuple[str, Sighting]] = []
    told: set[str] = set()  # what is told twice here is not compared with the past
    for each in sightings:
        if isinstance(each, Invoice):
            if found := invoiced.get(each.payment_hash):
                order_id, state = found
                if state is not each.state or each.payment_hash in told:
                    told.add(each.payment_hash)
                    news.append((order_id, each))
        elif order := paid_to.get(each.address):
            before = known.get(each.outpoint)
            if (
                before is None
                or outputs.becomes(order, before, each, shop.rules) is not before.state
                or str(each.outpoint) in told
            ):
                told.add(str(each.outpoint))
                news.append((order.id, each))
    return news
