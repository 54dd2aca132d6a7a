"""Changing a node's settings and allowed IP addresses."""

from typing import Any

import click

from leyden.base.cli.output import as_json, print_fields, print_json
from leyden.customer import node_settings
from leyden.customer.completion import node_argument
from leyden.customer.session import Session, with_session
from leyden.errors import SetupError


@click.command()
@node_argument
@node_settings.setting_options
@as_json
@with_session
def settings(session: Session, node: str, *, as_json: bool, **options: Any) -> None:
    """Print a node's settings, or change some of them.

    A change restarts lnd, and you must unlock the wallet afterwards. Changes to --rest,
    --grpc and --webhook alone need no restart.

    \b
    leyden nodes settings pier
    leyden nodes settings pier --alias "the pier" --no-keysend
    """
    node_id = session.node(node).node_id
    changes = node_settings.given_settings(options)
    found = (
        session.client.nodes.change_settings(node_id, **changes)
        if changes
        else session.client.nodes.get(node_id)
    )
    if as_json:
        print_json(found.settings)
        return
    print_fields(node_settings.shown(found.settings))
    if node_settings.restart(changes) and found.status not in {"stopped", "failed"}:
        print(
            "lnd restarts with the new settings; see `leyden nodes show`, then unlock "
            "the wallet"
        )


@click.command()
@node_argument
@click.argument("addresses", nargs=-1)
@click.option("--add", is_flag=True, help="Add ADDRESSES to the list.")
@click.option("--remove", is_flag=True, help="Remove ADDRESSES from the list.")
@click.option(
    "--nobody", is_flag=True, help="Empty the list: nobody can reach the node."
)
@as_json
@with_session
def whitelist(
    session: Session,
    node: str,
    addresses: tuple[str, ...],
    *,
    add: bool,
    remove: bool,
    nobody: bool,
    as_json: bool,
) -> None:
    """Print the IP addresses allowed to reach a node, or change them.

    ADDRESSES replace the list unless --add or --remove is given.
    Connections from removed addresses are closed within a second.

    \b
    leyden nodes whitelist pier
    leyden nodes whitelist pier --add 203.0.113.7 2001:db8::/32
    """
    if (add, remove, nobody).count(True) > 1 or (nobody and addresses):
        raise SetupError("--add, --remove, --nobody: use only one of these options")
    if (add or remove) and not addresses:
        raise SetupError("ADDRESSES: list the IP addresses to add or remove")
    node_id = session.node(node).node_id
    before = session.client.nodes.get(node_id).settings.whitelist
    after = list(addresses)
    if add:
        after = [*before, *addresses]
    elif remove:
        after = [each for each in before if each not in addresses]
        if len(after) != len(before) - len(set(addresses)):
            raise SetupError(
                "ADDRESSES: some are not on the list; `leyden nodes whitelist NODE` "
                "prints it"
            )
    if addresses or nobody:
        before = session.client.nodes.replace_whitelist(node_id, after)
    if as_json:
        print_json({"node_id": node_id, "whitelist": before})
    else:
        print("\n".join(before) or "nobody can reach this node")
