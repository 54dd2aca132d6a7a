"""A program to be killed while it makes a node: a real database and real processes.

    python -m tests.crash.node_victim FOLDER

The node is made under one key, as a caller would who asks again. When it waits for its
wallet this says so and ends; its lnd (a stand-in) lives on.
"""

import asyncio
import os
import secrets
import sys
import uuid
from ipaddress import IPv4Network
from pathlib import Path

from leyden.app.loops import fleet_queues
from leyden.base.database import schema
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.tasks.worker import Worker
from leyden.lnd.trust import trusting
from leyden.nodes import creation
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.creation import NodeParameters
from leyden.nodes.fleet import EVERYTHING, NODE, WATCH, Fleet, FleetSettings
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.rows.homes import Home, Process
from leyden.nodes.rules.nodes import Network, NodeStatus, NodeType
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.local.layout import Ground, Layout
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.nodes.runtimes.local.local_node_files import LocalNodeFiles
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.start_limits import StartLimit
from leyden.nodes.watchers import Watching
from tests.crash.victim import KEYRING, say
from tests.fakes.gateway import FakeGateway
from tests.nodes.fleet_harness import SETTINGS
from tests.people.plenty import PLENTY

KEY = uuid.UUID("0b5c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55")
TEAM = "harbour"
HOME = Home(identity="home", authority="ours", place="here", host="machine")
PROCESS = Process(
    id=secrets.token_hex(8),
    session="here",
    host="machine",
    pid=os.getpid(),
    beat=0,
    until=utc_now(),
)


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/leyden.db"


async def fleet_in(folder: Path) -> Fleet:
    """Return the fleet of a folder, in which `network` and `lnd` were put before."""
    ground = Ground(chain=Chain.SIMNET, backend=Neutrino())
    network = IPv4Network((folder / "network").read_text())
    layout = Layout(
        root=folder / "nodes",
        placement=Placement(network=network),
        grounds={Network.TESTNET: ground},
    )
    authority = open_or_create(folder / "authority", now=utc_now())

    async def binary(_: Version) -> Path:
        return folder / "lnd"

    return Fleet(
        database=await open_database(url(folder)),
        sealer=Sealer(KEYRING),
        runtime=LocalRuntime(
            layout, binary=binary, trusts=trusting(authority.root_pem.decode())
        ),
        node_files=LocalNodeFiles(layout),
        gateway=FakeGateway(),
        authority=authority,
        clock=utc_now,
        starts=StartLimit(4),
        rules=FleetSettings(slots=250, quotas=PLENTY),
    )


async def make_a_node(folder: Path) -> None:
    schema.migrate(url(folder))
    fleet = await fleet_in(folder)
    watching = Watching(fleet)
    fleet.runtime.watch(watching.enqueue)
    async with fleet.database.transaction() as tx:
        if TEAM not in {each.id for each in await tx.accounts.list_()}:
            await tx.accounts.add(
                Organization(id=TEAM, name="Harbour", created=utc_now())
            )
        await tx.tasks.release_all()
        await tx.tasks.put(WATCH, EVERYTHING, due=utc_now())
        await tx.homes.enter(PROCESS, delete_before=utc_now())
        await tx.homes.add(HOME)
    queues = [
        queue for queue in fleet_queues(fleet, watching) if queue.kind in {NODE, WATCH}
    ]
    worker = Worker(fleet.database, queues, clock=utc_now, process_id=PROCESS.id)
    working = asyncio.create_task(worker.run())
    wish = NodeParameters(
        name="harbour light",
        network=Network.TESTNET,
        type=NodeType.STANDARD,
        version=None,
        settings=SETTINGS,
    )
    node = await creation.create(
        fleet, TEAM, wish, key=KEY, actor="victim", now=utc_now()
    )
    say("created", node.id)
    async with asyncio.timeout(30):
        while node.status is not NodeStatus.WAITING_INIT:
            await asyncio.sleep(0.005)
            node = await fleet.database.reader.nodes.get(node.id)
    say("waits", node.process)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await watching.close()
    assert isinstance(fleet.runtime, LocalRuntime)
    fleet.runtime.close()
    await fleet.database.close()


if __name__ == "__main__":
    assert Path("tests").is_dir(), "run from the root of the repository"
    asyncio.run(make_a_node(Path(sys.argv[1])))
    say("the end")
