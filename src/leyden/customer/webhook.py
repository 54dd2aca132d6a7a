"""`leyden nodes webhook`: a node's webhook and its deliveries."""

from itertools import islice

import click
import msgspec

from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    limit_option,
    print_fields,
    print_json,
    print_one,
)
from leyden.customer.completion import node_argument
from leyden.customer.delivery_output import print_deliveries, print_delivery
from leyden.customer.session import ApiSession, with_session


@click.group(cls=LazyGroup)
def webhook() -> None:
    """Set a node's webhook URL, test it, and list deliveries."""


@webhook.command()
@node_argument
@click.argument("url")
@as_json
@with_session
def set(session: ApiSession, node: str, url: str, *, as_json: bool) -> None:  # noqa: A001
    """Send the node's status events to URL; "" disables the webhook.

    Prints the secret, which your endpoint must verify. lnd does not restart.

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
@with_session
def show(session: ApiSession, node: str, *, as_json: bool) -> None:
    """Print a node's webhook URL, its secret and its delivery status.

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
    help="Status to send. Default: the node's status, or stopped.",
)
@as_json
@with_session
def test(session: ApiSession, node: str, status: str | None, *, as_json: bool) -> None:
    """Send a test event now, and print the response.

    \b
    leyden nodes webhook test pier
    leyden nodes webhook test pier --status waiting_unlock
    """
    node_id = session.node(node).node_id
    sent = session.client.webhooks.test(node_id, status=status)
    print_delivery(sent, as_json=as_json)


@webhook.command()
@node_argument
@limit_option(20, 10_000)
@as_json
@with_session
def deliveries(session: ApiSession, node: str, *, limit: int, as_json: bool) -> None:
    """List deliveries, newest first.

    \b
    leyden nodes webhook deliveries pier --limit 50
    """
    node_id = session.node(node).node_id
    page = session.client.webhooks.page(node_id, limit=1)
    found = list(islice(session.client.webhooks.deliveries(node_id), limit))
    if as_json:
        print_json({"receiver": page.receiver, "deliveries": found})
        return
    print_fields(msgspec.structs.asdict(page.receiver))
    print()
    print_deliveries(found)


@webhook.command()
@node_argument
@click.argument("delivery_id")
@as_json
@with_session
def redeliver(
    session: ApiSession, node: str, delivery_id: str, *, as_json: bool
) -> None:
    """Redeliver an event now.

    \b
    leyden nodes webhook redeliver pier DELIVERY_ID
    """
    node_id = session.node(node).node_id
    print_delivery(
        session.client.webhooks.redeliver(node_id, delivery_id), as_json=as_json
    )


@webhook.command()
@node_argument
@as_json
@with_session
def rotate(session: ApiSession, node: str, *, as_json: bool) -> None:
    """Create a new secret; the old one also signs for one more day.

    \b
    leyden nodes webhook rotate pier
    """
    made = session.client.webhooks.rotate_secret(session.node(node).node_id)
    print_one(made, as_json=as_json)
