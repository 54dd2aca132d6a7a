"""Extensions of leases: quoted, ordered, paid, and those that happen by themselves.

Credit, and then a corporate account, pay the whole price in the transaction that moves
the end of the lease. If they don't suffice, an invoice asks for the whole price. Its
payment is held; `settling` is stored before it is settled; then one transaction books
it as credit, spends the price of that, and moves the end of the lease. So if the
channel was closed in that moment, the payment is credit.

The platform bought nothing for an extension, so it has earned the whole price.
"""

import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from leyden.base import rights
from leyden.base.database.stores import Stores
from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.rules.sign_in import Right
from leyden.base.rules.units import Sats
from leyden.base.tasks.steps import ClaimedTask
from leyden.channels import orders, sources
from leyden.channels.direct import reservations
from leyden.channels.direct.base import Seller
from leyden.channels.direct.rules.extensions import (
    LONGEST_BLOCKS,
    OPEN,
    SUFFIX,
    Extension,
    ExtensionStatus,
    Unextendable,
)
from leyden.channels.direct.rules.openings import ClosedChannel, SellerWallet
from leyden.channels.holding import entry
from leyden.channels.orders import PaymentSplit, split_payment
from leyden.channels.rows.leases import RunningLease
from leyden.channels.rules import leases, ledger, pricing
from leyden.channels.rules.ledger import Reason
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.rules.payments import Invoice, InvoiceState
from leyden.channels.rules.pricing import LEASES, ChannelKind
from leyden.channels.services import EXTENSION, ChannelServices
from leyden.channels.unit_of_work import UnitOfWork
from leyden.errors import (
    Conflict,
    LeydenError,
    Malformed,
    NotAllowed,
    NotFound,
    OverLimit,
    SellerAway,
    Stale,
    TreasuryAway,
)
from leyden.events.rules.events import Data, Event
from leyden.values import Struct, replace

log = logging.getLogger(__name__)

_RETRY_AFTER: Final = timedelta(seconds=5)
_FORGET_AFTER: Final = timedelta(days=7)  # those that nobody paid
_TICKET: Final = (
    "a channel from the auction can't be extended, as its seller is another node; "
    "order a new channel"
)
_BOUGHT: Final = (
    "this channel was bought from another LSP, so its lease can't be extended here; "
    "order a new channel"
)
_CLOSED: Final = "this channel is closed, so its lease can't be extended"
_CLOSING: Final = "this channel is closing, so its lease can't be extended"


class ChannelsNow(Struct, frozen=True, kw_only=True):
    """The seller's chain, and its channels that are closed or closing."""

    seller: str
    height: int
    closed: frozenset[str]


class ExtensionOffer(Struct, frozen=True, kw_only=True):
    """The price of an extension, and how an organization would pay it."""

    order: Order
    lease: RunningLease
    height: int
    blocks: int
    premium: Sats
    service_fee: Sats
    paid_by: PaymentSplit | None  # None: by an invoice

    @property
    def total_fee(self) -> Sats:
        """The whole price."""
        return Sats(self.premium + self.service_fee)

    @property
    def ends(self) -> int:
        """The block at which the lease would end."""
        return self.lease.ends + self.blocks

    def extension(self, id_: str, status: ExtensionStatus, now: datetime) -> Extension:
        """Return the extension that is offered."""
        return Extension(
            id=id_,
            order_id=self.order.id,
            status=status,
            created=now,
            expires=now,
            blocks=self.blocks,
            ends=self.ends,
            premium=self.premium,
            service_fee=self.service_fee,
            credit_used=self.paid_by.credit_used if self.paid_by else Sats(0),
            charged=self.paid_by.charged if self.paid_by else Sats(0),
        )


def seen(wallet: SellerWallet, closed: Sequence[ClosedChannel]) -> ChannelsNow:
    """Return what a look at the seller's lnd has shown."""
    return ChannelsNow(
        seller=wallet.pubkey,
        height=wallet.height,
        closed=frozenset(each.point for each in closed),
    )


async def look(channels: ChannelServices) -> ChannelsNow:
    """Look at the seller's lnd; raise SellerAway if it does not respond."""
    wallet = await reservations.read_wallet(channels)
    return seen(wallet, await seller_of(channels).closed())


def seller_of(channels: ChannelServices) -> Seller:
    """Return the seller; raise SellerAway if there is none."""
    if channels.seller is None:
        raise SellerAway(why="no seller is configured now", retry_after_s=60)
    return channels.seller


async def quote(
    channels: ChannelServices, organization_id: str, order_id: str, blocks: int
) -> ExtensionOffer:
    """Price an extension by one of the usual leases; raise NotAllowed if there is none.

    The price follows from the settings alone, so it holds until they change.
    """
    order = await orders.get(channels, organization_id, order_id)
    check_usual(blocks)
    lease = await lease_of(channels.database.reader, order)
    found = await offer(channels, order, lease, await look(channels), blocks)
    try:
        paid_by = await _paid_by(channels.database.reader, found)
    except OverLimit:
        paid_by = None  # an order raises it
    return replace(found, paid_by=paid_by)


def check_usual(blocks: int) -> None:
    """Raise Malformed if no lease is extended by so many blocks."""
    if blocks not in LEASES:
        offered = ", ".join(str(each) for each in LEASES)
        raise Malformed(f"lease_duration_blocks: must be one of {offered}")


async def lease_of(rows: Stores, order: Order) -> RunningLease:
    """Return the lease of an order's channel; raise NotAllowed if none can go on."""
    if order.kind is ChannelKind.TICKET:
        raise NotAllowed(_TICKET)
    if order.quote.source:
        raise NotAllowed(_BOUGHT)
    if order.status is not OrderStatus.FILLED:
        raise NotAllowed(f"an order that is {order.status} has no lease to extend")
    found = (await rows.leases.running_of([order.id])).get(order.id)
    if found is None:
        raise NotAllowed(_CLOSED)
    return found


async def offer(
    channels: ChannelServices,
    order: Order,
    lease: RunningLease,
    now: ChannelsNow,
    blocks: int,
) -> ExtensionOffer:
    """Return the price of so many blocks; raise NotAllowed if the lease can't go on."""
    check(lease, now)
    if not sources.sells_direct(channels):
        raise NotAllowed(
            "this platform sells no more channels of its own, so it extends no lease"
        )
    if blocks > (most := most_blocks(lease, now.height)):
        raise Malformed(
            f"lease_duration_blocks: must be at most {max(most, 0):,} now, as a lease "
            f"ends within {LONGEST_BLOCKS:,} blocks"
        )
    premium, service_fee = pricing.extension_price(
        order.quote.channel, blocks, channels.rules.terms
    )
    return ExtensionOffer(
        order=order,
        lease=lease,
        height=now.height,
        blocks=blocks,
        premium=premium,
        service_fee=service_fee,
        paid_by=None,
    )


def check(lease: RunningLease, now: ChannelsNow) -> None:
    """Raise NotAllowed with the reason if a lease can't be extended."""
    if lease.point in now.closed:
        raise NotAllowed(_CLOSING)
    if lease.peer != now.seller:
        raise NotAllowed(
            "another lnd than the present seller's opened this channel, so its lease "
            "can't be extended; order a new channel"
        )
    if now.height >= lease.ends:
        raise NotAllowed(
            f"the lease ended at block {lease.ends:,}, so it can't be extended; order "
            "a new channel"
        )


def most_blocks(lease: RunningLease, height: int) -> int:
    """Return by how many blocks a lease can be extended now."""
    return LONGEST_BLOCKS - (lease.ends - height)


async def _paid_by(rows: Stores, offered: ExtensionOffer) -> PaymentSplit | None:
    """Return how credit and corporate account would pay it all; None: they don't."""
    price = offered.total_fee
    split = await split_payment(rows, offered.order.organization_id, price)
    return split if split.credit_used + split.charged == price else None


async def extend(
    channels: ChannelServices,
    organization_id: str,
    order_id: str,
    extension_id: str,
    blocks: int,
    *,
    most: int | None,
    actor: str,
    now: datetime,
) -> Extension:
    """Extend a lease, or return an extension with an invoice that asks for the price.

    A second call with the same id returns what the first one made. Raise Conflict if
    the price is above `most`, and OverLimit if the corporate account would owe more
    than its limit.
    """
    reader = channels.database.reader
    order = await orders.get(channels, organization_id, order_id)
    if (made := await reader.extensions.find(extension_id)) is not None:
        return _of(made, order)
    offered = await quote(channels, organization_id, order_id, blocks)
    if most is not None and offered.total_fee > most:
        raise Conflict(
            f"max_fee: the price is {offered.total_fee:,} sat, which is more than this"
        )
    offered = replace(offered, paid_by=await _paid_by(reader, offered))
    if offered.paid_by is not None:
        return await _extend_at_once(channels, offered, extension_id, actor, now)
    extension = replace(
        offered.extension(extension_id, ExtensionStatus.WAITING_PAYMENT, now),
        expires=now + channels.rules.order_lives,
    )
    await _check_none_open(reader, extension)
    extension = await with_invoice(channels, extension)
    async with _locked(channels, order.id, actor=actor, now=now) as (tx, _):
        await _check_none_open(tx, extension)
        await add(tx, extension)
    return extension


def _of(extension: Extension, order: Order) -> Extension:
    if extension.order_id != order.id:
        raise NotFound
    return extension


async def _check_none_open(rows: Stores, extension: Extension) -> None:
    if await rows.extensions.open_of_order(extension.order_id, but=extension.id):
        raise NotAllowed(
            "an extension of this lease waits for its payment: pay it, or wait until "
            "it expires"
        )


async def with_invoice(channels: ChannelServices, extension: Extension) -> Extension:
    """Return the extension with an invoice to pay it."""
    request = await channels.payments.request(
        extension.id,
        extension.total_fee,
        lives=extension.expires - extension.created,
        with_address=False,
    )
    return replace(
        extension,
        lightning_invoice=request.lightning_invoice,
        payment_hash=request.payment_hash,
    )


async def add(tx: Stores, extension: Extension) -> None:
    """Store an extension that waits for its payment; raise Stale if it is known."""
    before = extension.created - _FORGET_AFTER
    await tx.extensions.forget(extension.order_id, before=before)
    if not await tx.extensions.add(extension):
        raise Stale("this extension was stored in the meantime")
    await tx.tasks.put(EXTENSION, extension.id, due=extension.created)


@asynccontextmanager
async def _locked(
    channels: ChannelServices, order_id: str, *, actor: str, now: datetime
) -> AsyncIterator[tuple[Stores, UnitOfWork]]:
    """Open a transaction that has locked the order and its organization."""
    async with channels.database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order_id], now=now, lock_organizations=True)
        organization_id = work.order(order_id).organization_id
        await rights.confirm(tx, actor, organization_id, Right.MONEY)
        yield tx, work
        await work.flush(tx)


async def _extend_at_once(
    channels: ChannelServices,
    offered: ExtensionOffer,
    extension_id: str,
    actor: str,
    now: datetime,
) -> Extension:
    """Pay from credit and corporate account, and move the end of the lease."""
    order = offered.order
    extension = offered.extension(extension_id, ExtensionStatus.EXTENDED, now)
    async with _locked(channels, order.id, actor=actor, now=now) as (tx, work):
        if await _paid_by(tx, offered) != offered.paid_by:
            raise Stale("credit was spent in the meantime")
        if await lease_of(tx, work.order(order.id)) != offered.lease:
            raise Stale("the lease changed in the meantime")
        if not await tx.extensions.add(extension):
            raise Stale("this extension was stored in the meantime")
        await _book(tx, work, order, extension, offered.lease, height=offered.height)
    return extension


async def _book(
    tx: Stores,
    work: UnitOfWork,
    order: Order,
    extension: Extension,
    lease: RunningLease,
    *,
    height: int,
) -> None:
    """Book the price as earned, move the end of the lease, and tell its owner."""
    organization_id = order.organization_id
    from_credit = extension.total_fee - extension.charged
    work.post(
        entry(
            order,
            sats,
            source=source,
            target=ledger.EARNED,
            what=Reason.EARNED,
            key=f"{ledger.EXTENSION}{extension.id}:{part}",
        )
        for part, source, sats in (
            ("credit", ledger.credit(organization_id), from_credit),
            ("charged", ledger.owed(organization_id), extension.charged),
        )
        if sats
    )
    longer = replace(
        lease,
        ends=extension.ends,
        extended=lease.extended + extension.blocks,
        announced=min(lease.announced, leases.due_event(extension.ends, height)),
        auto_refused="",
    )
    if not await tx.leases.change(lease, longer):
        raise Stale("the lease changed in the meantime")
    data: Data = {
        "order_id": order.id,
        "channel_point": lease.point,
        "lease_ends_block": extension.ends,
        "lease_duration_blocks": extension.blocks,
        "amount": extension.total_fee,
    }
    event = Event(
        organization_id=organization_id, type="channel.lease_extended", data=data
    )
    tx.events.add(event, at=work.now)


# Leases that are extended by themselves.


async def set_automatic(
    channels: ChannelServices,
    organization_id: str,
    order_id: str,
    *,
    blocks: int,
    most: int,
    actor: str,
    now: datetime,
) -> Order:
    """Extend a lease by itself before it ends, up to a price; 0 blocks: do not."""
    order = await orders.get(channels, organization_id, order_id)
    if blocks:
        check_usual(blocks)
    async with _locked(channels, order.id, actor=actor, now=now) as (tx, work):
        lease = await lease_of(tx, work.order(order.id))
        after = replace(
            lease, auto_blocks=blocks, auto_most=Sats(most), auto_refused=""
        )
        if after != lease and not await tx.leases.change(lease, after):
            raise Stale("the lease changed in the meantime")
    return order


async def price_of_automatic(channels: ChannelServices, lease: RunningLease) -> Sats:
    """Return what extending a lease by itself costs now."""
    order = await channels.database.reader.orders.get(lease.order_id)
    parts = pricing.extension_price(
        order.quote.channel, lease.auto_blocks, channels.rules.terms
    )
    return Sats(sum(parts))


async def extend_automatically(
    channels: ChannelServices, lease: RunningLease, now: ChannelsNow
) -> None:
    """Extend a lease as its owner asked, or tell once why it is not extended.

    It is tried again at each look until the lease has ended, so that credit which
    arrives late is not too late.
    """
    order = await channels.database.reader.orders.get(lease.order_id)
    at = channels.clock()
    try:
        offered = await offer(channels, order, lease, now, lease.auto_blocks)
        paid_by = await _paid_by(channels.database.reader, offered)
    except OverLimit:
        await _tell_refused(channels, lease, Unextendable.LIMIT, at)
    except (NotAllowed, Malformed) as error:
        log.info(
            "a lease can't be extended",
            extra={"order": order.id, "why": error.message},
        )
        await _tell_refused(channels, lease, Unextendable.REFUSED, at)
    else:
        if offered.total_fee > lease.auto_most:
            await _tell_refused(channels, lease, Unextendable.PRICE, at)
        elif paid_by is None:
            await _tell_refused(channels, lease, Unextendable.CREDIT, at)
        else:
            # The same id each time: of two processes, one extends. Nobody else can
            # take it: the ids that forms and requests have are only UUID and suffix.
            once = uuid.uuid5(uuid.NAMESPACE_OID, f"{order.id} {lease.ends}")
            await _extend_at_once(
                channels,
                replace(offered, paid_by=paid_by),
                f"auto-{once}{SUFFIX}",
                ledger.PLATFORM,
                at,
            )


async def _tell_refused(
    channels: ChannelServices, lease: RunningLease, why: Unextendable, at: datetime
) -> None:
    if lease.auto_refused == why:
        return
    data: Data = {
        "order_id": lease.order_id,
        "channel_point": lease.point,
        "lease_ends_block": lease.ends,
        "reason": str(why),
        "amount": await price_of_automatic(channels, lease),
    }
    async with channels.database.transaction() as tx:
        if await tx.leases.change(lease, replace(lease, auto_refused=str(why))):
            event = Event(
                organization_id=lease.organization_id,
                type="channel.lease_not_extended",
                data=data,
            )
            tx.events.add(event, at=at)


async def try_automatically(
    channels: ChannelServices, lease: RunningLease, now: ChannelsNow
) -> None:
    """Extend as `extend_automatically` does; log what goes wrong, for the next look."""
    try:
        await extend_automatically(channels, lease, now)
    except LeydenError as error:
        log.warning(
            "can't extend a lease by itself yet",
            extra={"order": lease.order_id, "why": str(error)},
        )


# Extensions that are paid over Lightning.


async def follow(channels: ChannelServices, due: ClaimedTask) -> None:
    """Advance an extension whose invoice was sent; called until it has ended."""
    extension = await channels.database.reader.extensions.find(due.key)
    if extension is None or extension.status not in OPEN:
        return
    if extension.status is ExtensionStatus.WAITING_PAYMENT:
        if not await _is_paid(channels, due, extension):
            return
        extension = replace(extension, status=ExtensionStatus.SETTLING)
    await channels.database.reader.tasks.check_held(due.claim)
    settled = await channels.payments.settle(extension.payment_request)
    paid = await _paid(channels, extension) if settled else Sats(0)
    try:
        height = (await look(channels)).height
    except SellerAway:
        height = 0  # only for when its end is announced
    async with due.transaction() as tx:
        await _finish(channels, tx, extension, paid, height)
        await due.done(tx)


async def _is_paid(
    channels: ChannelServices, due: ClaimedTask, extension: Extension
) -> bool:
    """Move a paid extension to `settling`; return False if it waits or has ended."""
    now = channels.clock()
    invoice = await _invoice(channels, extension)
    is_over = now >= extension.expires
    if invoice.state in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}:
        try:
            why = await _why_not(channels, extension)
        except SellerAway as error:
            if not is_over:
                log.warning(
                    "unknown whether a lease can be extended",
                    extra={"order": extension.order_id, "why": str(error)},
                )
                await _reschedule(channels, due, _RETRY_AFTER)
                return False
            why = "the seller does not respond"
        if not why or invoice.state is InvoiceState.SETTLED:
            async with due.transaction() as tx:
                after = replace(extension, status=ExtensionStatus.SETTLING)
                return await tx.extensions.move(extension, after)
        log.warning(
            "a lease is not extended, and its payment goes back",
            extra={"order": extension.order_id, "why": why},
        )
        return await _end(channels, due, extension, ExtensionStatus.FAILED)
    if invoice.state is InvoiceState.CANCELLED or is_over:
        known = invoice.state is InvoiceState.OPEN
        return await _end(
            channels, due, extension, ExtensionStatus.EXPIRED, cancels=known
        )
    wait = min(channels.rules.sweep_every, extension.expires - now)
    await _reschedule(channels, due, wait)
    return False


async def _why_not(channels: ChannelServices, extension: Extension) -> str:
    """Return why the lease can't be extended by that now; "" if it can."""
    order = await channels.database.reader.orders.get(extension.order_id)
    now = await look(channels)
    try:
        lease = await lease_of(channels.database.reader, order)
        check(lease, now)
    except NotAllowed as error:
        return error.message
    if extension.blocks > most_blocks(lease, now.height):
        return "it was extended otherwise"
    return ""


async def _end(
    channels: ChannelServices,
    due: ClaimedTask,
    extension: Extension,
    status: ExtensionStatus,
    *,
    cancels: bool = True,
) -> bool:
    """Cancel the invoice and end the extension; return True if it was settled."""
    if cancels:
        await channels.database.reader.tasks.check_held(due.claim)
        if not await channels.payments.cancel(extension.payment_request):
            async with due.transaction() as tx:
                after = replace(extension, status=ExtensionStatus.SETTLING)
                return await tx.extensions.move(extension, after)
    async with due.transaction() as tx:
        await tx.extensions.move(extension, replace(extension, status=status))
        await due.done(tx)
    return False


async def _invoice(channels: ChannelServices, extension: Extension) -> Invoice:
    found = await channels.payments.lookup([extension.payment_request])
    (invoice,) = (each for each in found if isinstance(each, Invoice))
    return invoice


async def _paid(channels: ChannelServices, extension: Extension) -> Sats:
    """Return what a settled invoice received; it may be more than the price."""
    invoice = await _invoice(channels, extension)
    if invoice.state is not InvoiceState.SETTLED:
        raise TreasuryAway(why="a payment was settled, but the treasury forgot it")
    return invoice.sats


async def _finish(
    channels: ChannelServices,
    tx: Stores,
    extension: Extension,
    paid: Sats,
    height: int,
) -> None:
    """Book a settled payment, and extend the lease if its channel is still open."""
    work = await UnitOfWork.load(
        tx, [extension.order_id], now=channels.clock(), lock_organizations=True
    )
    order = work.order(extension.order_id)
    failed = replace(extension, status=ExtensionStatus.FAILED)
    if not paid:
        await tx.extensions.move(extension, failed)
        return
    work.post(
        [
            entry(
                order,
                paid,
                source=ledger.RECEIVED,
                target=ledger.credit(order.organization_id),
                what=Reason.PAYMENT,
                key=f"lightning:{extension.payment_hash}",
            )
        ]
    )
    lease = (await tx.leases.running_of([order.id])).get(order.id)
    if lease is None:
        surplus = paid
        moved = await tx.extensions.move(extension, failed)
        if extension.peer:
            what = (
                f"extension {extension.id}: the channel of order {order.id} was closed "
                f"while its buyer paid {paid:,} sat for a longer lease"
            )
            work.report(
                Finding(kind=AlarmKind.ORDER_OWED, subject=extension.id, what=what)
            )
    else:
        surplus = Sats(paid - extension.total_fee)
        after = replace(
            extension,
            status=ExtensionStatus.EXTENDED,
            ends=lease.ends + extension.blocks,
        )
        moved = await tx.extensions.move(extension, after)
        await _book(tx, work, order, after, lease, height=height)
    if not moved:
        raise Stale("another process finished this extension")
    _repay(work, order, extension, surplus)
    await work.flush(tx)


def _repay(work: UnitOfWork, order: Order, extension: Extension, surplus: Sats) -> None:
    """Let what was paid too much repay reversed payments first, as for orders."""
    organization_id = order.organization_id
    if repaid := min(surplus, work.outstanding(organization_id)):
        work.post(
            [
                entry(
                    order,
                    repaid,
                    source=ledger.credit(organization_id),
                    target=ledger.receivable(organization_id),
                    what=Reason.SURPLUS,
                    key=f"surplus:{extension.id}",
                )
            ]
        )


async def _reschedule(
    channels: ChannelServices, due: ClaimedTask, pause: timedelta
) -> None:
    async with due.transaction() as tx:
        await due.reschedule(tx, due=channels.clock() + pause)
