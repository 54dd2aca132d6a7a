"""A program to be killed while it moves a node: a real database and real processes.

    python -m tests.crash.move_victim FOLDER

Both sides are folders of this machine, each with a runtime of its own. The node is
made, gets a wallet, and is moved from one to the other; when it waits there this says
so and ends; its lnd (a stand-in) lives on.
"""

import asyncio
import contextlib
import sys
from ipaddress import IPv4Network
from pathlib import Path

from leyden.app.loops import fleet_queues
from leyden.base.rules.times import utc_now
from leyden.base.tasks.worker import Worker
from leyden.errors import NotAllowed
from leyden.lnd.trust import trusting
from leyden.nodes import relocations
from leyden.nodes.fleet import EVERYTHING, NODE, RELOCATION, WATCH, Fleet
from leyden.nodes.rules.nodes import NodeStatus, RuntimeName
from leyden.nodes.rules.relocations import RelocationStep
from leyden.nodes.runtimes.composite import SeveralRuntimes
from leyden.nodes.runtimes.local.layout import Layout
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.nodes.runtimes.local.local_move_endpoint import LocalMoveEndpoint
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.watchers import Watching
from leyden.values import replace
from tests.crash.node_victim import KEY, PROCESS, fleet_in
from tests.crash.victim import say

NODE_ID = f"{KEY}N"


async def two_sides(folder: Path) -> Fleet:
    """Return a fleet whose second runtime has folders and addresses of its own."""
    fleet = await fleet_in(folder)
    here = fleet.runtime
    assert isinstance(here, LocalRuntime)

    async def binary(_: object) -> Path:
        return folder / "lnd"

    network = IPv4Network((folder / "network-there").read_text())
    layout = Layout(
        root=folder / "there",
        placement=Placement(network=network),
        grounds=here.layout.grounds,
    )
    runtimes = {
        RuntimeName.LOCAL: here,
        RuntimeName.KUBERNETES: LocalRuntime(
            layout, binary=binary, trusts=trusting(fleet.authority.root_pem.decode())
        ),
    }
    sides = {
        name: LocalMoveEndpoint(each.layout, grace_s=5)
        for name, each in runtimes.items()
    }
    return replace(fleet, runtime=SeveralRuntimes(runtimes), sides=sides)


async def move_the_node(folder: Path) -> None:
    fleet = await two_sides(folder)
    watching = Watching(fleet)
    fleet.runtime.watch(watching.enqueue)
    async with fleet.database.transaction() as tx:
        await tx.tasks.release_all()
        await tx.tasks.put(WATCH, EVERYTHING, due=utc_now())
        await tx.homes.enter(PROCESS, delete_before=utc_now())
    queues = [
        queue
        for queue in fleet_queues(fleet, watching)
        if queue.kind in {NODE, RELOCATION, WATCH}
    ]
    worker = Worker(fleet.database, queues, clock=utc_now, process_id=PROCESS.id)
    working = asyncio.create_task(worker.run())
    with contextlib.suppress(NotAllowed):  # asked for before we were killed
        await relocations.request(
            fleet.database, utc_now, NODE_ID, RuntimeName.KUBERNETES, actor="victim"
        )
    reader = fleet.database.reader
    async with asyncio.timeout(60):
        while True:
            found = await reader.relocations.find(NODE_ID)
            node = await reader.nodes.get(NODE_ID)
            if (
                found is not None
                and found.step is RelocationStep.DONE
                and node.status is NodeStatus.WAITING_INIT
            ):
                break
            await asyncio.sleep(0.005)
    say("waits", f"{node.runtime} {node.process}")
    say("failed", found.why)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await watching.close()
    fleet.runtime.close()
    await fleet.database.close()


if __name__ == "__main__":
    assert Path("tests").is_dir(), "run from the root of the repository"
    asyncio.run(move_the_node(Path(sys.argv[1])))
    say("the end")
