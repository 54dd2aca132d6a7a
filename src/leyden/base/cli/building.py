"""Build progress: one line per program, with time and size."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from leyden.base.daemons import build as builds
from leyden.base.daemons.progress import BuildState, BuildStep, Progress

_MIB = 1 << 20
_A_SECOND = 1.0


@contextmanager
def building(console: Console | None = None) -> Iterator[Progress]:
    """Yield a progress callback: live on a terminal, else plain lines."""
    console = console or Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda step: console.print(_line(step))
        return
    lines = _Lines()
    with Live(lines, console=console, refresh_per_second=4):
        yield lines.take


def binary(name: str, version: str | None = None) -> Path:
    """Return the path of a program; build it first, with progress, if need be."""
    cache = builds.default_cache(os.environ)
    with building() as progress:

        def quieter(step: BuildStep) -> None:
            if step.state is not BuildState.READY:
                progress(step)

        return asyncio.run(builds.binary(name, version, cache=cache, progress=quieter))


class _Lines:
    """The latest step of each program, with a clock for unfinished ones."""

    def __init__(self) -> None:
        self._steps: dict[str, tuple[BuildStep, float]] = {}

    def take(self, step: BuildStep) -> None:
        self._steps[step.program] = (step, time.monotonic())

    def __rich__(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for step, since in self._steps.values():
            table.add_row(_line(step, going_on_s=time.monotonic() - since))
        return table


def _line(step: BuildStep, *, going_on_s: float = 0.0) -> str:
    size = f"{step.size / _MIB:.0f} MB"
    match step.state:
        case BuildState.WAITING:
            said = "another process is building it; waiting"
        case BuildState.DOWNLOADING:
            said = "downloading its release"
        case BuildState.DOWNLOADED:
            return f"{step.program:<18} downloaded in {step.seconds:.0f} s, {size}"
        case BuildState.ABSENT:
            return f"{step.program:<18} not downloaded ({step.why}): taking the sources"
        case BuildState.FETCHING:
            said = "fetching the source code"
        case BuildState.BUILDING:
            said = "building"
        case BuildState.BUILT:
            return f"{step.program:<18} built in {step.seconds:.0f} s, {size}"
        case BuildState.READY:
            return f"{step.program:<18} ready, {size}"
    clock = f" ({going_on_s:.0f} s)" if going_on_s >= _A_SECOND else ""
    return f"{step.program:<18} {said}{clock}"
