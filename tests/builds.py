"""What a run of all tests builds, while tests that need none of it run already.

    ./leyden test          --build=plain
    ./leyden test --all    --build=all

A plain run also leaves out what the other one has beside it: tests that are marked as
`full`, and of tests that run on both databases those on PostgreSQL.

The build is a thread of the process that reports. Tests of daemons are begun last, and
`programs.built` waits there for what is not ready. Lines say what is built, what is
waited for and how long that takes; the end says what was skipped, and why.
"""

import asyncio
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from _pytest.terminal import TerminalReporter

from leyden.base.daemons.build import build, default_cache, program_path
from leyden.base.daemons.catalogue import ToolSet
from leyden.base.daemons.progress import BuildState, BuildStep
from leyden.errors import LeydenError
from leyden_workshop.compiler import catalogue, estimates
from leyden_workshop.compiler.estimates import Finished
from leyden_workshop.devcluster import binaries
from tests import programs
from tests.longest_first import group_of

_CLUSTER: Final = (
    *(binaries.PAUSE, binaries.COMPANION, binaries.HELM),
    binaries.KUBERNETES,  # the longest comes last: least has to wait for it
)
_LOOK_AGAIN_S: Final = 1.0


def wanted(kind: str) -> list[ToolSet]:
    """Return the sets that a run needs, in the order in which they are built."""
    if kind == "plain":
        return [tools for tools in catalogue.SETS if tools.name in programs.PLAIN]
    return [*catalogue.SETS, *_CLUSTER]


def unbuilt(sets: Sequence[ToolSet], cache: Path) -> list[ToolSet]:
    """Return the sets of which a program is not in the cache yet."""
    return [
        tools
        for tools in sets
        if not all(program_path(cache, tools, each).exists() for each in tools.programs)
    ]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--build",
        choices=("plain", "all"),
        help="Build what the tests need while those that need nothing run.",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    kind = config.option.build
    if kind is None or hasattr(config, "workerinput"):
        return
    os.environ[programs.RUN] = kind  # before workers are started, or tests collected
    left = unbuilt(wanted(kind), default_cache(os.environ))
    config.pluginmanager.register(_Summary(kind))
    if left:
        folder = Path(tempfile.mkdtemp(prefix="builds-"))  # ends with the run
        os.environ[programs.BUILDS] = str(folder)
        config.pluginmanager.register(_Building(config, left, folder))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Begin with tests that need nothing, and end with those of a cluster.

    What is scheduled together is as late as the latest of it: the process that runs
    the others would wait.
    """
    if config.option.build == "plain":
        config.hook.pytest_deselected(
            items=[each for each in items if not _is_plain(each)]
        )
        items[:] = [each for each in items if _is_plain(each)]
    if programs.BUILDS not in os.environ:
        return
    lateness: dict[str, int] = {}
    for each in items:
        group = group_of(each.nodeid)
        lateness[group] = max(lateness.get(group, 0), _lateness(each))
    items.sort(key=lambda item: (lateness[group_of(item.nodeid)], _lateness(item)))


def _is_plain(item: pytest.Item) -> bool:
    spec = getattr(item, "callspec", None)
    is_on_postgres = spec is not None and "postgres" in spec.params.values()
    return not is_on_postgres and item.get_closest_marker("full") is None


def _lateness(item: pytest.Item) -> int:
    if "devcluster" in item.path.parts:
        return 2
    return 1 if item.get_closest_marker("real") else 0


class _Building:
    """The build, and what is said about it."""

    def __init__(
        self, config: pytest.Config, sets: Sequence[ToolSet], folder: Path
    ) -> None:
        self._config = config
        self._left = [*sets]
        self._folder = folder
        self._done: list[Finished] = []
        self._begun_s: dict[str, float] = {}
        self._said: set[str] = set()
        self._failure = ""

    @pytest.hookimpl(trylast=True)  # the terminal has said its own
    def pytest_sessionstart(self) -> None:
        self._say(
            f"building {_names(self._left)}: {self._remaining()}, longer beside tests; "
            "those that need none of it run meanwhile"
        )
        threading.Thread(target=self._build, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._failure and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        if self._failure:
            terminalreporter.section("not built", red=True)
            terminalreporter.write_line(self._failure)

    def _build(self) -> None:
        every = [(tools, each) for tools in self._left for each in tools.programs]
        cache = default_cache(os.environ)
        try:
            asyncio.run(build(every, cache=cache, progress=self._take))
        except (LeydenError, OSError) as error:
            self._failure = str(error)
            self._say(self._failure)
        finally:
            programs.finish(self._folder)

    def _take(self, step: BuildStep) -> None:
        """Note a step, and print which set it ends."""
        for tools in [*self._left]:
            if step.program in {str(each) for each in tools.programs}:
                if step.state is BuildState.FETCHING:
                    self._begun_s.setdefault(tools.name, time.monotonic())
                if not unbuilt([tools], default_cache(os.environ)):
                    self._end(tools)

    def _end(self, tools: ToolSet) -> None:
        self._left.remove(tools)
        if tools.name in self._begun_s:
            took = time.monotonic() - self._begun_s[tools.name]
            self._done.append(Finished(tools, took))
        rest = f"; {_names(self._left)}: {self._remaining()}" if self._left else ""
        self._say(f"{tools.name} is built{rest}")

    def _watch(self) -> None:
        """Print once of each set that tests wait for it."""
        while self._left and not self._failure:
            names = programs.waited_for(self._folder) - self._said
            for number, tools in enumerate([*self._left], 1):
                if tools.name in names:
                    until = self._remaining(number)
                    self._say(f"tests wait for {tools.name} to be built: {until}")
            self._said |= names
            time.sleep(_LOOK_AGAIN_S)

    def _remaining(self, number: int | None = None) -> str:
        left = self._left[:number]
        begun = self._begun_s.get(left[0].name) if left else None
        return estimates.in_words(
            estimates.remaining_s(
                left,
                self._done,
                processors=os.cpu_count() or 1,
                begun_s=0.0 if begun is None else time.monotonic() - begun,
            )
        )

    def _say(self, line: str) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if isinstance(terminal, TerminalReporter):
            terminal.ensure_newline()
            terminal.write_line(line)


def _names(sets: Sequence[ToolSet]) -> str:
    return ", ".join(tools.name for tools in sets)


class _Summary:
    """At the end: how many were skipped, for which reasons."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(
        self, terminalreporter: TerminalReporter
    ) -> Generator[None]:
        yield
        if lines := [*_reasons(terminalreporter.stats.get("skipped", []))]:
            terminalreporter.section("skipped")
            for line in lines:
                terminalreporter.write_line(line)
        if self._kind == "plain":
            terminalreporter.write_line(
                "Left out: what is marked as full, and PostgreSQL; see --all."
            )


def _reasons(reports: Sequence[pytest.TestReport]) -> Iterator[str]:
    """Yield each reason with how many it skipped, most first."""
    reasons = Counter(
        each.longrepr[2].removeprefix("Skipped: ")
        for each in reports
        if isinstance(each.longrepr, tuple)
    )
    for reason, number in reasons.most_common():
        yield f"{number:>5}  {reason}"
