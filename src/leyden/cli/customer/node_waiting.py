"""What commands about nodes have in common: waiting, and showing one."""

from typing import Any, Final

import click
import msgspec

from leyden.cli.customer.progress import waiting
from leyden.cli.customer.session import Session
from leyden.cli.output import print_fields, print_json
from leyden.client.node_items import NodeItem

UP: Final = ("waiting_init", "waiting_unlock", "running")
wait_option = click.option(
    "--wait", is_flag=True, help="Return when it is done, and say how it goes."
)
within_option = click.option(
    "--within",
    "within_s",
    type=click.IntRange(1, 86_400),
    default=300,
    show_default=True,
    help="Seconds to wait at most; then the exit code is 7.",
)


def until(
    session: Session, node_id: str, statuses: tuple[str, ...], within_s: int
) -> None:
    """Wait until the node has one of these statuses, and show how it goes."""
    with waiting("the node") as told:
        session.client.nodes.wait(
            node_id,
            statuses,
            within_s=within_s,
            told=lambda seen: told(seen.status),
        )


def asked(
    session: Session,
    node: NodeItem,
    statuses: tuple[str, ...],
    within_s: int,
    *,
    as_json: bool,
) -> None:
    """Show a node of which something was asked, at once or when it is done."""
    if statuses:
        until(session, node.node_id, statuses, within_s)
        node = session.client.nodes.get(node.node_id)
    if as_json:
        print_json(item(node))
    else:
        tell(node)


def item(node: NodeItem) -> dict[str, Any]:
    """Give a node as lists show it."""
    every = msgspec.structs.asdict(node)
    return {field: every[field] for field in NodeItem.__struct_fields__}


def tell(node: NodeItem) -> None:
    """Show a node to a person."""
    print_fields(item(node))
