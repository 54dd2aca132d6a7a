"""A node's webhook: where it goes, what was sent, and trying it out."""

from starlette.responses import Response

from leyden.errors import NodeAway, Refused
from leyden.services import node_commands, nodes, webhooks
from leyden.services.courier import Courier
from leyden.web import node
from leyden.web.fleet import fleet_of, node_root, which
from leyden.web.visits import Visit, go

_AT_A_TIME = 25
_NEWEST = (1 << 63) - 1


async def show(visit: Visit) -> Response:
    """Show where events go and what became of the latest."""
    return await _shown(visit)


async def readdress(visit: Visit) -> Response:
    """Send events elsewhere from now on; no restart."""
    url = visit.form.text("webhook")
    try:
        await node_commands.change_settings(
            fleet_of(visit),
            *which(visit),
            {"webhook": url},
            actor=visit.who.actor,
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, typed=url, wrong=error)
    return go(f"{node_root(visit)}/webhook?done=saved")


async def test(visit: Visit) -> Response:
    """Send the receiver a status, now."""
    try:
        await webhooks.test(_courier(visit), *which(visit))
    except Refused as error:
        return await _shown(visit, wrong=error)
    return go(f"{node_root(visit)}/webhook?done=sent")


async def redeliver(visit: Visit) -> Response:
    """Send an event once more."""
    event_id = visit.form.text("delivery")
    try:
        await webhooks.redeliver(_courier(visit), *which(visit), event_id)
    except Refused as error:
        return await _shown(visit, wrong=error)
    return go(f"{node_root(visit)}/webhook?done=sent")


async def rotate_secret(visit: Visit) -> Response:
    """Make a new secret."""
    await webhooks.rotate_secret(_courier(visit), *which(visit), actor=visit.who.actor)
    return go(f"{node_root(visit)}/webhook?done=rotated")


async def _shown(
    visit: Visit, *, typed: str | None = None, wrong: Refused | None = None
) -> Response:
    view = await nodes.view(fleet_of(visit), *which(visit))
    overview = await webhooks.overview(
        _courier(visit),
        *which(visit),
        before=visit.query.number("before", _NEWEST),
        most=_AT_A_TIME,
    )
    full = len(overview.deliveries) == _AT_A_TIME
    response = node.render(
        visit,
        "nodes/webhook.html",
        view.node,
        typed=view.node.settings.webhook if typed is None else typed,
        receiver=overview.receiver,
        deliveries=overview.deliveries,
        older=overview.deliveries[-1].event.position if full else 0,
        secret=view.settings["webhook_secret"],
        refused=wrong,
    )
    if wrong is not None and wrong.retry_after_s is not None:
        response.headers["retry-after"] = str(wrong.retry_after_s)
    return response


def _courier(visit: Visit) -> Courier:
    if (courier := visit.platform.courier) is None:
        raise NodeAway("Nothing is sent from here.")
    return courier
