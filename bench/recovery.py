"""B10: recovery from a kill -9 with 100 nodes, against the start of a web app.

Each turn of ours kills the platform with all its real lnds running, starts it again and
waits for an answer that needs the database. The base (`ten_routes.py`) is FastAPI with
SQLAlchemy and Alembic, and answers from a database of its own. Afterwards each lnd must
be the process it was, and have been found again within two seconds of the start.

    ./leyden bench recovery [--nodes 100] [--rounds 5]
"""

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import uvloop
from bench.contenders import wait_for
from bench.measure import Figures, Report, quantile, turns
from bench.ten_routes import prepare
from bench.town import LOOK_EVERY_S, Town, free_port

from leyden.base import processes
from leyden.base.processes import ProcessIdentity

_FOUND = re.compile(r"(\S+Z) .*nodes found again\W.*running=\D*(\d+)")
_TOGETHER = 10
_BASE = ("base", "base again")


class Back:
    """A platform that is killed and comes back."""

    def __init__(self, at: Town, many: int) -> None:
        self._at = at
        self._many = many
        self.found_s: list[float] = []

    async def fill(self) -> None:
        """Make the nodes."""
        numbers = asyncio.Semaphore(_TOGETHER)

        async def one(number: int) -> None:
            async with numbers:
                caller = self._at.api()
                node_id = await self._at.create(caller, f"node {number}")
                await self._at.until(caller, node_id, "waiting_init", every_s=0.1)
                caller.close()

        await asyncio.gather(*map(one, range(self._many)))

    def running(self) -> set[ProcessIdentity | None]:
        """Return the lnds that run."""
        claims = (self._at.home / "nodes").glob("*/claim")
        return {processes.holder(claim) for claim in claims}

    async def again(self) -> float:
        """Kill and restart the platform; return the seconds to its first answer."""
        self._at.kill()
        log = self._at.home / "serve.log"
        said = len(log.read_text())
        began, at = time.perf_counter(), time.time()
        await self._at.serve()
        took = time.perf_counter() - began
        found = None
        async with asyncio.timeout(30):
            while found is None:
                found = _FOUND.search(log.read_text()[said:])
                await asyncio.sleep(0.01)
        self.found_s.append(datetime.fromisoformat(found[1]).timestamp() - at)
        if int(found[2]) != self._many:
            raise RuntimeError(f"{found[2]} of {self._many} were found")
        return took


def base(folder: Path) -> float:
    """Start the base; return the seconds to its first answer."""
    port = free_port()
    command = [sys.executable, "-m", "bench.ten_routes", str(folder), str(port)]
    began = time.perf_counter()
    with subprocess.Popen(command) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process, every_s=LOOK_EVERY_S)
            return time.perf_counter() - began
        finally:
            process.kill()


async def main(many: int, rounds: int) -> int:
    """Run it all; 1 if a goal is missed."""
    report = Report(f"B10 back after a kill -9 with {many} nodes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = folder / "ten_routes"
        prepare(other)
        at = Town(folder, log_level="info")
        await at.serve()
        back = Back(at, many)
        try:
            await back.fill()
            before = back.running()
            figures = Figures()
            await asyncio.to_thread(base, other)
            await back.again()
            for turn in turns(["base", "ours", "base again"], rounds=rounds):
                took = (
                    await asyncio.to_thread(base, other)
                    if turn in _BASE
                    else await back.again()
                )
                figures.add(turn, took)
            report.note(
                f"base {figures.median('base') * 1000:.0f} ms, "
                f"ours {figures.median('ours') * 1000:.0f} ms"
            )
            report.null(figures.ratio("base again", "base"))
            report.at_most(1.2, figures.ratio("ours", "base"))
            slowest = quantile(back.found_s, 1)
            text = f"all found again after {slowest:.2f} s at the latest <= 2"
            report.holds(text, met=slowest <= 2)
            same = back.running() == before and len(before) == many
            report.holds("no lnd was restarted", met=same)
        finally:
            await asyncio.to_thread(at.down)
    return report.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    sys.exit(uvloop.run(main(given.nodes, given.rounds)))
