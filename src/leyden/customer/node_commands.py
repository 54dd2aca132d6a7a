"""Commands that start, stop, restart, update and delete nodes."""

import shlex
from typing import Final

import click
import msgspec

from leyden.base.cli import exit_codes
from leyden.base.cli.confirmation import confirm, on_terminal, yes_option
from leyden.base.cli.output import as_json, print_list, print_one
from leyden.customer.completion import node_argument
from leyden.customer.node_waiting import (
    UP,
    print_result,
    until,
    wait_option,
    within_option,
)
from leyden.customer.session import ApiSession, with_session
from leyden.errors import SetupError

_NOT_FOUND: Final = 404


@click.command()
@node_argument
@wait_option
@within_option
@as_json
@with_session
def start(
    session: ApiSession, node: str, *, wait: bool, within_s: int, as_json: bool
) -> None:
    """Start a stopped or failed node; you must unlock its wallet afterwards.

    \b
    leyden nodes start pier --wait
    """
    node_item = session.client.nodes.start(session.node(node).node_id)
    print_result(session, node_item, UP if wait else (), within_s, as_json=as_json)


@click.command()
@node_argument
@wait_option
@within_option
@as_json
@with_session
def stop(
    session: ApiSession, node: str, *, wait: bool, within_s: int, as_json: bool
) -> None:
    """Stop a node gracefully, until you start it again.

    \b
    leyden nodes stop pier --wait
    """
    node_item = session.client.nodes.stop(session.node(node).node_id)
    print_result(
        session, node_item, ("stopped",) if wait else (), within_s, as_json=as_json
    )


@click.command()
@node_argument
@wait_option
@within_option
@as_json
@with_session
def restart(
    session: ApiSession, node: str, *, wait: bool, within_s: int, as_json: bool
) -> None:
    """Restart a node; you must unlock its wallet afterwards.

    \b
    leyden nodes restart pier --wait
    """
    node_item = session.client.nodes.restart(session.node(node).node_id)
    print_result(session, node_item, UP if wait else (), within_s, as_json=as_json)


@click.command()
@node_argument
@click.option(
    "--version",
    help="lnd version, from `leyden nodes versions`. Default: the newest.",
)
@yes_option
@wait_option
@within_option
@as_json
@with_session
def update(
    session: ApiSession,
    node: str,
    *,
    version: str | None,
    yes: bool,
    wait: bool,
    within_s: int,
    as_json: bool,
) -> None:
    """Update a node to a newer lnd; you can't undo this.

    You must unlock the wallet afterwards.

    \b
    leyden nodes update pier --wait
    """
    found = session.node(node)
    node_id = found.node_id
    confirm(
        f"Update {found.node_name} to {version or 'the newest lnd'}? You can't go back "
        "to an older version, and must unlock the wallet afterwards.",
        yes=yes,
    )
    updated = session.client.nodes.update(node_id, version)
    if wait:
        until(session, node_id, UP, within_s)
    print_one(updated, as_json=as_json)


@click.command()
@node_argument
@click.option("--yes", is_flag=True, help="Don't ask for the node's name to confirm.")
@as_json
@with_session
def delete(session: ApiSession, node: str, *, yes: bool, as_json: bool) -> None:
    """Delete a node; `leyden nodes restore` brings it back for some days.

    \b
    leyden nodes delete pier
    """
    found = session.node(node)
    if not yes:
        on_terminal(f"Delete {found.node_name}?")
        typed = click.prompt("Type the name of the node to delete it", err=True)
        if typed != found.node_name:
            raise SetupError("wrong name; nothing was deleted")
    print_result(
        session, session.client.nodes.delete(found.node_id), (), 0, as_json=as_json
    )
    if not as_json:
        print(f"to undo this: leyden nodes restore {found.node_id}")


def print_deleted(session: ApiSession, *, as_json: bool) -> None:
    """Print deleted nodes that can be restored, latest first."""
    print_list(
        "nodes",
        map(msgspec.structs.asdict, session.client.nodes.deleted()),
        as_json=as_json,
        empty="no deleted nodes that can be restored",
        spare=("created", "network", "lnd_version"),
    )


@click.command()
@click.argument("node")
@click.option("--name", help="New name, if the old one is taken.")
@as_json
@with_session
def restore(session: ApiSession, node: str, *, name: str | None, as_json: bool) -> None:
    """Restore the deleted node NODE; it comes back stopped.

    \b
    leyden nodes restore pier
    leyden nodes restore pier --name "old pier"
    """
    ids = (
        each.node_id
        for each in session.client.nodes.deleted()
        if node in {each.node_id, each.node_name}
    )
    if (node_id := next(ids, None)) is None:
        raise exit_codes.Refusal(
            f"no deleted node {node!r}; see `leyden nodes list --deleted`",
            status=_NOT_FOUND,
        )
    restored = session.client.nodes.restore(node_id, name)
    print_result(session, restored, (), 0, as_json=as_json)
    if not as_json:
        print(f"next: leyden nodes start {shlex.quote(restored.node_name)} --wait")
