"""`leyden subscriptions`: webhook endpoints that get your organization's events."""

from itertools import islice
from typing import Any

import click
import msgspec

from leyden.base.cli.formats import format_option
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    limit_option,
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
def subscriptions() -> None:
    """Send your organization's events to webhook endpoints."""


@subscriptions.command(name="list")
@as_json
@with_session
def list_(session: ApiSession, *, as_json: bool) -> None:
    """List subscriptions.

    \b
    leyden subscriptions list
    """
    print_list(
        "subscriptions",
        map(msgspec.structs.asdict, session.client.subscriptions.list_()),
        as_json=as_json,
        empty="no subscriptions yet",
        spare=("created", "description", "failing_since"),
    )


@subscriptions.command()
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
    leyden subscriptions create https://example.org/events --type 'order.*'
    leyden subscriptions create https://ntfy.sh/my-topic --format ntfy
    """
    made = session.client.subscriptions.create(
        url, types or ("*",), description=description, format_=format_
    )
    print_one(made, as_json=as_json)


@subscriptions.command()
@_subscription
@as_json
@with_session
def show(session: ApiSession, subscription_id: str, *, as_json: bool) -> None:
    """Print a subscription.

    \b
    leyden subscriptions show ID
    """
    print_one(session.client.subscriptions.get(subscription_id), as_json=as_json)


@subscriptions.command()
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
def change(
    session: ApiSession,
    subscription_id: str,
    url: str | None,
    types: tuple[str, ...],
    description: str | None,
    *,
    pause: bool | None,
    as_json: bool,
) -> None:
    """Change a subscription, pause it, or resume it.

    \b
    leyden subscriptions change ID --type 'order.*' --type node.failed
    leyden subscriptions change ID --resume
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


@subscriptions.command()
@_subscription
@with_session
def delete(session: ApiSession, subscription_id: str) -> None:
    """Delete a subscription and its delivery history.

    \b
    leyden subscriptions delete ID
    """
    session.client.subscriptions.delete(subscription_id)
    print("deleted")


@subscriptions.command()
@_subscription
@click.option("--type", "type_", default="", help="Type of the test event.")
@as_json
@with_session
def test(
    session: ApiSession, subscription_id: str, type_: str, *, as_json: bool
) -> None:
    """Send a test event now, and print the response.

    \b
    leyden subscriptions test ID --type order.paid
    """
    print_delivery(
        session.client.subscriptions.test(subscription_id, type_=type_), as_json=as_json
    )


@subscriptions.command()
@_subscription
@limit_option(20, 10_000)
@as_json
@with_session
def deliveries(
    session: ApiSession, subscription_id: str, *, limit: int, as_json: bool
) -> None:
    """List a subscription's deliveries, newest first.

    \b
    leyden subscriptions deliveries ID -n 50
    """
    found = list(
        islice(session.client.subscriptions.deliveries(subscription_id), limit)
    )
    if as_json:
        print_json({"deliveries": found})
        return
    print_deliveries(found)


@subscriptions.command()
@_subscription
@click.argument("delivery_id")
@as_json
@with_session
def redeliver(
    session: ApiSession, subscription_id: str, delivery_id: str, *, as_json: bool
) -> None:
    """Redeliver an event now, with the same id.

    \b
    leyden subscriptions redeliver ID DELIVERY_ID
    """
    again = session.client.subscriptions.redeliver(subscription_id, delivery_id)
    print_delivery(again, as_json=as_json)


@subscriptions.command()
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
    leyden subscriptions resend ID --after EVENT_ID
    """
    moved = session.client.subscriptions.resend(subscription_id, after)
    print_one(moved, as_json=as_json)


@subscriptions.command()
@_subscription
@as_json
@with_session
def rotate(session: ApiSession, subscription_id: str, *, as_json: bool) -> None:
    """Create a new secret; the old one also signs for one more day.

    \b
    leyden subscriptions rotate ID
    """
    made = session.client.subscriptions.rotate_secret(subscription_id)
    print_one(made, as_json=as_json)
