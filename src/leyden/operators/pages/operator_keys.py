"""Keys of the operator API: create, show once, revoke."""

import uuid
from datetime import timedelta
from typing import Final

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.accounts import INSTALLATION
from leyden.errors import Malformed, NotFound, Refused
from leyden.people import api_keys

_URL: Final = "/app/operator/keys"
_MAX_DAYS: Final = 3_650


async def show(visit: Visit) -> Response:
    """List the keys, without their secrets."""
    return await _shown(visit)


async def create(visit: Visit) -> Response:
    """Create a key and show it once; a repeat says that it was shown."""
    form = visit.form
    try:
        days = form.number("days", 0)
        if days > _MAX_DAYS:
            raise Malformed(f"days: must be at most {_MAX_DAYS}")
        key, text = await api_keys.create_operator_key(
            visit.platform,
            name=form.text("name"),
            expires=visit.now + timedelta(days=days) if days else None,
            actor=visit.user.actor,
            key_id=str(form.key("once")),
        )
    except Refused as error:
        return await _shown(visit, wrong=error, name=form.text("name"))
    return visit.render("operator/key_made.html", key=key, text=text)


async def ask_revoke(visit: Visit) -> Response:
    """Ask before a key is revoked."""
    wanted = visit.query.text("key")
    for key in await visit.rows.keys.list_(INSTALLATION):
        if key.id == wanted and key.is_live(visit.now):
            return visit.ask("revoke-key", back=_URL, key=key)
    raise NotFound


async def revoke(visit: Visit) -> Response:
    """Revoke a key, at once and everywhere."""
    await api_keys.revoke_operator_key(
        visit.platform, visit.form.text("key"), actor=visit.user.actor
    )
    return redirect(_URL)


async def _shown(
    visit: Visit, *, wrong: Refused | None = None, name: str = ""
) -> Response:
    return visit.render(
        "operator/keys.html",
        keys=list(reversed(await visit.rows.keys.list_(INSTALLATION))),
        once=str(uuid.uuid4()),
        name=name,
        refused=wrong,
    )
