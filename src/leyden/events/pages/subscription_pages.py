"""The pages of webhook endpoints: their list, and one with its deliveries."""

import uuid
from typing import Final

from starlette.responses import Response

from leyden.base.pages import words
from leyden.base.pages.forms import Form
from leyden.base.pages.visits import Visit
from leyden.base.rules.accounts import Scope
from leyden.base.rules.sign_in import scopes_of
from leyden.errors import Away, Refused
from leyden.events import manual_deliveries, owned_subscriptions
from leyden.events.dispatchers import Dispatcher
from leyden.events.pages.events import log_of, log_root, type_groups
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.events import types_of, visible
from leyden.schemas.subscriptions import FORMATS

_AT_A_TIME: Final = 25
_FORMAT_NAMES: Final = {
    "standard": "Signed JSON, for a program",
    "slack": "Slack",
    "discord": "Discord",
    "telegram": "Telegram",
    "ntfy": "ntfy",
}
_DONE: Final = {
    "created": "The endpoint was created. Send a test event to see it in the chat.",
    "saved": "The endpoint was saved.",
    "paused": "The endpoint is paused. Events wait until you resume it.",
    "resumed": "The endpoint is active again, and gets the waiting events.",
    "sent": "",  # the list below shows what came of it
    "resent": "The events are being sent.",
    "rotated": "",
}


async def listed(
    visit: Visit, *, wrong: Refused | None = None, typed: Form | None = None
) -> Response:
    """Show the list, with what was typed where that was refused."""
    typed = typed or Form([])
    return visit.render(
        "events/endpoints.html",
        log_root=log_root(visit),
        subscriptions=await owned_subscriptions.list_(
            dispatcher_of(visit), log_of(visit), scopes(visit)
        ),
        once=str(uuid.uuid4()),
        url=_echoed(typed),
        format=format_of(typed),
        formats=_FORMAT_NAMES,
        description=typed.text("description"),
        chosen=typed.all_("type"),
        groups=_groups(visit),
        done="The endpoint was deleted." if visit.query.text("done") else "",
        refused=wrong,
    )


async def shown(
    visit: Visit, *, wrong: Refused | None = None, typed: Form | None = None
) -> Response:
    """Show an endpoint with its deliveries, and what was typed where it was refused."""
    subscription, page = await manual_deliveries.deliveries(
        *identify(visit),
        scopes=scopes(visit),
        before=visit.query.number("before", 0) or None,
        limit=_AT_A_TIME,
    )
    form = typed if typed is not None and typed.text("url") else None
    return visit.render(
        "events/endpoint.html",
        log_root=log_root(visit),
        subscription=subscription,
        deliveries=page,
        older=page[-1].position if len(page) == _AT_A_TIME else 0,
        root=root(visit),
        url=form.text("url") if form and subscription.is_signed else subscription.url,
        description=form.text("description") if form else subscription.description,
        chosen=form.all_("type") if form else subscription.types,
        groups=_groups(visit),
        testable=sorted(owned_subscriptions.types_sent(subscription)),
        done=_DONE.get(visit.query.text("done"), ""),
        refused=wrong,
    )


def ask_rotate(
    visit: Visit, name: str, *, back: str, shows_secret: bool = False
) -> Response:
    """Ask before the secret of an endpoint is replaced, which it may be sent."""
    signs = words.span(dispatcher_of(visit).rules.old_secret_signs)
    return visit.ask(
        "rotate-secret", back=back, name=name, signs=signs, shows_secret=shows_secret
    )


async def find(visit: Visit) -> Subscription:
    """Return the endpoint that a path names."""
    dispatcher, own, subscription_id = identify(visit)
    reader = dispatcher.database.reader
    return await owned_subscriptions.get(reader, own, subscription_id, scopes(visit))


def format_of(typed: Form) -> str:
    """Return the format that was chosen."""
    return typed.text("format", FORMATS[0])


def _echoed(typed: Form) -> str:
    """Return the URL that was typed; that of a chat is a secret."""
    return typed.text("url") if format_of(typed) == FORMATS[0] else ""


def dispatcher_of(visit: Visit) -> Dispatcher:
    """Return what sends webhooks; raise Away if nothing is sent from here."""
    if (dispatcher := visit.platform.dispatcher) is None:
        raise Away("This platform sends no webhooks.")
    return dispatcher


def identify(visit: Visit) -> tuple[Dispatcher, str, str]:
    """Return what names an endpoint to the services."""
    return dispatcher_of(visit), log_of(visit), _id(visit)


def scopes(visit: Visit) -> frozenset[Scope]:
    """Return what they may see; an operator's endpoints get what has no scope."""
    return scopes_of(visit.own_membership.role) if visit.membership else frozenset()


def root(visit: Visit) -> str:
    """Return the path of an endpoint's page."""
    return f"{log_root(visit)}/endpoints/{_id(visit)}"


def _id(visit: Visit) -> str:
    of_alarms = visit.path.get("alarm_endpoint_id", "")
    return of_alarms or visit.path["subscription_id"]


def _groups(visit: Visit) -> dict[str, list[str]]:
    known = types_of(log_of(visit))
    return type_groups(sorted(visible(scopes(visit), known=known)))
