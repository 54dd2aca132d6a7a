"""Each runtime, with hands that do to its lnds what owners and accidents do."""

import contextlib
import ipaddress
import os
import random
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, Protocol

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.lnd.trust import trusting_whenever
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.nodes import Cause, Network, Node
from leyden.nodes.rules.observations import (
    End,
    LndState,
    Observation,
    record_host,
    record_launch,
)
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.base import LaunchSpec, Runtime
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.runtimes.local.layout import Ground, Layout
from leyden.nodes.runtimes.local.local import LocalRuntime, NodeEgress
from leyden.nodes.runtimes.local.placement import Placement
from leyden.values import replace
from tests import stand_in_lnd
from tests.authority import Authority
from tests.fakes.runtime import FakeRuntime
from tests.nodes.contracts.owners import Owner
from tests.nodes.rules.nodes import NOON, some_settings
from tests.waiting import until

PATIENCE_S = 30
_NOBODY = 2**22 + 1  # no pid is as high


class RuntimeCase(Protocol):
    """What a test does beside calling the runtime."""

    runtime: Runtime
    observations: list[Observation]
    lost: str  # how an owner is told that what the wallet was in is not there

    def launch_spec(self, node: Node) -> LaunchSpec: ...
    def begin_anew(self) -> None:
        """Let the program that asks die and come back."""

    async def crash(self, node: Node) -> None: ...
    async def ask_to_stop(self, node: Node) -> None:
        """Do what an owner does with /v1/stop."""

    async def lose(self, node: Node) -> None:
        """Let its lnd end and its folder vanish, while nobody looks."""

    async def cut_off(self, node: Node) -> Node:
        """Let its lnd go on where it cannot be seen; return the node as it is known."""

    async def reconnect(self, node: Node) -> None:
        """Let it be seen again."""


async def start(case: RuntimeCase, node: Node) -> Node:
    """Start the whole way, as the reconciler does."""
    async for checkpoint in case.runtime.start(node, case.launch_spec(node)):
        node = record_host(node, host=checkpoint.host)
        if checkpoint.process:
            node = record_launch(
                node,
                process=checkpoint.process,
                revision=checkpoint.revision,
                now=NOON,
            )
    return node


class FakeRuntimeCase:
    """The fake needs nothing but itself."""

    lost = "folder is not on its machine"

    def __init__(self) -> None:
        self.observations: list[Observation] = []
        self._fake = FakeRuntime(says=LndState.NON_EXISTING)
        self.runtime: Runtime = self._fake
        self.begin_anew()

    def launch_spec(self, _: Node) -> LaunchSpec:
        return LaunchSpec(settings=some_settings(), tls=Tls(chain_pem=b"", key_pem=b""))

    def begin_anew(self) -> None:
        self.runtime.watch(lambda _, seen: self.observations.append(seen))

    async def crash(self, node: Node) -> None:
        self._fake.end(node.id, end=End(cause=Cause.KILLED, why="signal SIGKILL"))

    async def ask_to_stop(self, node: Node) -> None:
        self._fake.end(node.id, is_requested=True)

    async def lose(self, node: Node) -> None:
        self._fake.lose(node.id)

    async def cut_off(self, node: Node) -> Node:
        self._fake.cut_off(node.id)
        return node

    async def reconnect(self, node: Node) -> None:
        self._fake.reconnect(node.id)


class LocalRuntimeCase:
    """A runtime of processes, on addresses that nobody else has."""

    lost = "folder is not on its machine"

    def __init__(self, root: Path, lnd: Path) -> None:
        self.observations: list[Observation] = []
        self.root = root
        self.placement = Placement(network=a_loopback_network())
        self.cgroups: Cgroups | None = None
        self.egress: NodeEgress | None = None
        self._lnd = lnd
        self._authority = Authority()
        self.owner = Owner(self._authority, self.placement.rest_port)
        self._tls: dict[str, Tls] = {}
        self._named: dict[str, bytes] = {}  # what claims said before
        self.started: set[str] = set()
        self.runtime: Runtime = self._made()

    @property
    def layout(self) -> Layout:
        ground = Ground(chain=Chain.SIMNET, backend=Neutrino())
        return Layout(
            root=self.root, placement=self.placement, grounds={Network.TESTNET: ground}
        )

    def _made(self) -> LocalRuntime:
        async def binary(_: Version) -> Path:
            return self._lnd

        runtime = LocalRuntime(
            self.layout,
            binary=binary,
            trusts=trusting_whenever(self._authority.pem),
            grace_s=PATIENCE_S,
            cgroups=self.cgroups,
            egress=self.egress,
        )
        runtime.watch(self._hear)
        return runtime

    def _hear(self, node_id: str, observation: Observation) -> None:
        self.started.add(node_id)
        self.observations.append(observation)

    def launch_spec(self, node: Node) -> LaunchSpec:
        if node.id not in self._tls:
            chain, key = self._authority.sign(node.api_endpoint)
            self._tls[node.id] = Tls(chain_pem=chain, key_pem=key)
        return LaunchSpec(
            settings=replace(node.settings, whitelist=()), tls=self._tls[node.id]
        )

    def begin_anew(self) -> None:
        self.runtime.close()
        self.runtime = self._made()

    def identity(self, node: Node) -> ProcessIdentity:
        held = processes.holder(self.root / node.id / "claim")
        assert held is not None
        return held

    async def crash(self, node: Node) -> None:
        processes.signal(self.identity(node), signal.SIGKILL)

    async def ask_to_stop(self, node: Node) -> None:
        await self.call(node, "POST", "/v1/stop", {})

    async def lose(self, node: Node) -> None:
        self.runtime.close()
        await processes.stop(self.identity(node), grace_s=0)
        shutil.rmtree(self.root / node.id)
        self.runtime = self._made()

    async def cut_off(self, node: Node) -> Node:
        """Make it as in another container: no pid of ours names who has the claim."""
        claim = self.root / node.id / "claim"
        self._named[node.id] = claim.read_bytes()
        os.truncate(claim, 0)
        self.runtime.close()
        self.runtime = self._made()
        _, started, program = node.process.split(" ", 2)
        return replace(node, process=f"{_NOBODY} {started} {program}")

    async def reconnect(self, node: Node) -> None:
        (self.root / node.id / "claim").write_bytes(self._named.pop(node.id))

    async def call(
        self, node: Node, method: str, path: str, body: object = None
    ) -> dict[str, Any]:
        """Call the node's REST, as its owner."""
        return await self.owner.call(node, method, path, body)

    async def close(self) -> None:
        """Leave no process behind, whatever the test did."""
        self.runtime.close()
        for claim in self.root.glob("*/claim"):
            with contextlib.suppress(TimeoutError):
                if held := processes.holder(claim):
                    await processes.stop(held, grace_s=0)


class RealRuntimeCase(LocalRuntimeCase):
    """The same with a real lnd, which wants a wallet before it can be asked to stop."""

    async def ask_to_stop(self, node: Node) -> None:
        await self.make_wallet(node)
        # The one follows the other at once.
        ready = {LndState.RPC_ACTIVE, LndState.SERVER_ACTIVE}
        await until(lambda: self.observations[-1].state in ready)
        await super().ask_to_stop(node)

    async def make_wallet(self, node: Node) -> None:
        """Make the node's wallet, as its owner."""
        await self.owner.make_wallet(node)


def a_loopback_network() -> ipaddress.IPv4Network:
    """Return a block of loopback that no other test run is likely to use."""
    dice = random.SystemRandom()
    block = f"127.{dice.randint(16, 250)}.{dice.randint(0, 255)}.0/24"
    return ipaddress.IPv4Network(block)


def install_stand_in(folder: Path, *, python: Path = Path(sys.executable)) -> Path:
    """Put the stand-in where it can be run as lnd."""
    lnd = folder / "lnd"
    code = Path(stand_in_lnd.__file__).read_text()
    lnd.write_text(f"#!{python}\n{code}")
    lnd.chmod(0o755)  # whatever the umask
    return lnd
