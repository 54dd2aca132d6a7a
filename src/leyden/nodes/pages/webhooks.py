"""A node's webhook: endpoint, deliveries, test events."""

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.errors import Refused
from leyden.events.pages.subscription_pages import ask_rotate, dispatcher_of
from leyden.nodes import commands, views, webhooks
from leyden.nodes.pages import node
from leyden.nodes.pages.fleet import fleet_of, node_root, which

_AT_A_TIME = 25


async def show(visit: Visit) -> Response:
    """Show the endpoint and the latest deliveries."""
    return await _shown(visit)


async def readdress(visit: Visit) -> Response:
    """Change the endpoint for events from now on, without a restart."""
    url = visit.form.text("webhook")
    try:
        await commands.change_settings(
            fleet_of(visit),
            *which(visit),
            {"webhook": url},
            actor=visit.user.actor,
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, typed=url, wrong=error)
    return redirect(f"{node_root(visit)}/webhook?done=saved")


async def test(visit: Visit) -> Response:
    """Send the endpoint a test status now."""
    try:
        await webhooks.test(dispatcher_of(visit), *which(visit), actor=visit.user.actor)
    except Refused as error:
        return await _shown(visit, wrong=error)
    return redirect(f"{node_root(visit)}/webhook?done=sent")


async def redeliver(visit: Visit) -> Response:
    """Send an event again."""
    event_id = visit.form.text("delivery")
    try:
        await webhooks.redeliver(
            dispatcher_of(visit), *which(visit), event_id, actor=visit.user.actor
        )
    except Refused as error:
        return await _shown(visit, wrong=error)
    return redirect(f"{node_root(visit)}/webhook?done=sent")


async def ask_rotate_secret(visit: Visit) -> Response:
    """Ask before the secret is replaced."""
    node = await views.get(fleet_of(visit), *which(visit))
    back = f"{node_root(visit)}/webhook"
    return ask_rotate(visit, node.name, back=back, shows_secret=True)


async def rotate_secret(visit: Visit) -> Response:
    """Replace the webhook secret."""
    await webhooks.rotate_secret(
        dispatcher_of(visit), *which(visit), actor=visit.user.actor
    )
    return redirect(f"{node_root(visit)}/webhook?done=rotated")


async def _shown(
    visit: Visit, *, typed: str | None = None, wrong: Refused | None = None
) -> Response:
    view = await views.view(fleet_of(visit), *which(visit))
    overview = await webhooks.overview(
        dispatcher_of(visit),
        *which(visit),
        before=visit.query.number("before", 0) or None,
        limit=_AT_A_TIME,
    )
    full = len(overview.deliveries) == _AT_A_TIME
    return node.render(
        visit,
        "nodes/webhook.html",
        view.node,
        typed=view.node.settings.webhook if typed is None else typed,
        endpoint=overview.endpoint,
        deliveries=overview.deliveries,
        older=overview.deliveries[-1].position if full else 0,
        secret=view.settings["webhook_secret"],
        refused=wrong,
    )
