"""B15: from a fresh `leyden up` to a channel that a buyer ordered, and what it costs.

The daemons are built before; every turn has a home of its own. `up` with the market is
held against `up` without it: the market comes after everything else is up, and must not
keep it waiting. Then the story of a first channel is played, beginning with `up`.

    ./leyden bench first_channel [--rounds 6]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from bench.measure import Figures, Report, turns
from bench.town import LEYDEN, free_port, own_network

from leyden.base.settings import every_setting

WITHOUT, WITH, AGAIN = "without a market", "with a market", "without one again"
_MIB = 1 << 20


class Home:
    """A fresh installation."""

    def __init__(self, folder: Path, *, market: bool) -> None:
        ports = {
            f"LEYDEN_{name.upper()}": str(free_port())
            for name, _, _ in every_setting()
            if name.startswith(("api_port", "gateway_", "devnet_"))
            and name.endswith("_port")
        }
        self._folder = folder
        self._environment = {
            **os.environ,
            **ports,
            "LEYDEN_HOME": str(folder / "home"),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_NODES_ADDRESSES": f"{own_network()}.0.0/16",
            "LEYDEN_DEVNET_MARKET": str(market).lower(),
        }

    def run(self, *words: str) -> str:
        """Run a command to its end."""
        return subprocess.run(
            [LEYDEN, *words],
            env=self._environment,
            check=True,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        ).stdout

    def resident_mib(self) -> float:
        """Count the memory of all that runs for this home."""
        total = 0
        for process in psutil.process_iter(["cmdline", "memory_info"]):
            if any(str(self._folder) in word for word in process.info["cmdline"] or ()):
                total += process.info["memory_info"].rss
        return total / _MIB


def turn(name: str, figures: Figures) -> None:
    """Bring one up, play the story if it has a market, and end it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        home = Home(Path(folder), market=name == WITH)
        began = time.perf_counter()
        try:
            home.run("up", "--detach")
            figures.add(name, time.perf_counter() - began)
            if name == WITH:
                home.run("dev", "status", "--wait")
                figures.add("open", time.perf_counter() - began)
                printed = home.run("dev", "scenario", "first-channel", "--json")
                figures.add("paid", time.perf_counter() - began)
                figures.add(
                    "story", json.loads(printed[printed.index("{") :])["seconds"]
                )
                figures.add("memory", home.resident_mib())
        finally:
            home.run("down", "--nodes")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    rounds = parser.parse_args().rounds
    report = Report("B15 from up to a first channel")
    figures = Figures()
    for name in turns([WITHOUT, WITH, AGAIN], rounds=rounds):
        turn(name, figures)
    report.null(figures.ratio(AGAIN, WITHOUT))
    what = "up with a market / without one"
    report.at_most(1.1, figures.ratio(WITH, WITHOUT, what=what))
    report.note(f"everything is up after {figures.median(WITH):.1f} s (median)")
    report.note(f"the market is open after {figures.median('open'):.1f} s")
    report.note(f"a payment has arrived after {figures.median('paid'):.1f} s")
    report.note(
        f"the channel was active {figures.median('story'):.1f} s after its order"
    )
    report.note(f"all of it has {figures.median('memory'):.0f} MiB in memory")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
