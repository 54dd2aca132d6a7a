"""The ordering endpoints: thin handlers around the services."""

import base64
import binascii
import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import msgspec

from leyden.base.http import csv_responses, turns
from leyden.base.http.csv_responses import Cells, Sheet
from leyden.base.http.operations import Request
from leyden.base.rules.times import from_us, to_us
from leyden.channels import leased_channels, orders, sources
from leyden.channels.api.flow_schemas import (
    ChannelWish,
    cancelled,
    coupon,
    entry,
    ordered,
    quoted,
)
from leyden.channels.direct import destinations, reservations
from leyden.channels.money import credit
from leyden.channels.rules.customer_ledger import CustomerEntry
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.shop import Shop
from leyden.channels.tickets.ticket_source import open_ticket, wait_for_ticket
from leyden.errors import Malformed, TreasuryAway
from leyden.schemas.credit import (
    BalanceAnswer,
    CouponReference,
    CouponsAnswer,
    LedgerAnswer,
    LedgerEntry,
    LedgerQuery,
    Redeemed,
)
from leyden.schemas.flow import (
    CancelledOrder,
    OrderAnswer,
    OrderReference,
    OrdersAnswer,
    OrdersQuery,
    QuoteAnswer,
)

_USUAL_PAGE = 100
_ROWS_AT_A_TIME = 200  # of a whole ledger: 4 ms
# Held to what is given out: a NUL in an id, say, is more than PostgreSQL takes.
_PLACE = re.compile(rb"([0-9]{1,18}) ([0-9A-Za-z-]{1,60})")


async def quote(request: Request, body: ChannelWish) -> QuoteAnswer:
    """Return a quote."""
    shop, organization_id = _shop(request), request.principal.organization_id
    channel = await destinations.resolve(
        shop, organization_id, body.channel(), node=body.node
    )
    offer = await sources.quote(shop, organization_id, channel, now=request.now)
    return quoted(offer.quote, offer.credit_used, offer.source)


async def create(request: Request, body: ChannelWish) -> OrderAnswer:
    """Create an order.

    If credit or the corporate account covers the full price, the response
    includes the ticket. With `node` or `node_id` there is no ticket: the channel is
    opened to that node.
    """
    shop = _shop(request)
    organization_id = request.principal.organization_id
    channel = await destinations.resolve(
        shop, organization_id, body.channel(), node=body.node
    )
    order = await orders.create(
        shop,
        organization_id,
        f"{request.key}{orders.SUFFIX}",
        channel,
        actor=request.principal.actor,
        now=request.now,
    )
    if order.paid:
        order = await wait_for_ticket(shop, order)
    return await _ordered(shop, order)


async def status(request: Request, body: OrderReference) -> OrderAnswer:
    """Return an order."""
    shop = _shop(request)
    organization_id = request.principal.organization_id
    return await _ordered(shop, await orders.get(shop, organization_id, body.order_id))


async def cancel(request: Request, body: OrderReference) -> CancelledOrder:
    """Cancel an order.

    What was paid becomes credit. A second call has no further effect.
    """
    shop = _shop(request)
    order = await orders.cancel(
        shop,
        request.principal.organization_id,
        body.order_id,
        actor=request.principal.actor,
        now=request.now,
    )
    return cancelled(order, open_ticket(shop, order))


async def list_(request: Request, query: OrdersQuery) -> OrdersAnswer:
    """List orders."""
    shop = _shop(request)
    found = await orders.list_(
        shop,
        request.principal.organization_id,
        before=_place(query.cursor),
        most=query.limit + 1,
    )
    shown = found[: query.limit]
    channels = await leased_channels.find(shop.database.reader, shown)
    uri = await reservations.seller_uri(shop.database.reader)
    return OrdersAnswer(
        orders=[
            ordered(each, open_ticket(shop, each), channels.get(each.id), uri)
            for each in shown
        ],
        next_cursor=_cursor(shown[-1]) if len(found) > query.limit else "",
    )


async def coupons(request: Request) -> CouponsAnswer:
    """List coupons."""
    found = await credit.coupons(
        request.platform.database, request.principal.organization_id
    )
    return CouponsAnswer(coupons=[coupon(each) for each in found])


async def redeem(request: Request, body: CouponReference) -> Redeemed:
    """Redeem a coupon."""
    available, worth = await credit.redeem(
        request.platform.database,
        request.principal.organization_id,
        body.coupon,
        actor=request.principal.actor,
        now=request.now,
        request_id=str(request.key),
    )
    return Redeemed(coupon=body.coupon, credit=available, coupon_amount=worth)


async def balance(request: Request) -> BalanceAnswer:
    """Return the balance."""
    has = await credit.balance(
        request.platform.database, request.principal.organization_id
    )
    return BalanceAnswer(balance=has.balance, credit=has.credit)


async def ledger(request: Request, query: LedgerQuery) -> LedgerAnswer | Sheet:
    """List ledger entries."""
    most = None if query.limit is msgspec.UNSET else query.limit
    is_sheet = query.format == "csv" or (
        query.format is msgspec.UNSET and csv_responses.wants_csv(request.accept)
    )
    if is_sheet:
        return await _sheet(request, before=query.cursor or None, most=most)
    most = most or _USUAL_PAGE
    found = await _history(request, query.cursor or None, most + 1)
    shown = found[:most]
    return LedgerAnswer(
        entries=[entry(each) for each in shown],
        next_cursor=shown[-1].number if len(found) > most else 0,
    )


async def _sheet(request: Request, *, before: int | None, most: int | None) -> Sheet:
    """Return ledger rows from the cursor on, at most `most`, as CSV."""
    first = await _history(request, before, most or _ROWS_AT_A_TIME)

    async def rest() -> AsyncIterator[list[Cells]]:
        page = first
        while most is None and len(page) == _ROWS_AT_A_TIME:
            await turns.take(request.principal.organization_id)
            page = await _history(request, page[-1].number, _ROWS_AT_A_TIME)
            yield _cells(page)

    return Sheet("ledger", LedgerEntry.__struct_fields__, _cells(first), rest())


def _cells(page: Sequence[CustomerEntry]) -> list[Cells]:
    return [msgspec.structs.astuple(entry(each)) for each in page]


async def _history(
    request: Request, before: int | None, most: int
) -> list[CustomerEntry]:
    return await credit.history(
        request.platform.database,
        request.principal.organization_id,
        before=before,
        most=most,
    )


def _shop(request: Request) -> Shop:
    if (shop := request.platform.shop) is None:
        raise TreasuryAway("this platform sells no channels", retry_after_s=3600)
    return shop


async def _ordered(shop: Shop, order: Order) -> OrderAnswer:
    reader = shop.database.reader
    channels = await leased_channels.find(reader, [order])
    uri = ""
    if order.kind is ChannelKind.DIRECT:
        uri = await reservations.seller_uri(reader)
    ticket = open_ticket(shop, order)
    return ordered(order, ticket, channels.get(order.id), uri)


def _cursor(order: Order) -> str:
    place = f"{to_us(order.created)} {order.id}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[datetime, str] | None:
    if not cursor:
        return None
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        place = _PLACE.fullmatch(base64.b64decode(padded, b"-_", validate=True))
        if place is not None:
            return from_us(int(place[1])), place[2].decode()
    except (binascii.Error, ValueError, OverflowError):
        pass
    raise Malformed("cursor: must be the `next_cursor` of an earlier page")
