"""`leyden fleet move`: nodes between this machine and a cluster."""

import asyncio
import sys

import click

from leyden.base.cli.database import on_running
from leyden.base.cli.output import operator
from leyden.base.platform import Platform
from leyden.nodes.rules.nodes import RuntimeName
from leyden.nodes.rules.relocations import Relocation, Step
from leyden.nodes.wiring import node_moves

_LOOK_EVERY_S = 0.2
_NOW = {
    Step.STOPPING: "stopping lnd in {origin}",
    Step.COPYING: "copying the node to {target}",
    Step.SWITCHING: "switching the node to {target}",
    Step.RETURNING: "returning the node to {origin}",
    Step.CLEANING: "deleting the old copy",
    Step.DONE: "done",
}


@click.command()
@click.argument("node_id")
@click.option(
    "--to",
    required=True,
    type=click.Choice([each.value for each in RuntimeName]),
    help="Where to run the node.",
)
@click.option("--detach", is_flag=True, help="Don't wait until the node has moved.")
def move(node_id: str, to: str, *, detach: bool) -> None:
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
    if found.step is Step.DONE:
        size = f"{found.size:,} bytes copied"
        print(f"node {node_id} was moved to {found.target}, {size}; it starts there")
    else:
        print(f"node {node_id} is being moved to {found.target}")


async def _followed(platform: Platform, begun: Relocation) -> Relocation:
    """Print each step, and what hinders it, until the move has ended."""
    said = ""
    while True:
        found = await platform.database.reader.relocations.find(begun.node_id) or begun
        words = _NOW[found.step].format(origin=found.origin, target=found.target)
        if found.failures:
            words += f", try {found.failures + 1}: {found.why}"
        if words != said and found.step is not Step.DONE:
            print(words, file=sys.stderr)
            said = words
        if found.step is Step.DONE:
            return found
        await asyncio.sleep(_LOOK_EVERY_S)
