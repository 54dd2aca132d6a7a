"""Which HTTP server: ours on uvicorn's, uvicorn as it comes, Granian.

    ./leyden bench servers [ROUNDS]

The same application, the same answer of ten nodes' size; requests a second and
processor time a request, in turns. See docs/decisions/0006.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.contenders import contender
from bench.load import ask
from bench.measure import Figures, Report, turns

_NAMES = ["raw", "uvicorn", "granian", "raw again"]


def main(rounds: int = 12) -> int:
    """Measure and report."""
    speed, work = Figures(), Figures()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        answer = folder / "answer.json"
        answer.write_bytes(b"[" + b",".join([b'"%s"' % (b"x" * 430)] * 10) + b"]")
        running = {
            name: stack.enter_context(contender(name.removesuffix(" again"), answer))
            for name in _NAMES
        }
        for name in turns(_NAMES, rounds=rounds):
            load = ask(running[name].url, running[name].pid, seconds=1)
            speed.add(name, load.per_second)
            work.add(name, load.cpu_us)
    report = Report("Servers: raw ASGI, 4 kB, keep-alive, 32 connections")
    for name in _NAMES:
        report.note(
            f"{name}: {speed.median(name):,.0f}/s, {work.median(name):.1f} us each"
        )
    report.null(speed.ratio("raw again", "raw"))
    report.at_least(0.8, speed.ratio("raw", "uvicorn"))
    report.at_least(0.0, speed.ratio("granian", "raw"))
    report.null(work.ratio("raw again", "raw", what="processor: raw again / raw"))
    report.at_most(1.25, work.ratio("raw", "uvicorn", what="processor: raw / uvicorn"))
    report.at_most(9.9, work.ratio("granian", "raw", what="processor: granian / raw"))
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
