"""What tests of moves do with a node beside calling a side."""

from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.values import replace
from tests.nodes.contracts.runtimes import LocalRuntimeCase, RuntimeCase, start


async def start_with_wallet(case: RuntimeCase, node: Node) -> Node:
    """Start a node, and leave it running with a wallet."""
    node = replace(await start(case, node), has_wallet=True)
    if isinstance(case, LocalRuntimeCase):
        folder = case.layout.home(node) / "data/chain/bitcoin/simnet"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "wallet.db").write_text("money")
    return node


async def start_again(case: RuntimeCase, node: Node, last: Start) -> Node:
    """Start a node of which no process is known, and which was started `last`."""
    node = replace(node, process="", launched_revision=0)
    spec = replace(case.launch_spec(node), last_start=last)
    async for step in case.runtime.start(node, spec):
        node = replace(node, process=step.process)
    return node


async def clean(side: MoveEndpoint, node: Node) -> None:
    """Delete what a move has left."""
    await side.delete(node, await side.leftovers(node))
