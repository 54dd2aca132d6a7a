"""Telling a node what to do: start, stop, restart, update, delete."""

import click
import msgspec

from leyden.cli.customer.completion import node_argument
from leyden.cli.customer.node_waiting import (
    UP,
    asked,
    until,
    wait_option,
    within_option,
)
from leyden.cli.customer.session import Session, speaking
from leyden.cli.output import as_json, print_fields, print_json
from leyden.errors import SetupError


@click.command()
@node_argument
@wait_option
@within_option
@as_json
@speaking
def start(
    session: Session, node: str, *, wait: bool, within_s: int, as_json: bool
) -> None:
    """Start a node that is stopped or failed; its wallet is locked then.

    \b
    leyden nodes start pier --wait
    """
    node_item = session.client.nodes.start(session.node(node).node_id)
    asked(session, node_item, UP if wait else (), within_s, as_json=as_json)


@click.command()
@node_argument
@wait_option
@within_option
@as_json
@speaking
def stop(
    session: Session, node: str, *, wait: bool, within_s: int, as_json: bool
) -> None:
    """Stop a node gracefully, and keep it stopped.

    \b
    leyden nodes stop pier --wait
    """
    node_item = session.client.nodes.stop(session.node(node).node_id)
    asked(session, node_item, ("stopped",) if wait else (), within_s, as_json=as_json)


@click.command()
@node_argument
@wait_option
@within_option
@as_json
@speaking
def restart(
    session: Session, node: str, *, wait: bool, within_s: int, as_json: bool
) -> None:
    """Stop a node and start it again; its wallet is locked then.

    \b
    leyden nodes restart pier --wait
    """
    node_item = session.client.nodes.restart(session.node(node).node_id)
    asked(session, node_item, UP if wait else (), within_s, as_json=as_json)


@click.command()
@node_argument
@click.option("--version", help="One of `leyden nodes versions`, else the newest.")
@wait_option
@within_option
@as_json
@speaking
def update(
    session: Session,
    node: str,
    *,
    version: str | None,
    wait: bool,
    within_s: int,
    as_json: bool,
) -> None:
    """Bring a node to a newer lnd. There is no way back; its wallet is locked then.

    \b
    leyden nodes update pier --wait
    """
    node_id = session.node(node).node_id
    told = session.client.nodes.update(node_id, version)
    if wait:
        until(session, node_id, UP, within_s)
    if as_json:
        print_json(told)
    else:
        print_fields(msgspec.structs.asdict(told))


@click.command()
@node_argument
@click.option("--yes", is_flag=True, help="Do not ask for its name first.")
@as_json
@speaking
def delete(session: Session, node: str, *, yes: bool, as_json: bool) -> None:
    """Delete a node: its name is gone at once, its data within days.

    \b
    leyden nodes delete pier
    """
    found = session.node(node)
    if not yes:
        typed = click.prompt("Type the name of the node to delete it", err=True)
        if typed != found.node_name:
            raise SetupError("that is not its name; nothing was deleted")
    asked(session, session.client.nodes.delete(found.node_id), (), 0, as_json=as_json)
