"""The ticket: made once, cancelled when nobody wants it; following.py sees it filled.

Making one, step by step; each step may be repeated, and a crash after any of them is
made good by the next run:

1. ask the market, which finds the ticket if it was made before;
2. take the held Lightning payment, if that is how it was paid;
3. in one transaction: book it, keep the ticket, the order is `created`.

Where step 1 or 2 says no, all money goes back and the order is `failed`.
"""

from collections.abc import Sequence
from functools import partial

from leyden import logs
from leyden.domain import ledger
from leyden.domain.ledger import What
from leyden.domain.orders import ENDED, Event, Order, Status, advance
from leyden.domain.tickets import NoTicket, Ticket
from leyden.errors import MarketAway, NotFound, Stale
from leyden.services.desk import Desk
from leyden.services.due import Due, end_together
from leyden.services.holding import end, give
from leyden.services.invoices import keep_promise
from leyden.services.shop import WITHDRAWAL, Shop, ticket_purpose
from leyden.services.together import Together
from leyden.values import Struct

log = logs.get()


class _Looking(Struct):
    """Somebody who wants to see an order."""

    order_id: str
    found: Order | None = None


class _Made(Struct, frozen=True):
    """A ticket that is there, for the order as it was when it was asked for."""

    due: Due
    order: Order
    ref: str
    sealed: bytes


class TicketMaker:
    """Makes tickets; those that are made at the same time are kept together."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._looked = Together(self._look)
        self._kept = Together(self._keep)

    async def make(self, due: Due) -> None:
        """Make the ticket of a paid order and take the payment; or give it all back."""
        shop = self._shop
        order = await self._found(due.key)
        if order.status is not Status.CREATING:
            await _leave(shop, due)
            return
        ticket = await _offer(shop, order)
        if isinstance(ticket, NoTicket):
            log.warning("no ticket was made", order=order.id, why=ticket.why)
            await _break(shop, due, order)
        elif order.promised and not await _take(shop, order):
            log.warning("the held payment is gone", order=order.id)
            await _break(shop, due, order)
        else:
            purpose = ticket_purpose(order.id)
            sealed = shop.sealer.seal(ticket.text.encode(), purpose=purpose)
            await self._kept(_Made(due, order, ticket.ref, sealed))

    async def _found(self, order_id: str) -> Order:
        looking = _Looking(order_id)
        await self._looked(looking)
        if looking.found is None:
            raise NotFound
        return looking.found

    async def _look(self, looking: Sequence["_Looking"]) -> None:
        found = await self._shop.database.reader.orders.get_many(
            {each.order_id for each in looking}
        )
        by_id = {order.id: order for order in found}
        for each in looking:
            each.found = by_id.get(each.order_id)

    async def _keep(self, made: Sequence[_Made]) -> None:
        """Book each payment and keep its ticket; the order is `created`."""
        async with self._shop.database.transaction() as tx:
            ids = [each.order.id for each in made]
            desk = await Desk.laid(tx, ids, now=self._shop.clock())

            def decide(each: _Made) -> None:
                order = desk.order(each.order.id)
                if order.status is Status.CREATING:
                    if order.promised != each.order.promised:
                        raise Stale(f"{order.id} was paid another way meanwhile")
                    _keep(desk, order, each)
                elif order.status in ENDED:
                    desk.put(WITHDRAWAL, order.id)

            # Ending them proves that they are all still ours: else nothing is written.
            ending = partial(end_together, tx, [each.due for each in made])
            in_order = sorted(made, key=lambda each: each.order.id)
            await desk.work(tx, in_order, decide, ending)


async def _offer(shop: Shop, order: Order) -> Ticket | NoTicket:
    try:
        return await shop.market.offer(order.id, order.quote)
    except MarketAway:
        asked_since = order.paid_at or order.created
        if shop.clock() - asked_since < shop.rules.ticket_patience:
            raise
        return NoTicket("the auction did not answer in time")


async def _take(shop: Shop, order: Order) -> bool:
    request = order.payment_request
    return request is not None and await shop.payments.settle(request)


def _keep(desk: Desk, order: Order, made: _Made) -> None:
    if order.promised:
        order = keep_promise(desk, order)
    give(
        desk,
        order,
        desk.holds(order) - order.total_fee,
        source=ledger.held(order.id),
        what=What.SURPLUS,
        key=f"ticketed:{order.id}:surplus",
    )
    desk.move(
        advance(order, Event.TICKETED, sealed_ticket=made.sealed, ticket_ref=made.ref)
    )


async def _break(shop: Shop, due: Due, order: Order) -> None:
    """Give everything back; a held payment first, for it may have become ours."""
    request = order.payment_request
    handed_back = True
    if order.promised and request is not None:
        handed_back = await shop.payments.cancel(request)
    async with due.transaction() as tx:
        desk = await Desk.laid(tx, [due.key], now=shop.clock())
        order = desk.order(due.key)
        if order.status is Status.CREATING:
            if order.promised and not handed_back:
                order = keep_promise(desk, order)
            end(desk, order, Event.BROKE)
        await desk.written(tx)
        await due.done(tx)


async def _leave(shop: Shop, due: Due) -> None:
    """Let the order go its other way; a ticket that was made for it is not wanted."""
    async with due.transaction() as tx:
        desk = await Desk.laid(tx, [due.key], now=shop.clock())
        order = desk.order(due.key)
        if order.status in ENDED and order.offered:
            desk.put(WITHDRAWAL, order.id)
        await desk.written(tx)
        await due.done(tx)


async def withdraw(shop: Shop, due: Due) -> None:
    """Cancel the ticket of an order that has ended without it."""
    order = await shop.database.reader.orders.get(due.key)
    if order.status in ENDED - {Status.FILLED} and not await shop.market.withdraw(
        order.id, order.ticket_ref
    ):
        log.error("a ticket was filled after its order had ended", order=order.id)
