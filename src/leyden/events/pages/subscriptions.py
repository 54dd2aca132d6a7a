"""Webhook endpoints of an organization, or of the installation for its operator."""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Final

from starlette.responses import Response

from leyden.base.pages.forms import Form
from leyden.base.pages.visits import Visit, redirect
from leyden.errors import Malformed, Refused
from leyden.events import manual_deliveries, subscriptions
from leyden.events.pages import subscription_pages as pages
from leyden.events.pages.events import log_of, log_root
from leyden.events.rules.chat import parse_format
from leyden.events.subscriptions import Wanted
from leyden.values import replace

_SUFFIX: Final = "S"  # at the end of a subscription's id


async def list_(visit: Visit) -> Response:
    """List the endpoints, and ask for a new one."""
    return await pages.listed(visit)


async def create(visit: Visit) -> Response:
    """Create an endpoint and show its secret once; a chat has none."""
    form = visit.form
    try:
        wanted = replace(_wanted(form), format=parse_format(pages.format_of(form)))
        made, secret = await subscriptions.create(
            pages.dispatcher_of(visit),
            log_of(visit),
            f"{form.key('once')}{_SUFFIX}",
            wanted,
            scopes=pages.scopes(visit),
            actor=visit.user.actor,
        )
    except Refused as error:
        return await pages.listed(visit, wrong=error, typed=form)
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
    return await pages.shown(visit)


async def change(visit: Visit) -> Response:
    """Change URL, types and description."""
    try:
        wanted = _wanted(visit.form)
    except Malformed as error:
        return await pages.shown(visit, wrong=error, typed=visit.form)
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
        visit, partial(manual_deliveries.test, *pages.identify(visit), kind), "sent"
    )


async def redeliver(visit: Visit) -> Response:
    """Send an event again."""
    delivery = visit.form.text("delivery")
    step = partial(manual_deliveries.redeliver, *pages.identify(visit), delivery)
    return await _sent(visit, step, "sent")


async def ask_resend(visit: Visit) -> Response:
    """Ask before everything since an event is sent again."""
    found = await pages.find(visit)
    after = visit.query.text("after")
    return visit.ask("resend", back=pages.root(visit), subscription=found, after=after)


async def resend(visit: Visit) -> Response:
    """Send everything since an event again."""
    after = visit.form.text("after")
    step = partial(manual_deliveries.resend, *pages.identify(visit), after)
    return await _sent(visit, step, "resent")


async def ask_rotate(visit: Visit) -> Response:
    """Ask before the secret is replaced."""
    found = await pages.find(visit)
    return pages.ask_rotate(visit, found.url, back=pages.root(visit))


async def rotate(visit: Visit) -> Response:
    """Replace the secret and show it once."""
    rotated = await subscriptions.rotate_secret(
        *pages.identify(visit), scopes=pages.scopes(visit), actor=visit.user.actor
    )
    return visit.render(
        "events/secret.html",
        log_root=log_root(visit),
        subscription=await pages.find(visit),
        secret=rotated.secret,
        old_signs_until=rotated.old_signs_until,
    )


async def ask_delete(visit: Visit) -> Response:
    """Ask before the endpoint is deleted."""
    found = await pages.find(visit)
    back = pages.root(visit)
    return visit.ask("delete-subscription", back=back, subscription=found)


async def delete(visit: Visit) -> Response:
    """Delete the endpoint."""
    await subscriptions.delete(
        *pages.identify(visit), scopes=pages.scopes(visit), actor=visit.user.actor
    )
    return redirect(f"{log_root(visit)}/endpoints?done=deleted")


async def _sent(
    visit: Visit, step: Callable[..., Awaitable[object]], done: str
) -> Response:
    """Send something with the visitor's rights, and show the endpoint again."""
    try:
        await step(scopes=pages.scopes(visit), actor=visit.user.actor)
    except Refused as error:
        return await pages.shown(visit, wrong=error)
    return redirect(f"{pages.root(visit)}?done={done}")


async def _changed(visit: Visit, wanted: Wanted, done: str) -> Response:
    try:
        await subscriptions.change(
            *pages.identify(visit),
            wanted,
            scopes=pages.scopes(visit),
            actor=visit.user.actor,
        )
    except Refused as error:
        return await pages.shown(visit, wrong=error, typed=visit.form)
    return redirect(f"{pages.root(visit)}?done={done}")


def _wanted(form: Form) -> Wanted:
    """Return what the form says; everything, unless types are chosen."""
    types: Collection[str] = ["*"] if form.text("which") == "all" else form.all_("type")
    if not types:
        raise Malformed("types: choose at least one type of events")
    return Wanted(
        url=form.text("url"), types=types, description=form.text("description")
    )
