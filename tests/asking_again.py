"""Real tests that fail are asked once more, alone; who then passes is flaky.

Only those marked `real`: they share the processors with each other's daemons and
browsers. Both answers stay in the output, and a second no is final.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

ANSWERS = "TEST_RUN_ANSWERS"  # where those who are asked again write what came of it
_NOT_WELL = ("failed", "error")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--ask-again",
        action="store_true",
        help="Ask tests marked `real` that failed once more, after all others.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if answers := os.environ.get(ANSWERS):
        config.pluginmanager.register(_Answers(Path(answers)))
    elif config.option.ask_again and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Asking(config))


class _Answers:
    """Notes who passed, for whoever has asked again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._well: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        before = self._well.get(report.nodeid, True)
        self._well[report.nodeid] = before and report.passed

    def pytest_sessionfinish(self) -> None:
        well = [nodeid for nodeid, passed in self._well.items() if passed]
        self._path.write_text(json.dumps(well))


class _Asking:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._flaky: dict[str, list[pytest.TestReport]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        terminal = self._terminal()
        reports = [
            each
            for kind in _NOT_WELL
            for each in terminal.stats.get(kind, [])
            if "real" in getattr(each, "keywords", ())
        ]
        failed = sorted({each.nodeid for each in reports})
        if not failed or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return
        terminal.ensure_newline()
        terminal.write_line(f"asking {len(failed)} of the real ones again, alone")
        passed = self._ask(failed, terminal)
        for each in reports:
            if each.nodeid in passed:
                self._flaky.setdefault(each.nodeid, []).append(each)
        for kind in _NOT_WELL:
            left = [
                each
                for each in terminal.stats.get(kind, [])
                if getattr(each, "nodeid", None) not in passed
            ]
            terminal.stats[kind] = left
            if not left:
                del terminal.stats[kind]
        if passed:
            terminal.stats["flaky"] = [each[0] for each in self._flaky.values()]
        terminal._set_main_color()
        if not any(terminal.stats.get(kind) for kind in _NOT_WELL):
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self) -> None:
        terminal = self._terminal()
        if not self._flaky:
            return
        terminal.section("flaky: failed, and passed when asked again", purple=True)
        for nodeid, reports in self._flaky.items():
            for each in reports:
                terminal.write_sep("_", f"{nodeid}, {each.when}")
                terminal.write_line(each.longreprtext)
        for nodeid in self._flaky:
            terminal.write_line(f"FLAKY {nodeid}")

    def _ask(self, nodeids: Sequence[str], terminal: TerminalReporter) -> set[str]:
        folder = Path(self._config._tmp_path_factory.mktemp("asked-again"))  # type: ignore[attr-defined]
        answers = folder / "answers"
        words = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly")
        done = subprocess.run(
            (sys.executable, "-m", "pytest", *words, *nodeids),
            cwd=self._config.invocation_params.dir,
            env={**os.environ, ANSWERS: str(answers), "PYTEST_ADDOPTS": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            terminal.write_line(f"  | {line}")  # it closes like a run, and is none
        if not answers.exists():
            return set()
        return {*json.loads(answers.read_text())} & {*nodeids}

    def _terminal(self) -> TerminalReporter:
        found = self._config.pluginmanager.get_plugin("terminalreporter")
        assert isinstance(found, TerminalReporter)
        return found
