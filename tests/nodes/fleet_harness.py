"""A fleet with fakes for everything outside, a real database, and a clock of its own.

fleet_harness = FleetHarness(...)
node = await fleet_harness.create("harbour light")
await fleet_harness.work()            # whatever is due, done
fleet_harness.runtime.say(node.id, State.LOCKED)
await fleet_harness.settled()         # and written down
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.tasks.queues import retry_after
from leyden.base.tasks.rows.tasks import TaskClaim
from leyden.base.tasks.work import Work
from leyden.errors import NodeAway
from leyden.nodes import commands, creation, reconciler, relocations
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.creation import NodeParameters
from leyden.nodes.fleet import (
    EVERYTHING,
    NODE,
    RELOCATION,
    ROUTES,
    WATCH,
    Fleet,
    FleetSettings,
)
from leyden.nodes.routes import Routes
from leyden.nodes.rules import peer_ports
from leyden.nodes.rules.nodes import Action, Network, Node, NodeType
from leyden.nodes.rules.observations import LndState
from leyden.nodes.start_limits import StartLimit
from leyden.nodes.watchers import Watching
from leyden.values import replace
from tests.base.due_tasks import claim_due
from tests.conftest import NOW
from tests.fakes.gateway import FakeGateway
from tests.fakes.node_files import FakeNodeFiles
from tests.fakes.runtime import FakeRuntime
from tests.fakes.tor import FakeTor
from tests.people.plenty import PLENTY

HARBOUR = "harbour"
OTHER_SHORE = "other shore"
CLAIM_FOR = timedelta(minutes=1)

SETTINGS: dict[str, object] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["198.51.100.7"],
    "alias": "harbour light",
    "color": "#ff9900",
}


class FleetHarness:
    """Everything a test of nodes needs."""

    def __init__(self, db: Database, sealer: Sealer, authority: Authority) -> None:
        self.now = NOW
        self.runtime = FakeRuntime(says=LndState.NON_EXISTING)
        self.node_files = FakeNodeFiles()
        self.gateway = FakeGateway()
        self.fleet = Fleet(
            database=db,
            sealer=sealer,
            runtime=self.runtime,
            node_files=self.node_files,
            gateway=self.gateway,
            authority=authority,
            clock=lambda: self.now,
            starts=StartLimit(4),
            rules=FleetSettings(networks=frozenset(Network), quotas=PLENTY),
        )
        self.begin_anew()

    def begin_anew(self) -> None:
        """Let the program die and come back; what is in memory only is lost."""
        self.fleet = replace(self.fleet, starts=StartLimit(4))
        self.watching = Watching(self.fleet)
        self.routes = Routes(self.fleet)
        self.fleet.runtime.watch(self.watching.enqueue)

    def offer_peer_ports(self, ports: str, host: str = "198.51.100.1") -> None:
        """Let the operator choose the ports of peer addresses, and start anew."""
        rules = self.fleet.rules
        rules = replace(
            rules,
            peer_ports=peer_ports.parse(ports),
            ports=replace(rules.ports, peer_host=host if ports else ""),
        )
        self.fleet = replace(self.fleet, rules=rules)
        self.begin_anew()

    def offer_onions(self, tor: FakeTor | None = None) -> FakeTor:
        """Let the operator run a Tor, and start anew."""
        tor = tor or FakeTor()
        ports = replace(self.fleet.rules.ports, tor_target="127.0.0.1")
        rules = replace(self.fleet.rules, ports=ports)
        self.fleet = replace(self.fleet, tor=tor, rules=rules)
        self.begin_anew()
        return tor

    async def found(self) -> None:
        """Make the organizations."""
        async with self.fleet.database.transaction() as tx:
            for name in (HARBOUR, OTHER_SHORE):
                await tx.accounts.add(Organization(id=name, name=name, created=NOW))
        await self.work()

    async def watch(self) -> int:
        """Watch the nodes, whoever did has died; return how many run."""
        async with self.fleet.database.transaction() as tx:
            await tx.tasks.put(WATCH, EVERYTHING, due=self.now)
        claims: list[TaskClaim] = []
        while not claims:  # who has died may have it locked for a moment
            async with self.fleet.database.transaction() as tx:
                # As if the claim that there is had run out.
                claims = await tx.tasks.claim(
                    WATCH,
                    now=self.now + timedelta(days=2),
                    until=self.now + CLAIM_FOR,
                    limit=1,
                )
        return await self.watching.adopt(Work(self.fleet.database, claims[0]))

    async def create(self, name: str = "harbour light", **changes: Any) -> Node:
        wish = NodeParameters(
            name=name,
            network=changes.pop("network", Network.TESTNET),
            type=changes.pop("type", NodeType.STANDARD),
            version=changes.pop("version", None),
            settings=changes.pop("settings", SETTINGS),
        )
        given: dict[str, Any] = {"key": uuid.uuid4(), "actor": "key:7", **changes}
        organization_id = given.pop("organization_id", HARBOUR)
        return await creation.create(
            self.fleet, organization_id, wish, now=self.now, **given
        )

    async def running(self, **changes: Any) -> Node:
        """Return a node that has come as far as it can alone."""
        node = await self.create(**changes)
        await self.work()
        return await self.node(node.id)

    async def node(self, node_id: str) -> Node:
        return await self.fleet.database.reader.nodes.get(node_id)

    async def ask(self, node: Node, action: Action) -> Node:
        return await commands.command(
            self.fleet,
            node.organization_id,
            node.id,
            action,
            actor="key:7",
            now=self.now,
        )

    async def set(self, node: Node, **given: object) -> Node:
        return await commands.change_settings(
            self.fleet,
            node.organization_id,
            node.id,
            given,
            actor="key:7",
            now=self.now,
        )

    async def lose_wallet(self, node: Node) -> None:
        """Let a locked node end, and its folder with the wallet be gone."""
        self.runtime.say(node.id, LndState.LOCKED)
        await self.settled()
        self.runtime.end(node.id)
        self.runtime.lose(node.id)
        await self.settled()
        await self.later(seconds=5)

    async def settled(self) -> None:
        """Let everything that was heard be written down."""
        await self.watching.settled()

    async def work(self) -> int:
        """Do whatever is due, until nothing is; give how many tasks that were."""
        if self.watching._held is None:  # whoever watched has died
            await self.watch()
            await self.work()
        done = 0
        steps: dict[str, Callable[[Work], Awaitable[None]]] = {
            NODE: partial(reconciler.step, self.fleet),
            RELOCATION: partial(relocations.step, self.fleet),
            ROUTES: self.routes.update,
        }
        while True:
            before = done
            for kind, step in steps.items():
                claims = await claim_due(
                    self.fleet.database, kind, now=self.now, claim_for=CLAIM_FOR
                )
                for claim in claims:
                    work = Work(self.fleet.database, claim)
                    await step(work)
                    if not work.settled:
                        async with work.transaction() as tx:
                            await work.done(tx)
                    done += 1
            await self.settled()
            if done == before:
                return done

    async def step(self, node_id: str) -> None:
        """Take one node one step, as the queue does."""
        async with self.fleet.database.transaction() as tx:
            await tx.tasks.put(NODE, node_id, due=self.now)
        async with self.fleet.database.transaction() as tx:
            claims = await tx.tasks.claim(
                NODE, now=self.now, until=self.now + CLAIM_FOR, limit=100
            )
        await asyncio.gather(
            *(
                reconciler.step(self.fleet, Work(self.fleet.database, claim))
                for claim in claims
            )
        )

    async def refused(self) -> None:
        """Let the one task of a node that is due be refused, and wait for minutes."""
        db = self.fleet.database
        until = self.now + CLAIM_FOR
        async with db.transaction() as tx:
            (claim,) = await tx.tasks.claim(NODE, now=self.now, until=until, limit=9)
        with pytest.raises(NodeAway):
            await reconciler.step(self.fleet, Work(db, claim))
        due = self.now + retry_after(9)
        async with db.transaction() as tx:  # as the queue does
            await tx.tasks.reschedule(claim, due=due, attempts=9)

    async def later(self, **time: float) -> int:
        """Let time pass, and do what is due then."""
        self.now += timedelta(**time)
        return await self.work()

    async def restart(self) -> int:
        """Come back after a kill -9: leases have run out, nodes are found again."""
        self.begin_anew()
        self.now += CLAIM_FOR
        return await self.watch()
