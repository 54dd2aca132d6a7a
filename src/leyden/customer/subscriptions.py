"""`leyden webhooks`: webhook endpoints that get your organization's events."""

from itertools import islice
from typing import Any

import click
import msgspec

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.formats import format_option
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    limit_option,
    print_done,
    print_json,
    print_list,
    print_one,
)
from leyden.customer.delivery_output import print_deliveries, print_delivery
from leyden.customer.session import ApiSession, with_session

_subscription = click.argument("subscription_id", metavar="ID")
_type = click.option(
    "--type",
    "types",
    multiple=True,
    help="Type of event, like order.paid or order.*; repeatable.",
)


@click.group(cls=LazyGroup)
def webhooks() -> None:
    """Send your organization's events to webhook endpoints."""


@webhooks.command(name="list")
@as_json
@with_session
def list_(session: ApiSession, *, as_json: bool) -> None:
    """List webhook endpoints.

    \b
    leyden webhooks list
    """
    print_list(
        "subscriptions",
        map(msgspec.structs.asdict, session.client.subscriptions.list_()),
        as_json=as_json,
        empty="no webhook endpoints yet; see: leyden webhooks create --help",
        spare=("created", "description", "failing_since"),
    )


@webhooks.command()
@click.argument("url")
@_type
@click.option("--description", default="", help="What the endpoint is for.")
@format_option
@as_json
@with_session
def create(
    session: ApiSession,
    url: str,
    types: tuple[str, ...],
    description: str,
    format_: str,
    *,
    as_json: bool,
) -> None:
    """Send new events to URL, and print the signing secret.

    The secret is shown only once. Chat formats (slack, discord, telegram, ntfy) send
    readable sentences, without a secret.

    \b
    leyden webhooks create https://example.org/events --type 'order.*'
    leyden webhooks create https://ntfy.sh/my-topic --format ntfy
    """
    made = session.client.subscriptions.create(
        url, types or ("*",), description=description, format_=format_
    )
    print_one(made, as_json=as_json)


@webhooks.command()
@_subscription
@as_json
@with_session
def show(session: ApiSession, subscription_id: str, *, as_json: bool) -> None:
    """Print a webhook endpoint.

    \b
    leyden webhooks show ID
    """
    print_one(session.client.subscriptions.get(subscription_id), as_json=as_json)


@webhooks.command()
@_subscription
@click.option("--url", help="The URL to send events to.")
@_type
@click.option("--description", help="What the endpoint is for.")
@click.option(
    "--pause/--resume",
    default=None,
    help="Stop sending events, or continue after the last one sent.",
)
@as_json
@with_session
def update(
    session: ApiSession,
    subscription_id: str,
    url: str | None,
    types: tuple[str, ...],
    description: str | None,
    *,
    pause: bool | None,
    as_json: bool,
) -> None:
    """Change a webhook endpoint, pause it, or resume it.

    \b
    leyden webhooks update ID --type 'order.*' --type node.failed
    leyden webhooks update ID --resume
    """
    given: dict[str, Any] = {
        "url": url,
        "types": list(types) or None,
        "description": description,
        "paused": pause,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    changed = session.client.subscriptions.change(subscription_id, **changes)
    print_one(changed, as_json=as_json)


@webhooks.command()
@_subscription
@yes_option
@as_json
@with_session
def delete(
    session: ApiSession, subscription_id: str, *, yes: bool, as_json: bool
) -> None:
    """Delete a webhook endpoint and its delivery history.

    \b
    leyden webhooks delete ID
    leyden webhooks delete ID --yes
    """
    if not yes:
        url = session.client.subscriptions.get(subscription_id).url
        confirm(f"Delete the endpoint {url} and its delivery history?", yes=yes)
    session.client.subscriptions.delete(subscription_id)
    print_done({"id": subscription_id, "deleted": True}, "deleted", as_json=as_json)


@webhooks.command()
@_subscription
@click.option("--type", "type_", default="", help="Type of the test event.")
@as_json
@with_session
def test(
    session: ApiSession, subscription_id: str, type_: str, *, as_json: bool
) -> None:
    """Send a test event now, and print the response.

    \b
    leyden webhooks test ID --type order.paid
    """
    print_delivery(
        session.client.subscriptions.test(subscription_id, type_=type_), as_json=as_json
    )


@webhooks.command()
@_subscription
@limit_option(20, 10_000)
@as_json
@with_session
def deliveries(
    session: ApiSession, subscription_id: str, *, limit: int, as_json: bool
) -> None:
    """List a webhook endpoint's deliveries, newest first.

    \b
    leyden webhooks deliveries ID --limit 50
    """
    found = list(
        islice(session.client.subscriptions.deliveries(subscription_id), limit)
    )
    if as_json:
        print_json({"deliveries": found})
        return
    print_deliveries(found)


@webhooks.command()
@_subscription
@click.argument("delivery_id")
@as_json
@with_session
def redeliver(
    session: ApiSession, subscription_id: str, delivery_id: str, *, as_json: bool
) -> None:
    """Redeliver an event now, with the same id.

    \b
    leyden webhooks redeliver ID DELIVERY_ID
    """
    again = session.client.subscriptions.redeliver(subscription_id, delivery_id)
    print_delivery(again, as_json=as_json)


@webhooks.command()
@_subscription
@click.option(
    "--after",
    default="",
    help="Id of the event to start after. Default: resend all stored events.",
)
@as_json
@with_session
def resend(
    session: ApiSession, subscription_id: str, after: str, *, as_json: bool
) -> None:
    """Resend all events after an event, in order and with the same ids.

    \b
    leyden webhooks resend ID --after EVENT_ID
    """
    moved = session.client.subscriptions.resend(subscription_id, after)
    print_one(moved, as_json=as_json)


@webhooks.command()
@_subscription
@as_json
@with_session
def rotate(session: ApiSession, subscription_id: str, *, as_json: bool) -> None:
    """Create a new secret; the old one also signs for one more day.

    \b
    leyden webhooks rotate ID
    """
    made = session.client.subscriptions.rotate_secret(subscription_id)
    print_one(made, as_json=as_json)
