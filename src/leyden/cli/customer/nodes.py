"""`leyden nodes`: making nodes, looking at them, telling them what to do."""

import shlex
from typing import Any

import click
import msgspec

from leyden.cli.customer import (
    node_changes,
    node_commands,
    node_settings,
    node_views,
)
from leyden.cli.customer.completion import node_argument
from leyden.cli.customer.node_waiting import (
    UP,
    tell,
    until,
    wait_option,
    within_option,
)
from leyden.cli.customer.session import Session, speaking
from leyden.cli.customer.webhook import webhook
from leyden.cli.groups import Group
from leyden.cli.output import as_json, print_fields, print_json, print_rows


@click.group(cls=Group)
def nodes() -> None:
    """Make Lightning nodes, look at them, and tell them what to do.

    NODE is a node's name or its id. What needs a node's password or macaroon is in
    `leyden node`, without the s: that goes to the node itself, past the platform.
    """


for each in (
    *(node_commands.start, node_commands.stop, node_commands.restart),
    *(node_commands.update, node_commands.delete),
    *(node_changes.settings, node_changes.whitelist),
    *(node_views.connect, node_views.logs, node_views.metrics, node_views.cert),
    *(node_views.versions, webhook),
):
    nodes.add_command(each)


@nodes.command("list")
@as_json
@speaking
def list_(session: Session, *, as_json: bool) -> None:
    """List all nodes, oldest first.

    \b
    leyden nodes list
    """
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
        empty='none yet; make one: leyden nodes create "harbour light" --wait',
        spare=("endpoint", "network"),
    )
    if any(each.update_available for each in found):
        print("* there is a newer lnd: leyden nodes update NODE")


@nodes.command()
@click.argument("name")
@click.option(
    "--network",
    type=click.Choice(["testnet", "mainnet"]),
    default="testnet",
    show_default=True,
    help="Which chain it is on; on a private platform testnet is the private one.",
)
@click.option(
    "--type",
    "type_",
    type=click.Choice(["standard", "professional"]),
    default="standard",
    help="How much of a machine it gets.",
)
@click.option("--version", help="One of `leyden nodes versions`, else the default.")
@click.option(
    "--whitelist",
    multiple=True,
    metavar="ADDRESS",
    help="Who may reach it: an address or a block. As often as needed.",
)
@click.option("--nobody", is_flag=True, help="Let nobody reach it for now.")
@click.option("--idempotency-key", help="The same key makes the same node once.")
@node_settings.setting_options
@wait_option
@within_option
@as_json
@speaking
def create(
    session: Session,
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
    """Make the node NAME. Its wallet is made afterwards, by `leyden node init`.

    \b
    leyden nodes create "harbour light" --whitelist 203.0.113.7 --wait
    leyden nodes create pier --no-keysend --minchansize 100000 --alias "the pier"
    """
    settings = node_settings.of_a_new_node(name, options)
    settings["whitelist"] = node_settings.who_may(
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
    tell(node)
    print(f"next: leyden node init {shlex.quote(name)}")


@nodes.command()
@node_argument
@as_json
@speaking
def show(session: Session, node: str, *, as_json: bool) -> None:
    """Show a node with its settings and what was asked of it.

    \b
    leyden nodes show pier
    """
    found = session.client.nodes.get(session.node(node).node_id)
    if as_json:
        print_json(found)
        return
    tell(found)
    print("\nsettings")
    print_fields(node_settings.shown(found.settings))
    print("\nwhat was asked of it, newest first")
    print_rows(
        (msgspec.structs.asdict(each) for each in found.command_history),
        empty="nothing",
    )
