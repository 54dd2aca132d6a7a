"""`leyden alarms`: the installation's alarms, and where they are sent."""

import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.formats import format_option
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    limit_option,
    operator,
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
from leyden.events.subscriptions import Wanted
from leyden.events.wiring.dispatcher import make_dispatcher

Result = TypeVar("Result")


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


@alarms.command()
@as_json
def endpoints(*, as_json: bool) -> None:
    """List the webhook endpoints that alarms are sent to.

    \b
    leyden alarms endpoints
    """

    async def read(dispatcher: Dispatcher) -> list[Subscription]:
        return await owned_subscriptions.list_(dispatcher, INSTALLATION, ())

    rows = [_row(each) for each in _with_dispatcher(read)]
    print_list("endpoints", rows, as_json=as_json, empty="no endpoints yet")


@alarms.command(name="send-to")
@click.argument("url")
@click.option(
    "--type",
    "types",
    multiple=True,
    help="Type of alarm, like disk.low or pool.*; repeatable.",
)
@click.option("--description", default="", help="What the endpoint is for.")
@format_option
@as_json
def send_to(
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
    leyden alarms send-to https://example.org/alarms --type 'pool.*'
    leyden alarms send-to https://ntfy.sh/my-topic --format ntfy
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


@alarms.command(name="stop-sending")
@click.argument("endpoint_id", metavar="ID")
def stop_sending(endpoint_id: str) -> None:
    """Delete an endpoint and its delivery history.

    \b
    leyden alarms stop-sending ID
    """

    async def delete(dispatcher: Dispatcher) -> None:
        await subscriptions.delete(
            dispatcher, INSTALLATION, endpoint_id, scopes=(), actor=operator()
        )

    _with_dispatcher(delete)
    click.echo(f"{endpoint_id} deleted; it gets no more alarms")


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
