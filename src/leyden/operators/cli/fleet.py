"""`leyden fleet`: the nodes of all organizations."""

import sys
from typing import Any

import click

from leyden.base.cli.database import on_running
from leyden.base.cli.groups import Group
from leyden.base.cli.organization_option import found as organization_named
from leyden.base.cli.output import (
    as_json,
    most_option,
    print_counts,
    print_json,
    print_list,
    print_rows,
)
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.nodes.rules.nodes import RuntimeName, Status
from leyden.operators import oversight
from leyden.operators.cli.moving import move
from leyden.operators.rows.counts import ListedNode
from leyden.values import asdict


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
@as_json
def fleet(ctx: click.Context, *, as_json: bool) -> None:
    """Print nodes by status and lnd version, and list nodes that need attention.

    \b
    leyden fleet
    """
    if ctx.invoked_subcommand is not None:
        return

    async def read(platform: Platform) -> dict[str, Any]:
        counts = platform.database.reader.counts
        return {
            "nodes": await counts.nodes(),
            "versions": await counts.versions(),
            "ailing": [
                {
                    "id": each.node.id,
                    "name": each.node.name,
                    "organization_id": each.node.organization_id,
                    "status": each.node.status,
                    "version": each.node.version,
                    "crashes": each.node.crashes,
                    "due": to_iso(each.node.due),
                    "why": each.why,
                }
                for each in await oversight.ailing(platform)
            ],
        }

    found = on_running(read)
    if as_json:
        print_json(found)
        return
    print_counts("nodes", found["nodes"])
    print_counts("versions", found["versions"])
    print("\nneeds attention")
    print_rows(
        found["ailing"], empty="none", spare=("organization_id", "version", "due")
    )


fleet.add_command(move)


@fleet.command("list")
@click.option("--organization", help="Name or id of the organization.")
@click.option(
    "--status",
    type=click.Choice([each.value for each in Status]),
    metavar="STATUS",
    help="Only nodes with this status, such as running or failed.",
)
@click.option(
    "--runtime",
    type=click.Choice([each.value for each in RuntimeName]),
    help="Only nodes that run here (local) or in the cluster.",
)
@most_option(100, 100_000)
@as_json
def list_(
    organization: str | None,
    status: str | None,
    runtime: str | None,
    most: int,
    *,
    as_json: bool,
) -> None:
    """List nodes of all organizations, newest first.

    \b
    leyden fleet list --runtime local
    """

    async def read(platform: Platform) -> list[ListedNode]:
        organization_id = ""
        if organization:
            organization_id = (await organization_named(platform, organization)).id
        return await platform.database.reader.counts.list_nodes(
            organization_id=organization_id,
            status=status or "",
            runtime=runtime or "",
            most=most + 1,
        )

    nodes = on_running(read)
    print_list(
        "nodes",
        ({**asdict(each), "created": to_iso(each.created)} for each in nodes[:most]),
        as_json=as_json,
        empty="no nodes",
        spare=("created", "version", "organization_id"),
    )
    if len(nodes) > most:
        print(f"there are more than {most:,} nodes; use --most", file=sys.stderr)
