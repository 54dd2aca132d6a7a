"""Channels: priced while one types, ordered, paid, followed, cancelled."""

import uuid
from collections.abc import Hashable
from datetime import datetime
from typing import Final

from starlette.responses import Response

from leyden.domain.nodes import Status as NodeStatus
from leyden.domain.orders import MOVES, Event, Status
from leyden.domain.pricing import Channel, NodeTier
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.errors import Away, Malformed, Refused, TreasuryAway
from leyden.services import nodes, orders, tracking
from leyden.services.shop import Shop
from leyden.web import changes as changing
from leyden.web import pictures
from leyden.web.forms import Form
from leyden.web.visits import Visit, go

_AT_A_TIME: Final = 50
_BLOCKS_A_WEEK: Final = 1_008
_SATS: Final = 100_000_000
_WAY: Final = (
    Status.WAITING_PAYMENT,
    Status.CREATING,
    Status.CREATED,
    Status.SUBMITTED,
    Status.FILLED,
)
_NODES: Final = 20  # so many are offered as those that register a ticket


async def list_(visit: Visit) -> Response:
    """List the orders, newest first."""
    shop = shop_of(visit)
    found = await orders.list_(
        shop,
        visit.organization_id,
        before=_before(visit),
        most=_AT_A_TIME + 1,
    )
    shown = found[:_AT_A_TIME]
    more = len(found) > _AT_A_TIME
    return visit.render(
        "channels/list.html",
        orders=shown,
        older=f"{to_us(shown[-1].created)}.{shown[-1].id}" if more else "",
    )


async def ask(visit: Visit) -> Response:
    """Ask what the channel should be like."""
    return await _asked(
        visit,
        {
            "capacity": "1000000",
            "self_chan_balance": "0",
            "lease": "2016",
            "tier": NodeTier.BEST.value,
            "bps": "",
            "once": str(uuid.uuid4()),
        },
    )


async def quote(visit: Visit) -> Response:
    """Price what is in the form now; a part of the page of that form."""
    try:
        channel = _channel(visit.query)
        priced, credit_used, _ = await orders.quote(
            shop_of(visit), visit.organization_id, channel, now=visit.now
        )
    except (Refused, Away) as error:
        return visit.render("channels/quote.html", priced=None, wrong=error.message)
    return visit.render("channels/quote.html", priced=priced, credit_used=credit_used)


async def create(visit: Visit) -> Response:
    """Order it, once however often it is sent, and go to its page."""
    form = visit.form
    try:
        order = await orders.create(
            shop_of(visit),
            visit.organization_id,
            f"{_key(form.text('once'))}{orders.SUFFIX}",
            _channel(form),
            now=visit.now,
        )
    except Refused as error:
        values = {
            name: form.text(name)
            for name in (
                "capacity",
                "self_chan_balance",
                "lease",
                "tier",
                "bps",
                "once",
            )
        }
        return await _asked(visit, values, wrong=error)
    return go(f"{visit.root}/channels/{order.id}")


async def show(visit: Visit) -> Response:
    """Show how the order stands, how to pay, and what to do with its ticket."""
    shop = shop_of(visit)
    tracked = await tracking.track(shop, visit.organization_id, visit.path["order_id"])
    order = tracked.order
    fleet = visit.platform.fleet
    running = []
    if fleet is not None and order.status is Status.CREATED:
        theirs = await nodes.list_(fleet, visit.organization_id)
        running = [each for each in theirs if each.status == NodeStatus.RUNNING]
    return visit.render(
        "channels/show.html",
        tracked=tracked,
        order=order,
        mark=changing.mark(tracked.stamp),
        left=order.expires - visit.now,
        invoice_qr=await pictures.qr(
            visit, f"lightning:{order.lightning_invoice}".upper()
        )
        if order.lightning_invoice
        else "",
        address_qr=await pictures.qr(
            visit, _uri(order.onchain_address, order.to_be_paid)
        )
        if order.onchain_address
        else "",
        may_cancel=(order.status, Event.CANCELLED) in MOVES,
        ahead=_WAY[_WAY.index(order.status) + 1 :] if order.status in _WAY else (),
        nodes=running[-_NODES:],
        doors=fleet.rules.doors if fleet else None,
        Status=Status,
        weeks=order.quote.channel.lease_duration_blocks // _BLOCKS_A_WEEK,
    )


async def changes(visit: Visit) -> Response:
    """Tell whenever the order has moved, or money for it was seen."""
    shop, order_id = shop_of(visit), visit.path["order_id"]

    async def look() -> Hashable:
        return (await tracking.track(shop, visit.organization_id, order_id)).stamp

    await look()
    return changing.stream(visit, look)


async def cancel(visit: Visit) -> Response:
    """Give the order up; what was paid for it becomes credit."""
    order = await orders.cancel(
        shop_of(visit), visit.organization_id, visit.path["order_id"], now=visit.now
    )
    return go(f"{visit.root}/channels/{order.id}")


def shop_of(visit: Visit) -> Shop:
    """Give the shop, where channels are sold at all."""
    if (shop := visit.platform.shop) is None:
        raise TreasuryAway("No channels are sold here.")
    return shop


def _channel(given: Form) -> Channel:
    bps = given.number("bps", 0)
    try:
        tier = NodeTier(given.text("tier", NodeTier.BEST))
    except ValueError:
        raise Malformed("tier: must be any or best") from None
    return Channel(
        capacity=Sats(given.number("capacity")),
        self_chan_balance=Sats(given.number("self_chan_balance", 0)),
        lease_duration_blocks=given.number("lease"),
        node_tier=tier,
        bps=bps or None,
    )


def _key(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Malformed("This form is out of date; reload the page.") from None


def _before(visit: Visit) -> tuple[datetime, str] | None:
    text = visit.query.text("before")
    if not text:
        return None
    us, _, order_id = text.partition(".")
    try:
        return from_us(int(us)), order_id
    except (ValueError, OverflowError):
        raise Malformed("before: is no place in the list") from None


def _uri(address: str, sats: int) -> str:
    return f"bitcoin:{address}?amount={sats // _SATS}.{sats % _SATS:08d}"


async def _asked(
    visit: Visit, values: dict[str, str], wrong: Refused | None = None
) -> Response:
    shop = shop_of(visit)
    terms = shop.rules.terms
    auction = await shop.market.terms()
    return visit.render(
        "channels/new.html",
        values=values,
        terms=terms,
        leases=[(blocks, blocks // _BLOCKS_A_WEEK) for blocks in auction.leases],
        refused=wrong,
    )
