"""B2: the cost of an idle node, against polling it every second.

Ours is `leyden serve` with so many nodes that it adopted: it holds each one's state
stream and process, and looks after each one's folder. The nodes are stand-ins: sleeping
processes with their claims, and one server that speaks TLS and lnd's state stream at
all of their addresses. The base asks /v1/state once a second over a new connection,
which is what one writes first.

    ./leyden bench idle [--nodes 1000] [--seconds 60]
"""

import argparse
import asyncio
import os
import resource
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from bench.measure import Report, cpu_seconds, resident_kib
from bench.town import Caller, Town

from leyden.base import processes, settings
from leyden.base.opening import opened
from leyden.base.processes import ProcessIdentity
from leyden.nodes import launch_specs
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.nodes import Network, Node, NodeStatus, NodeType
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.wiring.fleet import make_fleet
from leyden.values import replace

PORT = 18_080
DOMAIN = "nodes.localhost"
ASKED = 100  # the base's nodes: more would take all there is
SETTINGS = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": [],
    "alias": "harbour light",
    "color": "#ff9900",
}
MICRO = 1e6
_TOGETHER = 250


class StandIn(asyncio.Protocol):
    """An lnd that has reported its state, and reports nothing more."""

    listeners = 0  # streams that were asked for, of all
    wanted = 0
    _LINE = b'{"result":{"state":"NON_EXISTING"}}\n'
    _BODY = b'{"state":"NON_EXISTING"}'
    _HEAD = b"HTTP/1.1 200 OK\r\n"
    STREAM = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (
        len(_LINE),
        _LINE,
    )
    UNARY = _HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer."""
        request = b"/subscribe" in data
        answer = self.STREAM if request else self.UNARY
        self._transport.write(answer)  # type: ignore[attr-defined]
        StandIn.listeners += request
        if request and StandIn.listeners == StandIn.wanted:
            print("all are listened to", flush=True)


async def stand_in(folder: str, hosts: Sequence[str]) -> None:
    """Run a stand-in for lnd at each of these addresses."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/tls.cert", f"{folder}/tls.key")
    StandIn.wanted = len(hosts)
    loop = asyncio.get_running_loop()
    for host in hosts:
        await loop.create_server(StandIn, host, PORT, ssl=context, backlog=8)
    print("ready", flush=True)
    await asyncio.Event().wait()


class Crowd:
    """Nodes that seem to run."""

    def __init__(self, at: Town, folder: Path, many: int) -> None:
        self._at = at
        self._folder = folder
        self.hosts = [self._host(slot) for slot in range(1, many + 1)]
        self._sleepers: list[ProcessIdentity] = []
        self.server: subprocess.Popen[str]

    def _host(self, slot: int) -> str:
        return f"{self._at.network}.{slot >> 8}.{slot & 255}"

    async def gather(self) -> None:
        """Start the stand-ins, and write them down as nodes that were started."""
        authority = open_or_create(self._at.home / "authority", now=datetime.now(UTC))
        tls = authority.issue(f"*.{DOMAIN}", now=datetime.now(UTC))
        (self._folder / "tls.cert").write_bytes(tls.chain_pem)
        (self._folder / "tls.key").write_bytes(tls.key_pem)
        self._serve()
        given = settings.load(self._at.environment)
        async with opened(given) as platform:
            fleet = make_fleet(platform, _no_binary)
            if fleet is None:
                raise RuntimeError
            read = node_settings.parse(SETTINGS)
            for start in range(0, len(self.hosts), _TOGETHER):
                nodes = [
                    await self._node(slot)
                    for slot in range(
                        start + 1, min(start + _TOGETHER, len(self.hosts)) + 1
                    )
                ]
                async with platform.database.transaction() as tx:
                    for node in nodes:
                        await tx.nodes.add(node)
                        await tx.launch_specs.add(launch_specs.new(fleet, node, read))
        if self.server.stdout is None or self.server.stdout.readline() != "ready\n":
            raise RuntimeError("the stand-ins are not ready")

    def _serve(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "bench.idle", "--be", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.server.stdin is None:
            raise RuntimeError
        self.server.stdin.write(" ".join(self.hosts) + "\n")
        self.server.stdin.flush()

    async def _node(self, slot: int) -> Node:
        now = datetime.now(UTC)
        node = Node(
            id=f"{uuid.uuid4()}N",
            organization_id=self._at.organization_id,
            name=f"node {slot}",
            network=Network.TESTNET,
            type=NodeType.STANDARD,
            version=OFFERED.default,
            settings=node_settings.parse(SETTINGS),
            api_endpoint=f"node-{slot}.{DOMAIN}",
            slot=slot,
            created=now,
            due=now,
            status=NodeStatus.WAITING_INIT,
            host=self._host(slot),
        )
        folder = self._at.home / "nodes" / node.id
        (folder / "lnd").mkdir(parents=True)
        sleeper = await processes.spawn(
            ["/bin/sleep", "1000000"],
            log=folder / "output.log",
            claim=folder / "claim",
            env={"LEYDEN_REVISION": "1"},
        )
        self._sleepers.append(sleeper)
        process = f"{sleeper.pid} {sleeper.started} {sleeper.exe}"
        return replace(node, process=process, launched_revision=1, launched_at=now)

    def wait_until_heard(self) -> None:
        """Wait until each has reported its state to its listener.

        That they are connected says little: thousands of handshakes take a while.
        """
        if self.server.stdout is None or not self.server.stdout.readline():
            raise RuntimeError("the stand-ins have gone")

    async def leave(self) -> None:
        """End them all."""
        for sleeper in self._sleepers:
            processes.signal(sleeper, 9)
            await processes.exited(sleeper)
        self.server.kill()
        self.server.wait()


async def _no_binary(_: object) -> Path:
    raise NotImplementedError


async def asked_every_second(at: Town, hosts: Sequence[str], seconds: float) -> float:
    """Poll each lnd once a second over a new connection; return our CPU seconds."""
    began, trusts = cpu_seconds(os.getpid()), at.trusts

    async def ask(number: int, host: str) -> None:
        await asyncio.sleep(number / len(hosts))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            name = f"node-{number + 1}.{DOMAIN}"
            caller = Caller(host, PORT, tls=trusts, name=name)
            await caller.call("GET", "/v1/state")
            caller.close()
            await asyncio.sleep(1)

    await asyncio.gather(*(ask(*each) for each in enumerate(hosts)))
    return cpu_seconds(os.getpid()) - began


async def main(many: int, seconds: float) -> int:
    """Run it all; 1 if a goal is missed."""
    report = Report(f"B2 {many} nodes, idle")
    _open_enough(many)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        at = Town(folder)
        await at.serve()
        await asyncio.sleep(3)
        empty = resident_kib(at.process.pid)
        at.process.terminate()
        at.process.wait(60)
        crowd = Crowd(at, folder, many)
        await crowd.gather()
        try:
            began = time.monotonic()
            await at.serve()
            report.note(f"answering after {time.monotonic() - began:.1f} s")
            await asyncio.to_thread(crowd.wait_until_heard)
            report.note(f"all adopted after {time.monotonic() - began:.1f} s")
            await asyncio.sleep(15)  # a first round of housekeeping, and of figures
            ours, theirs = at.process.pid, crowd.server.pid
            used, its = cpu_seconds(ours), cpu_seconds(theirs)
            await asyncio.sleep(seconds)
            node_s = many * seconds
            cost = (cpu_seconds(ours) - used) / node_s * MICRO
            lnd_cost = (cpu_seconds(theirs) - its) / node_s * MICRO
            memory = (resident_kib(ours) - empty) / many
            request = crowd.hosts[:ASKED]
            polled = await asked_every_second(at, request, 20)
            base = polled / (len(request) * 20) * MICRO
            report.note(f"asking once a second takes {base:.0f} µs per node-second")
            text = f"platform {cost:.2f} µs of processor per node-second <= 10"
            report.holds(text, met=cost <= 10)
            text = f"{base / max(cost, 0.01):.0f} times less than asking >= 100"
            report.holds(text, met=base >= 100 * cost)
            text = f"lnd {lnd_cost:.2f} µs of processor per node-second <= 5"
            report.holds(text, met=lnd_cost <= 5)
            text = f"{memory:.0f} KiB more memory per node <= 96"
            report.holds(text, met=memory <= 96)
            began = time.monotonic()
            at.process.terminate()
            at.process.wait(60)
            report.note(f"stopped after {time.monotonic() - began:.1f} s")
        finally:
            at.process.kill()
            at.process.wait()
            await crowd.leave()
            await asyncio.to_thread(at.down)
    return report.end()


def _open_enough(many: int) -> None:
    """Raise the limit of open files: a connection and a process for each node."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    needed = 2 * many + 200
    if hard < needed:
        raise SystemExit(
            f"so many nodes need {needed} open files, not {hard}: raise that with "
            f"`ulimit -Hn`, or measure {(hard - 200) // 2} nodes"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--be", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.be:
        uvloop.run(stand_in(given.be, sys.stdin.readline().split()))
    else:
        sys.exit(uvloop.run(main(given.nodes, given.seconds)))
