"""`leyden nodes`: creating, viewing and controlling nodes."""

import shlex
from typing import Any

import click
import msgspec

from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, plain, print_fields, print_json, print_rows
from leyden.customer import node_commands, node_settings, node_views
from leyden.customer.completion import node_argument
from leyden.customer.node_waiting import (
    UP,
    print_node,
    until,
    wait_option,
    within_option,
)
from leyden.customer.session import ApiSession, with_session
from leyden.customer.webhook import webhook


@click.group(cls=LazyGroup)
def nodes() -> None:
    """Create, view and control Lightning nodes.

    NODE is a node's name or id. Commands that need the wallet password or a macaroon
    are in `leyden wallet`: they call the node, not the platform.
    """


for each in (
    *(node_commands.start, node_commands.stop, node_commands.restart),
    *(node_commands.update, node_commands.delete),
    node_commands.restore,
    *(node_settings.settings, node_settings.whitelist),
    *(node_views.connect, node_views.logs, node_views.metrics, node_views.cert),
    *(node_views.versions, webhook),
):
    nodes.add_command(each)


@nodes.command("list")
@click.option(
    "--deleted", is_flag=True, help="List deleted nodes that can be restored."
)
@as_json
@with_session
def list_(session: ApiSession, *, deleted: bool, as_json: bool) -> None:
    """List all nodes, oldest first.

    \b
    leyden nodes list
    leyden nodes list --deleted
    """
    if deleted:
        node_commands.print_deleted(session, as_json=as_json)
        return
    found = session.client.nodes.list_()
    if as_json:
        print_json({"nodes": found})
        return
    print_rows(
        (
            {
                "name": each.node_name,
                "status": each.status,
                "network": each.network,
                "lnd": each.lnd_version + (" *" if each.update_available else ""),
                "endpoint": each.api_endpoint,
            }
            for each in found
        ),
        empty='no nodes yet; create one: leyden nodes create "harbour light" --wait',
        spare=("endpoint", "network"),
    )
    if any(each.update_available for each in found):
        print("* update available: leyden nodes update NODE")


@nodes.command()
@click.argument("name")
@click.option(
    "--network",
    type=click.Choice(["testnet", "mainnet"]),
    default="testnet",
    show_default=True,
    help="The Bitcoin network. On a private chain, use testnet.",
)
@click.option(
    "--type",
    "type_",
    type=click.Choice(["standard", "professional"]),
    default="standard",
    help="Size: memory, processor and disk.",
)
@click.option(
    "--version",
    help=(
        "lnd version, from `leyden nodes versions`. Default: the platform's default."
    ),
)
@click.option(
    "--whitelist",
    multiple=True,
    metavar="ADDRESS",
    help="Allowed IP address or CIDR block; repeatable.",
)
@click.option(
    "--allow-none", "nobody", is_flag=True, help="Allow no IP address for now."
)
@click.option(
    "--idempotency-key", help="Idempotency key: the same key creates one node only."
)
@node_settings.setting_options
@wait_option
@within_option
@as_json
@with_session
def create(
    session: ApiSession,
    name: str,
    *,
    network: str,
    type_: str,
    version: str | None,
    whitelist: tuple[str, ...],
    nobody: bool,
    idempotency_key: str | None,
    wait: bool,
    within_s: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Create the node NAME; then create its wallet with `leyden wallet init`.

    \b
    leyden nodes create "harbour light" --whitelist 203.0.113.7 --wait
    leyden nodes create pier --no-keysend --minchansize 100000 --alias "the pier"
    """
    settings = node_settings.of_a_new_node(name, options)
    settings["whitelist"] = node_settings.first_whitelist(
        whitelist, nobody=nobody, is_here=session.is_here
    )
    made = session.client.nodes.create(
        name,
        settings=settings,
        network=network,
        type=type_,
        version=version,
        key=idempotency_key,
    )
    if wait:
        until(session, made.node_id, UP, within_s)
    node = session.client.nodes.get(made.node_id)
    if as_json:
        print_json(node)
        return
    print_node(node)
    print(f"next: leyden wallet init {shlex.quote(name)}")


@nodes.command()
@node_argument
@as_json
@with_session
def show(session: ApiSession, node: str, *, as_json: bool) -> None:
    """Print a node with its settings and activity.

    \b
    leyden nodes show pier
    """
    found = session.client.nodes.get(session.node(node).node_id)
    if as_json:
        print_json(found)
        return
    print_node(found)
    if found.unknown_since:
        print(f"\nits machine does not respond; unknown since {found.unknown_since}")
    if found.status_reason:
        print(f"\nreason for {found.status}\n{plain(found.status_reason)}")
    print("\nsettings")
    print_fields(node_settings.shown(found.settings))
    print("\nactivity, newest first")
    print_rows(
        (msgspec.structs.asdict(each) for each in found.command_history),
        empty="nothing",
    )
