"""API key pages: create, show once, revoke."""

import uuid
from datetime import timedelta

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.accounts import Scope
from leyden.base.rules.sign_in import scopes_of
from leyden.errors import Malformed, NotFound, Refused
from leyden.people import api_keys

_LONGEST_DAYS = 3_650


async def show(visit: Visit) -> Response:
    """List the keys, without their secrets."""
    return await _shown(visit)


async def create(visit: Visit) -> Response:
    """Create a key and show it once; a repeat says that it was shown."""
    form = visit.form
    try:
        key, text = await api_keys.create(
            visit.platform,
            visit.organization_id,
            name=form.text("name"),
            scopes=form.all_("scope"),
            expires=visit.now + timedelta(days=days)
            if (days := _days(visit))
            else None,
            actor=visit.user.actor,
            key_id=str(form.key("once")),
        )
    except Refused as error:
        return await _shown(visit, wrong=error, name=form.text("name"))
    return visit.render("keys/made.html", key=key, text=text)


async def ask_revoke(visit: Visit) -> Response:
    """Ask before a key is revoked."""
    wanted = visit.query.text("key")
    for key in await visit.rows.keys.list_(visit.organization_id):
        if key.id == wanted and key.is_live(visit.now):
            return visit.ask("revoke-key", back=f"{visit.root}/keys", key=key)
    raise NotFound


async def revoke(visit: Visit) -> Response:
    """Revoke a key, at once and everywhere."""
    key_id = visit.form.text("key")
    await api_keys.revoke(
        visit.platform, visit.organization_id, key_id, actor=visit.user.actor
    )
    return redirect(f"{visit.root}/keys")


async def _shown(
    visit: Visit, *, wrong: Refused | None = None, name: str = ""
) -> Response:
    reader = visit.platform.database.reader
    return visit.render(
        "keys/list.html",
        keys=list(reversed(await reader.keys.list_(visit.organization_id))),
        scopes=[each for each in Scope if each in scopes_of(visit.own_membership.role)],
        once=str(uuid.uuid4()),
        name=name,
        refused=wrong,
    )


def _days(visit: Visit) -> int:
    days = visit.form.number("days", 0)
    if days > _LONGEST_DAYS:
        raise Malformed(f"days: must be at most {_LONGEST_DAYS}")
    return days
