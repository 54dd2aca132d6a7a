"""Webhook endpoints of an organization, or of the installation for its operator."""

import uuid
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Final

from starlette.responses import Response

from leyden.domain.accounts import Scope
from leyden.domain.chat import parse_format
from leyden.domain.events import types_of, visible
from leyden.domain.sign_in import scopes_of
from leyden.errors import Malformed, Refused
from leyden.schemas.subscriptions import FORMATS
from leyden.services.deliveries import (
    manual_deliveries,
    owned_subscriptions,
    subscriptions,
)
from leyden.services.deliveries.dispatchers import Dispatcher
from leyden.services.deliveries.subscriptions import Wanted
from leyden.storage.subscriptions import Subscription
from leyden.values import replace
from leyden.web import words
from leyden.web.confirmations import asked
from leyden.web.events import log_of, log_root, type_groups
from leyden.web.fleet import dispatcher_of
from leyden.web.forms import Form
from leyden.web.visits import Visit, redirect

_AT_A_TIME: Final = 25
FORMAT_NAMES: Final = {
    "standard": "Signed JSON, for a program",
    "slack": "Slack",
    "discord": "Discord",
    "telegram": "Telegram",
    "ntfy": "ntfy",
}
_NEWEST: Final = (1 << 63) - 1
_SUFFIX: Final = "S"  # at the end of a subscription's id
_DONE: Final = {
    "created": "The endpoint was created. Send a test event to see it in the chat.",
    "saved": "The endpoint was saved.",
    "paused": "The endpoint is paused. Events wait for it.",
    "resumed": "The endpoint is active again, and gets the events that waited.",
    "sent": "",  # the list below shows what came of it
    "resent": "The events are on their way.",
    "rotated": "",
}


async def list_(visit: Visit) -> Response:
    """List the endpoints, and ask for a new one."""
    return await _listed(visit)


async def create(visit: Visit) -> Response:
    """Create an endpoint and show its secret once; a chat has none."""
    form = visit.form
    try:
        wanted = replace(_wanted(form), format=parse_format(_format(form)))
        made, secret = await subscriptions.create(
            dispatcher_of(visit),
            log_of(visit),
            f"{form.key('once')}{_SUFFIX}",
            wanted,
            scopes=_scopes(visit),
            actor=visit.who.actor,
        )
    except Refused as error:
        return await _listed(visit, wrong=error, typed=form)
    if not made.is_signed:
        return redirect(f"{log_root(visit)}/endpoints/{made.id}?done=created")
    return visit.render(
        "events/secret.html",
        log_root=log_root(visit),
        subscription=made,
        secret=secret,
        old_signs_until=None,
    )


async def show(visit: Visit) -> Response:
    """Show an endpoint with what it was sent."""
    return await _shown(visit)


async def change(visit: Visit) -> Response:
    """Change URL, types and description."""
    try:
        wanted = _wanted(visit.form)
    except Malformed as error:
        return await _shown(visit, wrong=error, typed=visit.form)
    return await _changed(visit, wanted, "saved")


async def pause(visit: Visit) -> Response:
    """Send nothing until the endpoint is resumed."""
    return await _changed(visit, Wanted(stopped=True), "paused")


async def resume(visit: Visit) -> Response:
    """Send what waited, and what is to come."""
    return await _changed(visit, Wanted(stopped=False), "resumed")


async def test(visit: Visit) -> Response:
    """Send an example of an event now."""
    kind = visit.form.text("type") or None
    return await _sent(
        visit, partial(manual_deliveries.test, *_which(visit), kind), "sent"
    )


async def redeliver(visit: Visit) -> Response:
    """Send an event again."""
    delivery = visit.form.text("delivery")
    step = partial(manual_deliveries.redeliver, *_which(visit), delivery)
    return await _sent(visit, step, "sent")


async def ask_resend(visit: Visit) -> Response:
    """Ask before everything since an event is sent again."""
    found = await _found(visit)
    after = visit.query.text("after")
    return asked(visit, "resend", back=_root(visit), subscription=found, after=after)


async def resend(visit: Visit) -> Response:
    """Send everything since an event again."""
    after = visit.form.text("after")
    step = partial(manual_deliveries.resend, *_which(visit), after)
    return await _sent(visit, step, "resent")


async def ask_rotate(visit: Visit) -> Response:
    """Ask before the secret is replaced."""
    signs = words.span(dispatcher_of(visit).rules.old_secret_signs)
    found = await _found(visit)
    template = "rotate-subscription-secret"
    return asked(visit, template, back=_root(visit), subscription=found, signs=signs)


async def rotate(visit: Visit) -> Response:
    """Replace the secret and show it once."""
    rotated = await subscriptions.rotate_secret(
        *_which(visit), scopes=_scopes(visit), actor=visit.who.actor
    )
    return visit.render(
        "events/secret.html",
        log_root=log_root(visit),
        subscription=await _found(visit),
        secret=rotated.secret,
        old_signs_until=rotated.old_signs_until,
    )


async def ask_delete(visit: Visit) -> Response:
    """Ask before the endpoint is deleted."""
    found = await _found(visit)
    template = "delete-subscription"
    return asked(visit, template, back=_root(visit), subscription=found)


async def delete(visit: Visit) -> Response:
    """Delete the endpoint."""
    await subscriptions.delete(
        *_which(visit), scopes=_scopes(visit), actor=visit.who.actor
    )
    return redirect(f"{log_root(visit)}/endpoints?done=deleted")


async def _sent(
    visit: Visit, step: Callable[..., Awaitable[object]], done: str
) -> Response:
    """Send something with the rights of who asks, and show the endpoint again."""
    try:
        await step(scopes=_scopes(visit), actor=visit.who.actor)
    except Refused as error:
        return await _shown(visit, wrong=error)
    return redirect(f"{_root(visit)}?done={done}")


async def _changed(visit: Visit, wanted: Wanted, done: str) -> Response:
    try:
        await subscriptions.change(
            *_which(visit), wanted, scopes=_scopes(visit), actor=visit.who.actor
        )
    except Refused as error:
        return await _shown(visit, wrong=error, typed=visit.form)
    return redirect(f"{_root(visit)}?done={done}")


async def _listed(
    visit: Visit, *, wrong: Refused | None = None, typed: Form | None = None
) -> Response:
    typed = typed or Form([])
    return visit.render(
        "events/endpoints.html",
        log_root=log_root(visit),
        subscriptions=await owned_subscriptions.list_(
            dispatcher_of(visit), log_of(visit), _scopes(visit)
        ),
        once=str(uuid.uuid4()),
        url=_echoed(typed),
        format=_format(typed),
        formats=FORMAT_NAMES,
        description=typed.text("description"),
        chosen=typed.all_("type"),
        groups=_groups(visit),
        done="The endpoint was deleted." if visit.query.text("done") else "",
        refused=wrong,
    )


async def _shown(
    visit: Visit, *, wrong: Refused | None = None, typed: Form | None = None
) -> Response:
    found, page = await manual_deliveries.deliveries(
        *_which(visit),
        scopes=_scopes(visit),
        before=visit.query.number("before", _NEWEST),
        most=_AT_A_TIME,
    )
    is_typed = typed is not None and bool(typed.text("url"))
    return visit.render(
        "events/endpoint.html",
        log_root=log_root(visit),
        subscription=found,
        deliveries=page,
        older=page[-1].position if len(page) == _AT_A_TIME else 0,
        root=_root(visit),
        url=typed.text("url") if typed and is_typed and found.is_signed else found.url,
        description=typed.text("description")
        if typed and is_typed
        else found.description,
        chosen=typed.all_("type") if typed and is_typed else found.types,
        groups=_groups(visit),
        testable=sorted(owned_subscriptions.types_sent(found)),
        done=_DONE.get(visit.query.text("done"), ""),
        refused=wrong,
    )


async def _found(visit: Visit) -> Subscription:
    dispatcher, own, subscription_id = _which(visit)
    reader = dispatcher.database.reader
    return await owned_subscriptions.get(reader, own, subscription_id, _scopes(visit))


def _format(typed: Form) -> str:
    return typed.text("format", FORMATS[0])


def _echoed(typed: Form) -> str:
    """Return the URL that was typed; that of a chat is a secret."""
    return typed.text("url") if _format(typed) == FORMATS[0] else ""


def _wanted(form: Form) -> Wanted:
    """Return what the form says; everything, unless types are chosen."""
    types: Collection[str] = ["*"] if form.text("which") == "all" else form.all_("type")
    if not types:
        raise Malformed("types: choose at least one type of events")
    return Wanted(
        url=form.text("url"), types=types, description=form.text("description")
    )


def _which(visit: Visit) -> tuple[Dispatcher, str, str]:
    return dispatcher_of(visit), log_of(visit), _id(visit)


def _scopes(visit: Visit) -> frozenset[Scope]:
    # An operator's endpoints get what has no scope.
    return scopes_of(visit.here.role) if visit.place else frozenset()


def _root(visit: Visit) -> str:
    return f"{log_root(visit)}/endpoints/{_id(visit)}"


def _id(visit: Visit) -> str:
    of_alarms = visit.path.get("alarm_endpoint_id", "")
    return of_alarms or visit.path["subscription_id"]


def _groups(visit: Visit) -> dict[str, list[str]]:
    known = types_of(log_of(visit))
    return type_groups(sorted(visible(_scopes(visit), known=known)))
