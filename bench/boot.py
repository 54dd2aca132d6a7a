"""B1: from the creation of a node to its first answer, against exec'ing lnd by hand.

The base starts the very lnd that the platform would, with the same configuration,
certificate and environment, and looks at it every millisecond until it waits for its
wallet. Ours begins with POST /nodes and ends when the list of nodes says `waiting_init`
and the node has answered through the gateway. Then twenty at once, to the last one's
answer; each is looked at every 20 ms then, on both sides, and all of ours with one
request, so that the looking does not take the processors.

    ./leyden bench boot [--pairs 24] [--storms 5]
"""

import argparse
import asyncio
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from bench.measure import Figures, Report, turns
from bench.town import (
    LOOK_EVERY_S,
    PATIENCE_S,
    SETTINGS,
    Caller,
    Town,
    answering,
    town,
)

from leyden.base.daemons.build import binary, default_cache
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.lnd.options import Options
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.nodes import NodeType
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.local.placement import SHARES

STORM = 20
PORT = 18_080


class Bare:
    """Starts lnds by hand."""

    def __init__(self, folder: Path, lnd: Path, authority: Authority, net: str) -> None:
        self._folder = folder
        self._lnd = lnd
        self._authority = authority
        self._net = net
        self._count = 0

    def prepare(self) -> tuple[Path, str]:
        """Write a home for an lnd; this is not measured."""
        self._count += 1
        host = f"{self._net}.{self._count // 250}.{self._count % 250 + 1}"
        folder = self._folder / str(self._count)
        options = Options(
            version=OFFERED.default,
            chain=Chain.SIMNET,
            backend=Neutrino(),
            rest_listen=(f"{host}:{PORT}",),
            rpc_listen=(f"{host}:{PORT + 1}",),
            domain="bare.nodes.localhost",
        )
        tls = self._authority.issue("bare.nodes.localhost", now=datetime.now(UTC))
        home.write(folder, node_settings.parse(SETTINGS), options, tls=tls)
        return folder, host

    async def start(self, many: int) -> float:
        """Exec lnds, wait for each one's first answer, end them; return the seconds."""
        prepared = [self.prepare() for _ in range(many)]
        callers = [
            Caller(host, PORT, tls=self._trusts, name="bare.nodes.localhost")
            for _, host in prepared
        ]
        began = time.perf_counter()
        started = [self._exec(folder) for folder, _ in prepared]
        every_s = many * LOOK_EVERY_S
        await asyncio.gather(*(answering(each, every_s=every_s) for each in callers))
        took = time.perf_counter() - began
        for caller in callers:
            caller.close()
        for process in started:
            process.kill()
            process.wait()
        for folder, _ in prepared:
            shutil.rmtree(folder)
        return took

    def _exec(self, path: Path) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [self._lnd, f"--lnddir={path}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": str(path), **SHARES[NodeType.STANDARD].environment},
            start_new_session=True,
        )

    @property
    def _trusts(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self._authority.root_pem.decode())


async def ours(at: Town, many: int) -> float:
    """Create nodes, wait for the first answer of each, delete them."""
    callers = [at.api() for _ in range(many)]
    for caller in callers:
        await caller.call("GET", "/versions", key=at.key)  # the connection stands
    every_s = many * LOOK_EVERY_S
    began = time.perf_counter()
    made = await asyncio.gather(
        *(at.create(each, f"boot {number}") for number, each in enumerate(callers))
    )
    doors: set[str] = set()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as opening:
        while len(doors) < many:
            _, listed = await callers[0].call("GET", at.nodes, key=at.key)
            for node in listed["nodes"]:
                name = node["api_endpoint"]
                if node["status"] == "waiting_init" and name not in doors:
                    doors.add(name)
                    opening.create_task(_open(at.door(name), every_s))
            await asyncio.sleep(every_s)
    took = time.perf_counter() - began
    for node_id, caller in zip(made, callers, strict=True):
        await at.delete(caller, node_id)
        caller.close()
    return took


async def _open(door: Caller, every_s: float) -> None:
    await answering(door, every_s=every_s)
    door.close()


async def main(pairs: int, storms: int) -> int:
    """Run it all; 1 if a goal is missed."""
    report = Report("B1 from the wish to the answer")
    lnd = await binary("lnd", None, cache=default_cache(os.environ))
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)  # noqa: PTH101,S103  nodes have users of their own
        folder = Path(name)
        async with town(folder) as at:
            authority = open_or_create(at.home / "authority", now=datetime.now(UTC))
            bare = Bare(folder / "bare", lnd, authority, "127.15")
            (folder / "bare").mkdir()
            for many, rounds, median, p90 in (
                (1, pairs, 1.3, 1.6),
                (STORM, storms, 1.3, None),
            ):
                figures = Figures()
                await bare.start(1)
                await ours(at, 1)
                for turn in turns(["bare", "ours", "bare again"], rounds=rounds):
                    took = await (
                        ours(at, many) if turn == "ours" else bare.start(many)
                    )
                    figures.add(turn, took)
                report.note(
                    f"{many} at once: bare {figures.median('bare') * 1000:.0f} ms, "
                    f"ours {figures.median('ours') * 1000:.0f} ms"
                )
                report.null(figures.ratio("bare again", "bare"))
                what = f"{many} at once, ours / bare"
                ratio = figures.ratio("ours", "bare", what=what)
                report.at_most(median, ratio, p90_goal=p90)
    return report.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--storms", type=int, default=5)
    given = parser.parse_args()
    sys.exit(uvloop.run(main(given.pairs, given.storms)))
