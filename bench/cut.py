"""B14: how long an address has access after its removal from a whitelist.

    ./leyden bench cut [--nodes 1000] [--rounds 6] [--busy 8]

Envoy has 10 nodes, or many, each with two whitelist entries and both listeners. A
caller is connected to one of them, its address is taken off, and the time counts until
the connection ends: on the machine as it is, and beside programs that do nothing but
compute. Also what an update costs Envoy of processor.
"""

import argparse
import asyncio
import contextlib
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.gateway import HOST, free_port
from bench.measure import Figures, Report, cpu_seconds, quantile, turns

from leyden import processes
from leyden.certificates.authority import open_or_create
from leyden.gateway.bootstrap import Bootstrap
from leyden.gateway.listener_options import ListenerOptions
from leyden.gateway.local import LocalGateway
from leyden.gateway.routes import Address, Listener, Route
from leyden.gateway.supervisor import program

FEW = 10
NAME = "harbour.nodes.test"
STAYS, GOES = "127.0.0.11", "127.0.0.12"
GOAL_S = 1.0
WITHIN_S = 60.0


@dataclass
class Contender:
    """A gateway with so many nodes, one of which answers."""

    gateway: LocalGateway
    port: int
    pid: int
    others: tuple[Route, ...]
    node: Address

    async def admit(self, *sources: str) -> None:
        """Admit only these addresses."""
        ours = Route(
            node_id="harbour",
            name=NAME,
            whitelist=sources,
            rest=self.node,
            grpc=self.node,
        )
        await self.gateway.apply([ours, *self.others])

    async def cut(self) -> tuple[float, float]:
        """Return the duration of a removal, and its cost for Envoy."""
        await self.admit(STAYS, GOES)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(
            HOST, self.port, local_addr=(GOES, 0), ssl=context, server_hostname=NAME
        )
        before = cpu_seconds(self.pid)
        began = time.perf_counter()
        applying = asyncio.create_task(self.admit(STAYS))
        with contextlib.suppress(OSError):
            async with asyncio.timeout(WITHIN_S):
                assert not await reader.read(1)
        took = time.perf_counter() - began
        await applying
        writer.close()
        return took, cpu_seconds(self.pid) - before


@contextlib.asynccontextmanager
async def contender(
    folder: Path, number: int, node: Address
) -> AsyncIterator[Contender]:
    """Run a gateway with so many nodes."""
    ports = {listener: free_port() for listener in Listener}
    gateway = LocalGateway(
        folder, ListenerOptions(ports=ports), Bootstrap(), envoy=program()
    )
    others = tuple(
        Route(
            node_id=f"node-{count}",
            name=f"node-{count}.nodes.test",
            whitelist=("192.0.2.7", "198.51.100.0/24"),
            rest=Address("127.64.0.1", 18_080),
            grpc=Address("127.64.0.1", 18_009),
        )
        for count in range(number)
    )
    await gateway.start()
    try:
        envoy = processes.holder(folder / "claim")
        assert envoy is not None
        yield Contender(gateway, ports[Listener.REST], envoy.pid, others, node)
    finally:
        await gateway.stop()


@contextlib.asynccontextmanager
async def silent_node(folder: Path) -> AsyncIterator[Address]:
    """Run a node that accepts connections and sends nothing."""
    now = datetime.now(UTC)
    tls = open_or_create(folder / "authority", now=now).issue(NAME, now=now)
    (folder / "node.pem").write_bytes(tls.chain_pem + tls.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "node.pem")

    async def listen(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            await reader.read()
        writer.close()

    port = free_port()
    async with await asyncio.start_server(listen, HOST, port, ssl=context):
        yield Address(HOST, port)


@contextlib.contextmanager
def busy(number: int) -> Iterator[None]:
    """Run busy programs beside us."""
    words = [sys.executable, "-S", "-c", "while True: pass"]
    beside = [subprocess.Popen(words) for _ in range(number)]
    try:
        yield
    finally:
        for each in beside:
            each.kill()
            each.wait()


async def main() -> int:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--busy", type=int, default=8)
    given = parser.parse_args()
    report = Report("B14 a whitelist's change")
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        node = await stack.enter_async_context(silent_node(folder))
        field = {
            name: await stack.enter_async_context(
                contender(folder / name, number, node)
            )
            for name, number in (("few", FEW), ("many", given.nodes))
        }
        field["few again"] = field["few"]
        for beside, where in ((0, "alone"), (given.busy, f"beside {given.busy}")):
            times, costs = Figures(), Figures()
            took: dict[str, list[float]] = {name: [] for name in field}
            with busy(beside):
                for name in turns(list(field), rounds=given.rounds):
                    cut, cost = await field[name].cut()
                    times.add(name, cut)
                    costs.add(name, cost)
                    took[name].append(cut)
            report.null(times.ratio("few again", "few", what=f"{where}: few / few"))
            for name, number in (("few", FEW), ("many", given.nodes)):
                report.note(
                    f"{where}, {number} nodes: {times.median(name):.3f} s, and "
                    f"{costs.median(name):.3f} s of processor"
                )
                late = quantile(took[name], 0.9)
                sentence = f"{where}, {number} nodes: p90 {late:.3f} s <= {GOAL_S} s"
                report.holds(sentence, met=late <= GOAL_S)
    return report.end()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
