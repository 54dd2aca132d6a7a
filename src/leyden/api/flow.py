"""The ordering endpoints: each one translates, asks a service, and translates back."""

import base64
import binascii
import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import cast

import msgspec

from leyden.api import sheets
from leyden.api.flow_schemas import (
    BalanceAnswer,
    CancelledOrder,
    ChannelWish,
    CouponReference,
    CouponsAnswer,
    LedgerAnswer,
    LedgerEntry,
    LedgerQuery,
    OrderAnswer,
    OrderReference,
    OrdersAnswer,
    OrdersQuery,
    QuoteAnswer,
    Redeemed,
    cancelled,
    coupon,
    entry,
    ordered,
    quoted,
)
from leyden.api.operations import Request
from leyden.api.sheets import Cells, Sheet
from leyden.domain.orders import Order
from leyden.domain.times import from_us, to_us
from leyden.errors import Malformed, TreasuryAway
from leyden.services import checkout, credit, orders
from leyden.services.shop import Shop
from leyden.storage.ledger import Written

_USUAL_PAGE = 100
_LARGEST_PAGE = 500
# Held to what is given out: a NUL in an id, say, is more than PostgreSQL takes.
_PLACE = re.compile(rb"([0-9]{1,18}) ([0-9A-Za-z-]{1,60})")
_NO_QUOTE = msgspec.Raw(), datetime.min.replace(tzinfo=UTC)


async def quote(request: Request, body: ChannelWish) -> QuoteAnswer:
    """Price a channel; the price holds for ten minutes."""
    shop, of = _shop(request), request.principal.organization_id
    # All that the price and the credit follow from, beside the rules of the house.
    made_of = shop.database.edition(), of, body, await shop.market.terms()
    answer, until = request.platform.quoted.find(made_of) or _NO_QUOTE
    if request.now >= until:
        offer = await orders.quote(shop, of, body.channel(), now=request.now)
        answer = msgspec.Raw(
            msgspec.json.encode(quoted(offer.quote, offer.credit_used))
        )
        if made_of[0] is not None:
            request.platform.quoted.keep(made_of, (answer, offer.fresh_until))
    return cast("QuoteAnswer", answer)


async def create(request: Request, body: ChannelWish) -> OrderAnswer:
    """Order a channel, and learn how to pay for it.

    Where credit or the account covers it all, the answer carries the ticket.
    """
    shop = _shop(request)
    order = await orders.create(
        shop,
        request.principal.organization_id,
        f"{request.key}{orders.SUFFIX}",
        body.channel(),
        now=request.now,
    )
    if order.paid:
        order = await checkout.ticketed(shop, order)
    return _ordered(shop, order)


async def status(request: Request, body: OrderReference) -> OrderAnswer:
    """Tell how an order stands."""
    shop = _shop(request)
    organization_id = request.principal.organization_id
    return _ordered(shop, await orders.get(shop, organization_id, body.order_id))


async def cancel(request: Request, body: OrderReference) -> CancelledOrder:
    """Give an order up; what was paid becomes credit. Twice is the same as once."""
    shop = _shop(request)
    order = await orders.cancel(
        shop, request.principal.organization_id, body.order_id, now=request.now
    )
    return cancelled(order, checkout.open_ticket(shop, order))


async def list_(request: Request, query: OrdersQuery) -> OrdersAnswer:
    """List the orders, newest first."""
    shop = _shop(request)
    found = await orders.list_(
        shop,
        request.principal.organization_id,
        before=_place(query.cursor),
        most=query.limit + 1,
    )
    shown = found[: query.limit]
    return OrdersAnswer(
        orders=[_ordered(shop, order) for order in shown],
        next_cursor=_cursor(shown[-1]) if len(found) > query.limit else "",
    )


async def coupons(request: Request) -> CouponsAnswer:
    """List the coupons, used and unused."""
    found = await credit.coupons(
        request.platform.database, request.principal.organization_id
    )
    return CouponsAnswer(coupons=[coupon(each) for each in found])


async def redeem(request: Request, body: CouponReference) -> Redeemed:
    """Turn a coupon into credit."""
    available, worth = await credit.redeem(
        request.platform.database,
        request.principal.organization_id,
        body.coupon,
        now=request.now,
    )
    return Redeemed(coupon=body.coupon, credit=available, coupon_amount=worth)


async def balance(request: Request) -> BalanceAnswer:
    """Tell what the account comes to."""
    has = await credit.balance(
        request.platform.database, request.principal.organization_id
    )
    return BalanceAnswer(balance=has.balance, credit=has.credit)


async def ledger(request: Request, query: LedgerQuery) -> LedgerAnswer | Sheet:
    """List every movement of the account's money, newest first; as CSV if you like."""
    most = None if query.limit is msgspec.UNSET else query.limit
    is_sheet = query.format == "csv" or (
        query.format is msgspec.UNSET and sheets.is_asked_for(request.accept)
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
    """Give the lines from there on, as many as are wanted, or all there are."""
    first = await _history(request, before, most or _LARGEST_PAGE)

    async def rest() -> AsyncIterator[list[Cells]]:
        page = first
        while most is None and len(page) == _LARGEST_PAGE:
            page = await _history(request, page[-1].number, _LARGEST_PAGE)
            yield _cells(page)

    return Sheet("ledger", LedgerEntry.__struct_fields__, _cells(first), rest())


def _cells(page: Sequence[Written]) -> list[Cells]:
    return [msgspec.structs.astuple(entry(each)) for each in page]


async def _history(request: Request, before: int | None, most: int) -> list[Written]:
    return await credit.history(
        request.platform.database,
        request.principal.organization_id,
        before=before,
        most=most,
    )


def _shop(request: Request) -> Shop:
    if (shop := request.platform.shop) is None:
        raise TreasuryAway("no channels are sold here", retry_after_s=3600)
    return shop


def _ordered(shop: Shop, order: Order) -> OrderAnswer:
    return ordered(order, checkout.open_ticket(shop, order))


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
    raise Malformed("cursor: is none that was given out")
