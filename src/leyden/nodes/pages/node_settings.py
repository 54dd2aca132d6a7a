"""A node's settings and allowed IP addresses."""

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.errors import Refused
from leyden.nodes import commands, views
from leyden.nodes.pages import confirmations, node, setting_descriptions
from leyden.nodes.pages.fleet import fleet_of, node_root, which
from leyden.nodes.rules import whitelist
from leyden.nodes.rules.nodes import NodeStatus


async def show(visit: Visit) -> Response:
    """Show all settings, each with its effect."""
    view = await views.view(fleet_of(visit), *which(visit))
    now = setting_descriptions.shown(view.settings)
    return _settings(visit, view, values=now, was=now)


async def change(visit: Visit) -> Response:
    """Change the settings that differ from what the page showed."""
    given = setting_descriptions.changed(visit.form)
    before = await views.get(fleet_of(visit), *which(visit))
    restarting = [each.label for each in setting_descriptions.restarting(given)]
    is_open = before.status is NodeStatus.RUNNING  # the wallet, which a restart locks
    if is_open and restarting and not visit.form.ticked("confirmed"):
        return confirmations.of_settings(visit, before, restarting)
    try:
        restarts = await _change(visit, given)
    except Refused as error:
        view = await views.view(fleet_of(visit), *which(visit))
        filled = setting_descriptions.shown(setting_descriptions.settings(visit.form))
        was = {name: visit.form.text(f"was-{name}") for name in filled}
        return _settings(visit, view, values=filled, was=was, wrong=error)
    done = "restarting" if restarts else "saved"
    return redirect(f"{node_root(visit)}/settings?done={done}")


async def show_whitelist(visit: Visit) -> Response:
    """Show the allowed IP addresses."""
    view = await views.view(fleet_of(visit), *which(visit))
    return _whitelist(visit, view, "\n".join(view.node.settings.whitelist))


async def replace_whitelist(visit: Visit) -> Response:
    """Replace the whitelist; removed addresses are cut off within a second."""
    typed = visit.form.text("whitelist")
    try:
        await _change(visit, {"whitelist": setting_descriptions.addresses(typed)})
    except Refused as error:
        view = await views.view(fleet_of(visit), *which(visit))
        return _whitelist(visit, view, typed, wrong=error)
    return redirect(f"{node_root(visit)}/whitelist?done=saved")


async def allow_mine(visit: Visit) -> Response:
    """Add the visitor's own address to the whitelist as it is now."""
    await commands.allow_address(
        fleet_of(visit),
        *which(visit),
        visit.address,
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{node_root(visit)}/whitelist?done=saved")


async def _change(visit: Visit, given: dict[str, object]) -> bool:
    """Change settings, if any; return whether lnd is restarted for them."""
    fleet = fleet_of(visit)
    before = await views.get(fleet, *which(visit))
    if not given:
        return False
    after = await commands.change_settings(
        fleet, *which(visit), given, actor=visit.user.actor, now=visit.now
    )
    return after.revision != before.revision


def _settings(
    visit: Visit,
    view: views.NodeView,
    *,
    values: dict[str, str],
    was: dict[str, str],
    wrong: Refused | None = None,
) -> Response:
    return node.render(
        visit,
        "nodes/settings.html",
        view.node,
        groups=setting_descriptions.parts(
            listen=bool(fleet_of(visit).rules.peer_ports)
        ),
        values=values,
        was=was,
        refused=wrong,
    )


def _whitelist(
    visit: Visit, view: views.NodeView, typed: str, wrong: Refused | None = None
) -> Response:
    return node.render(
        visit,
        "nodes/whitelist.html",
        view.node,
        typed=typed,
        allowed_myself=whitelist.allows(view.node.settings.whitelist, visit.address),
        refused=wrong,
    )
