"""Questions before commands of a node that stop or delete it."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from leyden.base.pages import words
from leyden.base.pages.visits import Handler, Visit
from leyden.errors import LeydenError
from leyden.nodes import views
from leyden.nodes.pages.fleet import fleet_of, node_root, which
from leyden.nodes.rules import versions
from leyden.nodes.rules.node_moves import apply_command
from leyden.nodes.rules.nodes import Action, Node


def of_node(action: Action) -> Handler:
    """Return the handler that asks before this command of a node."""

    async def ask(visit: Visit) -> Response:
        node = await views.get(fleet_of(visit), *which(visit))
        return of(visit, node, action)

    return ask


def of(
    visit: Visit, node: Node, action: Action, *, refused: LeydenError | None = None
) -> Response:
    """Ask before a command of this node, or raise NotAllowed."""
    after = apply_command(node, action, now=visit.now)
    rules = fleet_of(visit).rules
    shown: dict[str, Any] = {}
    if action is Action.UPDATE:
        version = visit.query.text("version") or None
        newer = versions.choose_update(node.version, version, rules.catalogue)
        lost = versions.dropped(node.version, newer, rules.catalogue)
        shown = {"newer": newer, "lost": lost}
    return visit.ask(
        action,
        back=node_root(visit),
        refused=refused,
        node=node,
        after=after,
        restorable_for=words.span(rules.data_kept),
        restorable=bool(rules.data_kept),
        **shown,
    )


def of_settings(visit: Visit, node: Node, restarting: Sequence[str]) -> Response:
    """Ask before settings are saved that restart lnd: these, by their labels."""
    return visit.ask(
        "settings",
        back=f"{node_root(visit)}/settings",
        node=node,
        restarting=restarting,
        filled_in=visit.form.filled_in(),
    )
