"""The operator API's endpoints of money: balances, coupons and orders."""

from datetime import datetime
from typing import Any

from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.channels.money import corrections, credit
from leyden.channels.money.corrections import Correction
from leyden.channels.money.rules.coupons import Coupon
from leyden.channels.rules.orders import Order
from leyden.channels.tickets import missing_tickets
from leyden.errors import Malformed, TreasuryAway
from leyden.operators import attention
from leyden.operators.api.operator_organizations import ends, or_none, shown
from leyden.schemas.operator import (
    Abandonment,
    AccountLimit,
    AllCouponsAnswer,
    CouponItem,
    IssuedCoupons,
    NewCorrection,
    NewCoupons,
    NewestOrdersAnswer,
    NewestQuery,
    OrderAttention,
    OrderAttentionAnswer,
    OrganizationAnswer,
    PageQuery,
    SoldOrder,
    SoldOrdersAnswer,
)


async def set_limit(request: Request, body: AccountLimit) -> OrganizationAnswer:
    """Open or close a corporate account, or change its limit.

    With one, orders are added to the amount owed. Closing it forgives nothing.
    """
    await credit.open_account(
        request.platform.database,
        request.path["organization_id"],
        most_owed=body.most_owed,
        actor=request.principal.actor,
        now=request.now,
    )
    return await shown(request)


async def correct(request: Request, body: NewCorrection) -> OrganizationAnswer:
    """Adjust an organization's balance.

    The reason stands in its ledger. Send an `Idempotency-Key`, so that a repetition
    moves nothing.
    """
    await corrections.correct(
        request.platform.database,
        request.path["organization_id"],
        Correction(body.kind),
        sats=body.amount,
        reason=body.reason,
        actor=request.principal.actor,
        key=str(request.key),
        now=request.now,
    )
    return await shown(request)


async def list_coupons(request: Request, query: PageQuery) -> AllCouponsAnswer:
    """List the coupons of all organizations.

    With their codes: who has one can redeem it.
    """
    found = await request.platform.database.reader.coupons.all_(
        after=query.cursor, limit=query.limit + 1
    )
    page = found[: query.limit]
    return AllCouponsAnswer(
        coupons=[_coupon(each) for each in page],
        next_cursor=page[-1].id if len(found) > query.limit else "",
    )


async def create_coupons(request: Request, body: NewCoupons) -> IssuedCoupons:
    """Create coupons.

    Anyone with a coupon's code can redeem it, once. Send an `Idempotency-Key`, so that
    a repetition creates no others.
    """
    made = await credit.issue_coupons(
        request.platform.database,
        sats=body.amount,
        count=body.count,
        organization_id=body.organization_id or None,
        expires=ends(request, body.days),
        note=body.note,
        actor=request.principal.actor,
        now=request.now,
        ids=credit.coupon_ids(request.platform.sealer, request.key, body.count),
    )
    return IssuedCoupons(coupons=[_coupon(each) for each in made])


async def list_orders(request: Request, query: NewestQuery) -> NewestOrdersAnswer:
    """List the newest orders of all organizations.

    Without tickets and invoices. Older ones are in the lists of their organizations.
    """
    reader = request.platform.database.reader.orders
    found = await reader.newest(limit=query.limit)
    return NewestOrdersAnswer(orders=[SoldOrder(**_order(each)) for each in found])


async def list_attention(request: Request) -> OrderAttentionAnswer:
    """List orders that need attention.

    Those that are lost, stuck half-way, or failed, with the reason.
    """
    found = await attention.needing_attention(request.platform, now=request.now)
    return OrderAttentionAnswer(
        orders=[OrderAttention(**_order(each.order), why=each.why) for each in found]
    )


async def list_orders_of(request: Request, query: PageQuery) -> SoldOrdersAnswer:
    """List an organization's orders.

    Newest first, without tickets and invoices, which are its own.
    """
    reader = request.platform.database.reader
    of = await reader.accounts.get(request.path["organization_id"])
    found = await reader.orders.page(
        of.id, before=await _position(request, query.cursor), limit=query.limit + 1
    )
    page = found[: query.limit]
    return SoldOrdersAnswer(
        orders=[SoldOrder(**_order(each)) for each in page],
        next_cursor=page[-1].id if len(found) > query.limit else "",
    )


async def get_order(request: Request) -> SoldOrder:
    """Return an order.

    Of any organization, without its ticket and its invoice.
    """
    reader = request.platform.database.reader.orders
    return SoldOrder(**_order(await reader.get(request.path["order_id"])))


async def abandon_order(request: Request, body: Abandonment) -> SoldOrder:
    """Abandon an order whose ticket or purchase is lost.

    Its payment becomes credit. First make sure that its bid is not in the auction. A
    purchase is lost if the alarm `purchase.unknown` names its order.
    """
    channels = request.platform.channels
    if channels is None:
        raise TreasuryAway("this platform sells no channels", retry_after_s=3600)
    order = await missing_tickets.abandon(
        channels,
        request.path["order_id"],
        reason=body.reason,
        actor=request.principal.actor,
    )
    return SoldOrder(**_order(order))


async def _position(request: Request, cursor: str) -> tuple[datetime, str] | None:
    if not cursor:
        return None
    last = await request.platform.database.reader.orders.find(cursor)
    if last is None:
        raise Malformed("cursor: must be the `next_cursor` of an earlier page")
    return last.created, last.id


def _coupon(shown: Coupon) -> CouponItem:
    return CouponItem(
        coupon=shown.id,
        amount=shown.sats,
        organization_id=shown.organization_id,
        created=to_iso(shown.created),
        expires=or_none(shown.expires),
        note=shown.note,
        claimed=or_none(shown.claimed_at),
        claimed_by=shown.claimed_by,
    )


def _order(shown: Order) -> dict[str, Any]:
    return {
        "order_id": shown.id,
        "organization_id": shown.organization_id,
        "status": shown.status.value,
        "kind": shown.kind.value,
        "created": to_iso(shown.created),
        "paid": or_none(shown.paid_at),
        "capacity": shown.quote.channel.capacity,
        "fee": shown.total_fee,
        "credit_used": shown.credit_used,
        "charged": shown.charged,
    }
