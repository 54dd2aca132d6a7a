"""`leyden fleet`: the nodes of all organizations."""

import asyncio
import sys
from typing import Any

import click

from leyden.base.cli.database import on_running
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import found as organization_named
from leyden.base.cli.output import (
    as_json,
    limit_option,
    operator,
    print_counts,
    print_done,
    print_json,
    print_list,
    print_rows,
)
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.base.rules.units import size
from leyden.nodes.rules.nodes import NodeStatus, RuntimeName
from leyden.nodes.rules.relocations import Relocation, RelocationStep
from leyden.nodes.wiring import node_moves
from leyden.operators import oversight
from leyden.operators.rows.counts import ListedNode
from leyden.values import asdict

_LOOK_EVERY_S = 0.2
_NOW = {
    RelocationStep.STOPPING: "stopping lnd in {origin}",
    RelocationStep.COPYING: "copying the node to {target}",
    RelocationStep.SWITCHING: "switching the node to {target}",
    RelocationStep.RETURNING: "returning the node to {origin}",
    RelocationStep.CLEANING: "deleting the old copy",
    RelocationStep.DONE: "done",
}


@click.group(cls=LazyGroup, invoke_without_command=True)
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


@fleet.command("list")
@click.option("--organization", help="Name or id of the organization.")
@click.option(
    "--status",
    type=click.Choice([each.value for each in NodeStatus]),
    metavar="STATUS",
    help="Only nodes with this status, such as running or failed.",
)
@click.option(
    "--runtime",
    type=click.Choice([each.value for each in RuntimeName]),
    help="Only nodes that run here (local) or in the cluster.",
)
@limit_option(100, 100_000)
@as_json
def list_(
    organization: str | None,
    status: str | None,
    runtime: str | None,
    limit: int,
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
            limit=limit + 1,
        )

    nodes = on_running(read)
    print_list(
        "nodes",
        ({**asdict(each), "created": to_iso(each.created)} for each in nodes[:limit]),
        as_json=as_json,
        empty="no nodes",
        spare=("created", "version", "organization_id"),
    )
    if len(nodes) > limit:
        print(f"there are more than {limit:,} nodes; use --limit", file=sys.stderr)


@fleet.command()
@click.argument("node_id")
@click.option(
    "--to",
    required=True,
    type=click.Choice([each.value for each in RuntimeName]),
    help="Where to run the node.",
)
@click.option("--detach", is_flag=True, help="Don't wait until the node has moved.")
@as_json
def move(node_id: str, to: str, *, detach: bool, as_json: bool) -> None:
    """Move a node to a cluster, or back to this machine.

    The platform stops lnd, copies and compares its files, and starts it again with the
    same name, certificate, wallet and peer address. The owner sees a restart. You can
    interrupt this command; the move continues. If copying fails five times, the node
    starts where it was, and the command exits 1.

    \b
    leyden fleet move 5f0c9d8e-2f4b-4b57-9a53-0d6f0e2a7c11N --to kubernetes
    """
    target = RuntimeName(to)

    async def run(platform: Platform) -> Relocation:
        begun = await node_moves.begin(platform, node_id, target, actor=operator())
        return begun if detach else await _followed(platform, begun)

    found = on_running(run)
    if found.failed:
        print(f"node {node_id} stays in {found.origin}: {found.why}", file=sys.stderr)
        sys.exit(1)
    is_done = found.step is RelocationStep.DONE
    moved = f"was moved to {found.target}, {size(found.size)} copied; it starts there"
    print_done(
        {"node_id": node_id, "target": found.target, "step": found.step},
        f"node {node_id} {moved if is_done else f'is being moved to {found.target}'}",
        as_json=as_json,
    )


async def _followed(platform: Platform, begun: Relocation) -> Relocation:
    """Print each step, and what hinders it, until the move has ended."""
    said = ""
    while True:
        found = await platform.database.reader.relocations.find(begun.node_id) or begun
        words = _NOW[found.step].format(origin=found.origin, target=found.target)
        if found.failures:
            words += f", try {found.failures + 1}: {found.why}"
        if words != said and found.step is not RelocationStep.DONE:
            print(words, file=sys.stderr)
            said = words
        if found.step is RelocationStep.DONE:
            return found
        await asyncio.sleep(_LOOK_EVERY_S)
