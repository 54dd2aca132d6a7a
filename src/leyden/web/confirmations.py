"""Questions before what cannot be undone: each names the consequence.

The address of an action answers GET with its question, and does it on POST. Without
scripts the question is a page; leyden.js shows the same page as a dialog.
"""

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from leyden.domain import versions
from leyden.domain.node_moves import apply_command
from leyden.domain.nodes import Action, Node
from leyden.errors import LeydenError, NotFound
from leyden.services.nodes import views
from leyden.services.people import invitations, passkeys, team
from leyden.web import words
from leyden.web.fleet import dispatcher_of, fleet_of, node_root, which
from leyden.web.visits import Handler, Visit

ACCOUNT: Final = "/app/account"


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
    return asked(
        visit,
        action,
        back=node_root(visit),
        refused=refused,
        node=node,
        after=after,
        kept=words.span(rules.data_kept),
        restorable=bool(rules.data_kept),
        **shown,
    )


def of_settings(visit: Visit, node: Node, restarting: Sequence[str]) -> Response:
    """Ask before settings are saved that restart lnd: these, by their labels."""
    return asked(
        visit,
        "settings",
        back=f"{node_root(visit)}/settings",
        node=node,
        restarting=restarting,
        filled_in=visit.form.filled_in(),
    )


async def rotate_secret(visit: Visit) -> Response:
    """Ask before the secret of a node's webhook is replaced."""
    node = await views.get(fleet_of(visit), *which(visit))
    back = f"{node_root(visit)}/webhook"
    return of_secret(visit, node.name, back=back, shows_secret=True)


def of_secret(
    visit: Visit, name: str, *, back: str, shows_secret: bool = False
) -> Response:
    """Ask before the secret of an endpoint is replaced, which it may be sent."""
    signs = words.span(dispatcher_of(visit).rules.old_secret_signs)
    return asked(
        visit,
        "rotate-secret",
        back=back,
        name=name,
        signs=signs,
        shows_secret=shows_secret,
    )


async def revoke_key(visit: Visit) -> Response:
    """Ask before a key is revoked."""
    keys = await visit.platform.database.reader.keys.list_(visit.organization_id)
    wanted = visit.query.text("key")
    live = (key for key in keys if key.id == wanted and key.is_live(visit.now))
    return asked(
        visit, "revoke-key", back=f"{visit.root}/keys", key=_one(next(live, None))
    )


async def remove_member(visit: Visit) -> Response:
    """Ask before a member is removed."""
    members = await team.members(visit.platform, visit.organization_id)
    wanted = visit.query.text("user")
    found = (each for each in members if each.person.id == wanted)
    return asked(
        visit,
        "remove-member",
        back=f"{visit.root}/team",
        member=_one(next(found, None)),
    )


async def withdraw_invitation(visit: Visit) -> Response:
    """Ask before an invitation is revoked."""
    every = await invitations.list_(
        visit.platform, visit.organization_id, now=visit.now
    )
    wanted = visit.query.text("invitation")
    found = (each for each in every if each.id == wanted)
    return asked(
        visit,
        "withdraw-invitation",
        back=f"{visit.root}/team",
        invitation=_one(next(found, None)),
    )


async def remove_passkey(visit: Visit) -> Response:
    """Ask before a passkey is removed."""
    every = await passkeys.list_(visit.platform, visit.who)
    wanted = visit.query.text("passkey")
    found = (each for each in every if each.id.hex() == wanted)
    return asked(visit, "remove-passkey", back=ACCOUNT, passkey=_one(next(found, None)))


def _one(found: Any) -> Any:
    if found is None:
        raise NotFound
    return found


def asked(
    visit: Visit,
    template: str,
    *,
    back: str,
    refused: LeydenError | None = None,
    **shown: Any,
) -> Response:
    """Show the question of this template."""
    return visit.render(
        f"confirm/{template}.html",
        action=visit.url.partition("?")[0],
        back=back,
        refused=refused,
        **shown,
    )
