"""Shared parts of node commands: waiting and printing."""

from typing import Any, Final

import click
import msgspec

from leyden.base.cli.output import print_fields, print_json
from leyden.customer.progress import waiting
from leyden.customer.session import ApiSession
from leyden.schemas.nodes import NodeAnswer, NodeItem

UP: Final = ("waiting_init", "waiting_unlock", "running")
wait_option = click.option(
    "--wait", is_flag=True, help="Wait until it is done, and print progress."
)
within_option = click.option(
    "--timeout",
    "within_s",
    type=click.IntRange(1, 86_400),
    default=300,
    show_default=True,
    help="Maximum seconds to wait; then exit 7.",
)


def until(
    session: ApiSession, node_id: str, statuses: tuple[str, ...], within_s: int
) -> None:
    """Wait until the node has one of these statuses, with progress."""
    with waiting("the node") as progress:
        session.client.nodes.wait(
            node_id,
            statuses,
            within_s=within_s,
            on_state=lambda node: progress(how(node)),
        )


def how(node: NodeAnswer) -> str:
    """Return a node's status, and its reason where there is one."""
    return f"{node.status}: {why}" if (why := node.status_reason) else node.status


def print_result(
    session: ApiSession,
    node: NodeItem,
    statuses: tuple[str, ...],
    within_s: int,
    *,
    as_json: bool,
) -> None:
    """Print a node after a request, at once or when it has completed."""
    if statuses:
        until(session, node.node_id, statuses, within_s)
        node = session.client.nodes.get(node.node_id)
    if as_json:
        print_json(item(node))
    else:
        print_node(node)


def item(node: NodeItem) -> dict[str, Any]:
    """Return a node's fields as in lists; without those that are absent."""
    every = msgspec.structs.asdict(node)
    return {
        field: every[field]
        for field in NodeItem.__struct_fields__
        if every[field] is not msgspec.UNSET
    }


def print_node(node: NodeItem) -> None:
    """Print a node as a table."""
    print_fields(item(node))
