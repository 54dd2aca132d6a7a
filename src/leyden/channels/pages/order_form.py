"""The form that orders a channel: priced while typing, and placed once.

It asks for node and capacity first. The customer's own node is chosen, and gets the
channel directly; a ticket is the last choice.
"""

import re
import uuid
from typing import Final

from starlette.responses import Response

from leyden.base.pages.forms import Form
from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.units import BLOCKS_PER_WEEK, Sats
from leyden.channels import orders, sources
from leyden.channels.direct import destinations
from leyden.channels.pages.orders import channels_of
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import Channel, NodeTier, Quote
from leyden.errors import Away, Malformed, Refused
from leyden.nodes.rules.nodes import NodeListing, NodeStatus
from leyden.values import Struct

_FIELDS: Final = (
    *("for", "node", "announce", "zero_conf"),
    *("capacity", "self_chan_balance", "lease", "tier", "premium", "once"),
)
_TICKET: Final = ""  # chosen where a ticket decides who gets the channel
_OTHER: Final = "other"
_NODES: Final = 100  # so many of one's own are offered
_AMOUNTS: Final = ("capacity", "self_chan_balance")
_PERCENT: Final = re.compile(r"(\d{1,3})(?:\.(\d{1,2}))?")
# What people call the fields of the API that an error names.
_WORDS: Final = {
    "node": "Node",
    "node_id": "Node",
    "capacity": "Capacity",
    "lease_duration_blocks": "Lease",
    "self_chan_balance": "Balance on your side",
    "premium": "Highest price for the lease",
    "bps": "Highest price for the lease",
    "node_tier": "Seller's rating",
    "zero_conf": "Zero-conf",
}


class _Priced(Struct, frozen=True, kw_only=True):
    """A price, or why there is none."""

    quote: Quote | None = None
    credit_used: Sats = Sats(0)
    wrong: str = ""


async def ask(visit: Visit) -> Response:
    """Show the form for a channel, with the price of a usual one, or of its link's."""
    given = visit.query
    values = {
        "for": given.text("for", await _usual_node(visit)),
        "node": given.text("node"),
        "announce": "",
        "zero_conf": "",
        "capacity": given.text("capacity", "1,000,000"),
        "self_chan_balance": "0",
        "lease": given.text("lease", "2016"),
        "tier": NodeTier.BEST.value,
        "premium": "",
        "once": str(uuid.uuid4()),
    }
    return await _form(visit, values)


async def quote(visit: Visit) -> Response:
    """Price the channel in the form, as a fragment of its page."""
    priced = await _priced(visit, visit.query)
    return visit.render("channels/quote.html", priced=priced)


async def create(visit: Visit) -> Response:
    """Place the order, once even if sent twice, and redirect to its page.

    Without scripts the form is also sent to see the price alone.
    """
    form = visit.form
    values = {name: form.text(name) for name in _FIELDS}
    if form.text("price"):
        return await _form(visit, values)
    try:
        order = await _placed(visit, form)
    except Refused as error:
        return await _form(visit, values, wrong=error)
    return redirect(f"{visit.root}/channels/{order.id}")


async def _placed(visit: Visit, form: Form) -> Order:
    return await orders.create(
        channels_of(visit),
        visit.organization_id,
        f"{form.key('once')}{orders.SUFFIX}",
        await _channel(visit, form),
        actor=visit.user.actor,
        now=visit.now,
    )


async def _form(
    visit: Visit, values: dict[str, str], wrong: Refused | None = None
) -> Response:
    channels, nodes = channels_of(visit), await _nodes(visit)
    return visit.render(
        "channels/new.html",
        values=values | {name: _amount(values[name]) for name in _AMOUNTS},
        terms=channels.rules.terms,
        sells_direct=sources.sells_direct(channels),
        sells_tickets=sources.sells_tickets(channels),
        nodes=nodes,
        with_keys=await _with_keys(visit, nodes),
        leases=[
            (blocks, blocks // BLOCKS_PER_WEEK)
            for blocks in await sources.leases(channels)
        ],
        priced=await _priced(visit, Form(list(values.items()))),
        refused=wrong,
    )


async def _priced(visit: Visit, given: Form) -> _Priced:
    try:
        channel = await _channel(visit, given)
        offer = await sources.quote(
            channels_of(visit), visit.organization_id, channel, now=visit.now
        )
    except (Refused, Away) as error:
        field, colon, rest = error.message.partition(": ")
        name = _WORDS.get(field, field) if colon else field
        return _Priced(wrong=f"{name}{colon}{rest}")
    return _Priced(quote=offer.quote, credit_used=offer.credit_used)


async def _usual_node(visit: Visit) -> str:
    """Return what is chosen at first: an own node, best one that can get a channel."""
    if not sources.sells_direct(channels_of(visit)):
        return _TICKET
    nodes = await _nodes(visit)
    known = await _with_keys(visit, nodes)
    ready = [each for each in nodes if each.id in known]
    running = [each for each in ready if each.status == NodeStatus.RUNNING]
    for each in (*running, *ready, *nodes):
        return each.id
    return _OTHER


async def _with_keys(visit: Visit, nodes: list[NodeListing]) -> set[str]:
    """Return those nodes that can be named without their public key."""
    return await visit.rows.node_keys.of_nodes(each.id for each in nodes)


async def _nodes(visit: Visit) -> list[NodeListing]:
    """Return one's own nodes, to which a channel may go."""
    rows = visit.rows.nodes
    return await rows.page(visit.organization_id, skipped=0, limit=_NODES)


async def _channel(visit: Visit, given: Form) -> Channel:
    chosen = given.text("for")
    if chosen == _TICKET:
        return _with_ticket(given)
    if chosen == _OTHER and not given.text("node"):
        raise Malformed("node: enter the public key of the node")
    channel = Channel(
        capacity=Sats(given.number("capacity")),
        lease_duration_blocks=given.number("lease"),
        node_id="" if chosen == _OTHER else chosen,
        announce=bool(given.text("announce")),
        zero_conf=bool(given.text("zero_conf")),
    )
    return await destinations.resolve(
        channels_of(visit), visit.organization_id, channel, node=given.text("node")
    )


def _with_ticket(given: Form) -> Channel:
    try:
        tier = NodeTier(given.text("tier", NodeTier.BEST))
    except ValueError:
        raise Malformed("tier: must be any or best") from None
    return Channel(
        capacity=Sats(given.number("capacity")),
        self_chan_balance=Sats(given.number("self_chan_balance", 0)),
        lease_duration_blocks=given.number("lease"),
        node_tier=tier,
        bps=_premium(given),
    )


def _premium(given: Form) -> int | None:
    """Return a percentage in hundredths of a percent; None where none was typed."""
    if not (typed := given.text("premium").removesuffix("%").strip()):
        return None
    if not (found := _PERCENT.fullmatch(typed)):
        raise Malformed("premium: must be a percentage such as 0.5")
    whole, fraction = found[1], found[2] or ""
    return int(whole) * 100 + int(fraction.ljust(2, "0")) or None


def _amount(typed: str) -> str:
    """Return an amount with separators; what is no amount as it was typed."""
    try:
        return f"{Form([('amount', typed)]).number('amount'):,}"
    except Malformed:
        return typed
