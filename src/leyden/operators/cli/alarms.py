"""`leyden alarms`: the installation's alarms, and where they are sent."""

import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.database import on_platform
from leyden.base.cli.formats import format_option
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    limit_option,
    operator,
    print_done,
    print_list,
    print_one,
)
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.events import log, owned_subscriptions, subscriptions
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.chat import parse_format
from leyden.events.rules.events import ALARMS, INSTALLATION
from leyden.events.subscriptions import Rotated, Wanted
from leyden.events.wiring.dispatcher import make_dispatcher

Result = TypeVar("Result")

_endpoint = click.argument("endpoint_id", metavar="ID")
_type = click.option(
    "--type",
    "types",
    multiple=True,
    help="Type of alarm, like disk.low or pool.*; repeatable.",
)


@click.group(cls=LazyGroup)
def alarms() -> None:
    """List alarms, and send them to webhook endpoints."""


@alarms.command(name="list")
@limit_option(50, 1_000)
@as_json
def list_(limit: int, *, as_json: bool) -> None:
    """List when alarms were raised and cleared, newest first.

    \b
    leyden alarms list
    """

    async def read(platform: Platform) -> list[dict[str, object]]:
        reader = platform.database.reader
        part = await log.read_back(
            reader, INSTALLATION, ALARMS, before=None, limit=limit
        )
        return [
            {
                "at": to_iso(each.created),
                "alarm": each.type,
                **log.item(each).data,
                "id": each.id,
            }
            for each in part.events
        ]

    print_list("alarms", on_platform(read), as_json=as_json, empty="no alarms yet")


@alarms.group(cls=LazyGroup)
def webhooks() -> None:
    """Manage the webhook endpoints that get alarms."""


@webhooks.command(name="list")
@as_json
def list_endpoints(*, as_json: bool) -> None:
    """List the webhook endpoints that alarms are sent to.

    \b
    leyden alarms webhooks list
    """

    async def read(dispatcher: Dispatcher) -> list[Subscription]:
        return await owned_subscriptions.list_(dispatcher, INSTALLATION, ())

    rows = [_row(each) for each in _with_dispatcher(read)]
    print_list(
        "endpoints",
        rows,
        as_json=as_json,
        empty="no endpoints yet; see: leyden alarms webhooks create --help",
    )


@webhooks.command(name="create")
@click.argument("url")
@_type
@click.option("--description", default="", help="What the endpoint is for.")
@format_option
@as_json
def create_endpoint(
    url: str,
    types: tuple[str, ...],
    description: str,
    format_: str,
    *,
    as_json: bool,
) -> None:
    """Send new alarms to URL, and print the signing secret.

    The secret is shown only once. Chat formats (slack, discord, telegram, ntfy) send
    readable sentences, without a secret.

    \b
    leyden alarms webhooks create https://example.org/alarms --type 'pool.*'
    leyden alarms webhooks create https://ntfy.sh/my-topic --format ntfy
    """

    async def create(dispatcher: Dispatcher) -> tuple[Subscription, str]:
        wanted = Wanted(
            url=url,
            format=parse_format(format_),
            types=types or ("*",),
            description=description,
        )
        id_ = f"{uuid.uuid4()}S"
        return await subscriptions.create(
            dispatcher, INSTALLATION, id_, wanted, scopes=(), actor=operator()
        )

    made, secret = _with_dispatcher(create)
    print_one({**_row(made), "secret": secret}, as_json=as_json)


@webhooks.command(name="update")
@_endpoint
@click.option("--url", help="The URL to send alarms to.")
@_type
@click.option("--description", help="What the endpoint is for.")
@click.option(
    "--pause/--resume",
    default=None,
    help="Stop sending alarms, or continue after the last one sent.",
)
@as_json
def update_endpoint(
    endpoint_id: str,
    url: str | None,
    types: tuple[str, ...],
    description: str | None,
    *,
    pause: bool | None,
    as_json: bool,
) -> None:
    """Change an endpoint, pause it, or resume it.

    \b
    leyden alarms webhooks update ID --type 'pool.*' --type disk.low
    leyden alarms webhooks update ID --pause
    """
    wanted = Wanted(
        url=url, types=types or None, description=description, stopped=pause
    )

    async def change(dispatcher: Dispatcher) -> Subscription:
        return await subscriptions.change(
            dispatcher, INSTALLATION, endpoint_id, wanted, scopes=(), actor=operator()
        )

    print_one(_row(_with_dispatcher(change)), as_json=as_json)


@webhooks.command(name="rotate")
@_endpoint
@as_json
def rotate_secret(endpoint_id: str, *, as_json: bool) -> None:
    """Create a new secret; the old one also signs for one more day.

    \b
    leyden alarms webhooks rotate ID
    """

    async def rotate(dispatcher: Dispatcher) -> Rotated:
        return await subscriptions.rotate_secret(
            dispatcher, INSTALLATION, endpoint_id, scopes=(), actor=operator()
        )

    made = _with_dispatcher(rotate)
    shown = {
        "endpoint_id": endpoint_id,
        "secret": made.secret,
        "old_signs_until": to_iso(made.old_signs_until),
    }
    print_one(shown, as_json=as_json)


@webhooks.command(name="delete")
@_endpoint
@yes_option
@as_json
def delete_endpoint(endpoint_id: str, *, yes: bool, as_json: bool) -> None:
    """Delete an endpoint and its delivery history.

    \b
    leyden alarms webhooks delete ID
    """

    async def delete(dispatcher: Dispatcher) -> None:
        await subscriptions.delete(
            dispatcher, INSTALLATION, endpoint_id, scopes=(), actor=operator()
        )

    confirm(f"Delete the endpoint {endpoint_id} and its delivery history?", yes=yes)
    _with_dispatcher(delete)
    print_done(
        {"id": endpoint_id, "deleted": True},
        f"{endpoint_id} deleted; it gets no more alarms",
        as_json=as_json,
    )


def _with_dispatcher(step: Callable[[Dispatcher], Awaitable[Result]]) -> Result:
    async def run(platform: Platform) -> Result:
        return await step(make_dispatcher(platform))

    return on_platform(run)


def _row(shown: Subscription) -> dict[str, object]:
    return {
        "endpoint_id": shown.id,
        "url": shown.url,
        "format": shown.format.value,
        "types": list(shown.types),
        "status": "paused" if shown.stopped or shown.pause else "active",
        "description": shown.description,
    }
