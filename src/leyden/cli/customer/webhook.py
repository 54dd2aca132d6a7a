"""`leyden nodes webhook`: where a node's states are told, and how that goes."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import click
import msgspec

from leyden.cli.customer.completion import node_argument
from leyden.cli.customer.session import Session, speaking
from leyden.cli.groups import Group
from leyden.cli.output import (
    as_json,
    print_fields,
    print_json,
    print_one,
    print_rows,
)
from leyden.client.webhooks import Delivery


@click.group(cls=Group)
def webhook() -> None:
    """Have a URL told of a node's states, try it out, and see how it went."""


@webhook.command()
@node_argument
@click.argument("url")
@as_json
@speaking
def set(session: Session, node: str, url: str, *, as_json: bool) -> None:  # noqa: A001
    """Tell URL of the node's states from now on; "" tells nobody.

    Shows the secret that URL has to check. lnd is not restarted.

    \b
    leyden nodes webhook set pier https://example.org/leyden
    """
    found = session.client.nodes.change_settings(
        session.node(node).node_id, webhook=url
    )
    shown = {
        "webhook": found.settings.webhook,
        "webhook_secret": found.settings.webhook_secret,
    }
    print_one(shown, as_json=as_json)


@webhook.command()
@node_argument
@as_json
@speaking
def show(session: Session, node: str, *, as_json: bool) -> None:
    """Show who is told, the secret to check, and whether it is taken.

    \b
    leyden nodes webhook show pier
    """
    found = session.client.nodes.get(session.node(node).node_id)
    page = session.client.webhooks.page(found.node_id, limit=1)
    print_one(
        {
            "webhook": found.settings.webhook,
            "webhook_secret": found.settings.webhook_secret,
            **msgspec.structs.asdict(page.receiver),
        },
        as_json=as_json,
    )


@webhook.command()
@node_argument
@click.option(
    "--status",
    type=click.Choice(["waiting_unlock", "waiting_init", "stopped"]),
    help="What to send; else the node's own status, or stopped.",
)
@as_json
@speaking
def test(session: Session, node: str, status: str | None, *, as_json: bool) -> None:
    """Send a status now, and show what came back.

    \b
    leyden nodes webhook test pier
    leyden nodes webhook test pier --status waiting_unlock
    """
    node_id = session.node(node).node_id
    sent = session.client.webhooks.test(node_id, status=status)
    _one(sent, as_json=as_json)


@webhook.command()
@node_argument
@click.option(
    "-n",
    "most",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="How many at the most.",
)
@as_json
@speaking
def deliveries(session: Session, node: str, *, most: int, as_json: bool) -> None:
    """List what was sent, newest first.

    \b
    leyden nodes webhook deliveries pier -n 50
    """
    node_id = session.node(node).node_id
    page = session.client.webhooks.page(node_id, limit=1)
    found = list(islice(session.client.webhooks.deliveries(node_id), most))
    if as_json:
        print_json({"receiver": page.receiver, "deliveries": found})
        return
    print_fields(msgspec.structs.asdict(page.receiver))
    print()
    print_rows(
        map(_row, found), empty="nothing was sent yet", spare=("created", "attempts")
    )


@webhook.command()
@node_argument
@click.argument("delivery_id")
@as_json
@speaking
def redeliver(session: Session, node: str, delivery_id: str, *, as_json: bool) -> None:
    """Send an event once more, now.

    \b
    leyden nodes webhook redeliver pier DELIVERY_ID
    """
    node_id = session.node(node).node_id
    _one(session.client.webhooks.redeliver(node_id, delivery_id), as_json=as_json)


@webhook.command()
@node_argument
@as_json
@speaking
def rotate(session: Session, node: str, *, as_json: bool) -> None:
    """Make a new secret; the old one signs beside it for a day.

    \b
    leyden nodes webhook rotate pier
    """
    made = session.client.webhooks.rotate_secret(session.node(node).node_id)
    print_one(msgspec.structs.asdict(made), as_json=as_json)


def _one(delivery: Delivery, *, as_json: bool) -> None:
    if as_json:
        print_json(delivery)
        return
    print_fields(_row(delivery))
    print_rows(
        (msgspec.structs.asdict(each) for each in delivery.attempts),
        empty="no attempt was made yet",
    )


def _row(delivery: Delivery) -> dict[str, Any]:
    details = _words(delivery.event.details.items())
    return {
        "delivery_id": delivery.delivery_id,
        "event": f"{delivery.event.type}: {details}",
        "created": delivery.created,
        "status": delivery.status,
        "attempts": len(delivery.attempts),
    }


def _words(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in pairs)
