"""A node's settings, and who may reach it."""

from starlette.responses import Response

from leyden.errors import Refused
from leyden.services import node_commands, nodes
from leyden.web import explained, node
from leyden.web.fleet import fleet_of, node_root, which
from leyden.web.visits import Visit, go


async def show(visit: Visit) -> Response:
    """Show all settings, each with what it does."""
    view = await nodes.view(fleet_of(visit), *which(visit))
    now = explained.shown(view.settings)
    return _settings(visit, view, values=now, was=now)


async def change(visit: Visit) -> Response:
    """Change what is another than the page had shown."""
    given = explained.changed(visit.form)
    try:
        restarts = await _change(visit, given)
    except Refused as error:
        view = await nodes.view(fleet_of(visit), *which(visit))
        filled = explained.shown(explained.settings(visit.form))
        was = {name: visit.form.text(f"was-{name}") for name in filled}
        return _settings(visit, view, values=filled, was=was, wrong=error)
    done = "restarting" if restarts else "saved"
    return go(f"{node_root(visit)}/settings?done={done}")


async def show_whitelist(visit: Visit) -> Response:
    """Show who may reach the node."""
    view = await nodes.view(fleet_of(visit), *which(visit))
    return _whitelist(visit, view, "\n".join(view.node.settings.whitelist))


async def replace_whitelist(visit: Visit) -> Response:
    """Say who may reach it; who no longer may is cut off within a second."""
    typed = visit.form.text("whitelist")
    try:
        await _change(visit, {"whitelist": explained.addresses(typed)})
    except Refused as error:
        view = await nodes.view(fleet_of(visit), *which(visit))
        return _whitelist(visit, view, typed, wrong=error)
    return go(f"{node_root(visit)}/whitelist?done=saved")


async def _change(visit: Visit, given: dict[str, object]) -> bool:
    """Change settings, if any; tell whether lnd starts again for it."""
    fleet = fleet_of(visit)
    before = await nodes.get(fleet, *which(visit))
    if not given:
        return False
    after = await node_commands.change_settings(
        fleet, *which(visit), given, actor=visit.who.actor, now=visit.now
    )
    return after.revision != before.revision


def _settings(
    visit: Visit,
    view: nodes.View,
    *,
    values: dict[str, str],
    was: dict[str, str],
    wrong: Refused | None = None,
) -> Response:
    return node.render(
        visit,
        "nodes/settings.html",
        view.node,
        groups=(explained.FIRST, *explained.MORE),
        values=values,
        was=was,
        refused=wrong,
    )


def _whitelist(
    visit: Visit, view: nodes.View, typed: str, wrong: Refused | None = None
) -> Response:
    return node.render(
        visit,
        "nodes/whitelist.html",
        view.node,
        typed=typed,
        refused=wrong,
    )
