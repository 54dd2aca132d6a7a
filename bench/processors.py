"""The use of processors, by program."""

import os
import time
from collections import defaultdict
from pathlib import Path

from bench.measure import TICKS

_LEAST = 0.005  # less is not worth a word


class Processors:
    """The CPU time of each program at the start."""

    def __init__(self) -> None:
        self._before = _used()
        self._began = time.monotonic()

    def __str__(self) -> str:
        """Format the use since then, the most first.

        What has ended meanwhile is not counted.
        """
        passed = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        taken: defaultdict[str, float] = defaultdict(float)
        for pid, (program, seconds) in _used().items():
            taken[program] += seconds - self._before.get(pid, (program, 0.0))[1]
        shares = [
            f"{program} {100 * seconds / passed:.0f} %"
            for program, seconds in sorted(taken.items(), key=lambda each: -each[1])
            if seconds > _LEAST * passed
        ]
        return f"of all processors: {', '.join(shares)}"


def _used() -> dict[int, tuple[str, float]]:
    """Return the processor seconds of every process, and what it is."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        seconds = (int(fields[11]) + int(fields[12])) / TICKS
        found[int(folder.name)] = _program(words), seconds
    return found


def _program(words: list[bytes]) -> str:
    names = [
        word.rpartition(b"/")[2].decode(errors="replace") for word in words if word
    ]
    if not names:
        return "kernel"
    if "-m" in names[:-1]:
        return names[names.index("-m") + 1]
    if "-c" in names:
        return "python -c"
    if names[0].startswith("python"):
        return " ".join(names[1:3])[:40]
    return names[0].partition("-v")[0]
