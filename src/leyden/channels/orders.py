"""Ordering a channel: create, get, list, cancel."""

from datetime import datetime

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.rules.sign_in import Right
from leyden.base.rules.units import Sats
from leyden.channels import order_events, sources
from leyden.channels.checkout import start_if_paid
from leyden.channels.holding import end, entry
from leyden.channels.rules import ledger
from leyden.channels.rules.ledger import Entry, Reason
from leyden.channels.rules.orders import (
    ALL_ORDERS,
    Order,
    OrderEvent,
    OrderFilter,
    OrderStatus,
    advance,
)
from leyden.channels.rules.payments import InvoiceState
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import (
    EVERYTHING,
    EXPIRY,
    TICKETS,
    ChannelServices,
    Reserve,
    Sources,
)
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import (
    LeydenError,
    NotAllowed,
    NotFound,
    OverLimit,
    Stale,
    TreasuryAway,
)
from leyden.people import quotas
from leyden.values import Struct, replace

SUFFIX = "FO"
_KNOWN_ADDRESS_S = 1


class PaymentSplit(Struct, frozen=True):
    """How an order is paid: credit, then corporate account, then the buyer."""

    credit_used: Sats
    charged: Sats


async def create(
    channels: ChannelServices,
    organization_id: str,
    order_id: str,
    channel: Channel,
    *,
    actor: str,
    now: datetime,
) -> Order:
    """Create an order, and a payment request for the amount not covered.

    Credit and the corporate account cover what they can. A second call with
    the same id returns the order that the first one created. Two orders that
    spend the same credit at once are serialized by the lock on the
    organization's row: the later one sees the remaining credit and requests a
    larger payment. First the order is counted among the organization's unpaid
    orders, then its invoice is created, and last the order is stored. So every
    order can be paid.
    """
    if (made := await channels.database.reader.orders.find(order_id)) is not None:
        return _own(made, organization_id)
    priced = await sources.price(channels, organization_id, channel, now=now)
    cover = await split_payment(
        channels.database.reader, organization_id, priced.total_fee
    )
    order = Order(
        id=order_id,
        organization_id=organization_id,
        status=OrderStatus.WAITING_PAYMENT,
        created=now,
        expires=now + channels.rules.order_lives,
        quote=priced,
        credit_used=cover.credit_used,
        charged=cover.charged,
    )
    reserve = await channels.sources[order.kind].prepare(channels, order)
    if not order.to_be_paid:
        return await _place(channels, order, cover, reserve, actor=actor)
    await quotas.reserve_slot(
        channels.database,
        channels.rules.quotas,
        organization_id,
        order_id,
        lives=channels.rules.order_lives,
        now=now,
    )
    try:
        order = await with_request(channels, order)
        return await _place(channels, order, cover, reserve, actor=actor)
    except LeydenError:
        await quotas.release_slot(channels.database, order_id)
        raise


async def split_payment(tx: Stores, organization_id: str, price: Sats) -> PaymentSplit:
    """Return how an order of that price would be paid now; raise OverLimit."""
    credit = await tx.ledger.balance(ledger.credit(organization_id))
    credit_used = min(credit, price)
    rest = Sats(price - credit_used)
    limit = await tx.corporate_accounts.limit(organization_id)
    if limit is None or not rest:
        return PaymentSplit(credit_used, Sats(0))
    owed = -await tx.ledger.balance(ledger.owed(organization_id))
    if owed + rest > limit:
        raise OverLimit
    return PaymentSplit(credit_used, rest)


async def with_request(
    channels: ChannelServices, order: Order, *, with_address: bool = True
) -> Order:
    """Return the order with an invoice, and maybe an address, to pay it."""
    request = await channels.payments.request(
        order.id,
        order.to_be_paid,
        lives=order.expires - order.created,
        with_address=with_address,
    )
    return replace(
        order,
        onchain_address=request.onchain_address,
        lightning_invoice=request.lightning_invoice,
        payment_hash=request.payment_hash,
        invoice=InvoiceState.OPEN,
    )


async def _place(
    channels: ChannelServices,
    order: Order,
    cover: PaymentSplit,
    reserve: Reserve,
    *,
    actor: str,
) -> Order:
    """Store the order if cover and coins are still available; count it as unpaid."""
    now, organization_id = order.created, order.organization_id
    async with channels.database.transaction() as tx:
        await rights.check(tx, actor, organization_id, Right.MONEY)
        price = order.quote.total_fee
        if await split_payment(tx, organization_id, price) != cover:
            raise Stale("credit was spent in the meantime")
        has_slot = await tx.quotas.release_slot(order.id)
        if (placed := await add(tx, order, reserve, channels.sources)) is None:
            if (made := await tx.orders.find(order.id)) is None:
                raise known_address()
            return _own(made, organization_id)
        if order.to_be_paid and not has_slot:  # creating the invoice took too long
            await quotas.check_unpaid(
                tx, channels.rules.quotas, organization_id, now=now
            )
        return placed


def known_address() -> TreasuryAway:
    """Return the error for an order with the address of another one.

    A treasury that was restored from its seed hands out addresses again. Each request
    asks for the next one, until they are new.
    """
    return TreasuryAway(
        why=(
            "the treasury's lnd handed out an address of an earlier order: it was "
            "probably restored; see docs/operators/sell-channels.md"
        ),
        retry_after_s=_KNOWN_ADDRESS_S,
    )


async def add(
    tx: Stores, order: Order, reserve: Reserve, sources: Sources
) -> Order | None:
    """Store a new order, whoever ordered it; return None if it is known.

    Reserve what its source prepared, book its credit and charge, and queue its expiry.
    """
    if not await tx.orders.add(order):
        return None
    await reserve(tx, order)
    work = await UnitOfWork.load(tx, [order.id], now=order.created)
    work.post(_covering_entries(order))
    tx.events.add(order_events.of_new(order), at=order.created)
    if order.to_be_paid:
        work.put(EXPIRY, order.id, due=order.expires)
    order = start_if_paid(work, order, sources)
    await work.flush(tx)
    return order


def _covering_entries(order: Order) -> list[Entry]:
    """Return the entries that hold credit and corporate charge for a new order."""
    return [
        entry(
            order,
            sats,
            source=source,
            target=ledger.held(order.id),
            what=what,
            key=f"order:{order.id}:{what}",
        )
        for what, source, sats in (
            (
                Reason.CREDIT_USED,
                ledger.credit(order.organization_id),
                order.credit_used,
            ),
            (Reason.CHARGED, ledger.owed(order.organization_id), order.charged),
        )
        if sats
    ]


def _own(order: Order, organization_id: str) -> Order:
    if order.organization_id != organization_id:
        raise NotFound
    return order


async def get(channels: ChannelServices, organization_id: str, order_id: str) -> Order:
    """Return the organization's order; raise NotFound if it is another's."""
    return _own(await channels.database.reader.orders.get(order_id), organization_id)


async def list_(
    channels: ChannelServices,
    organization_id: str,
    wanted: OrderFilter = ALL_ORDERS,
    *,
    before: tuple[datetime, str] | None = None,
    limit: int,
) -> list[Order]:
    """Return the organization's orders that match, newest first."""
    return await channels.database.reader.orders.page(
        organization_id, wanted, before=before, limit=limit
    )


async def cancel(
    channels: ChannelServices,
    organization_id: str,
    order_id: str,
    *,
    actor: str,
    now: datetime,
) -> Order:
    """Cancel the order; what was paid for it becomes credit.

    A second call returns the same and changes nothing. A ticket is cancelled in the
    market first, and the order only if that succeeds. The actor's rights are checked
    before that, because a cancelled ticket can't be restored. An order whose purchase
    is unknown is left to the operator.
    """
    order = await get(channels, organization_id, order_id)
    if order.status is OrderStatus.CANCELLED:
        return order
    advance(order, OrderEvent.CANCELLED)  # raise before anything is changed
    has_ticket = order.has_open_ticket
    if has_ticket:
        await rights.confirm_before(
            channels.database, actor, organization_id, Right.MONEY
        )
    if has_ticket and not await channels.market.withdraw(order.id, order.ticket_ref):
        async with channels.database.transaction() as tx:
            await tx.tasks.put(TICKETS, EVERYTHING, due=now)
        raise NotAllowed("the order was filled in the meantime and can't be cancelled")
    async with channels.database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order_id], now=now, lock_organizations=True)
        current = work.order(order_id)
        if current.status is OrderStatus.CANCELLED:
            return current
        if current.status is not order.status:
            raise Stale("the order changed while it was being cancelled")
        if current.purchase_unknown:
            raise NotAllowed(
                "an order whose channel may exist can't be cancelled; the operator is "
                "told to check it"
            )
        if not has_ticket:
            await rights.confirm(tx, actor, organization_id, Right.MONEY)
        if current.status is OrderStatus.FAILED:
            # Everything was returned when it failed.
            cancelled = work.move(advance(current, OrderEvent.CANCELLED))
        else:
            cancelled = end(work, current, OrderEvent.CANCELLED)
        await work.flush(tx)
        return cancelled
