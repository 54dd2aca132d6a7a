import io
import json
import os
import re
from pathlib import Path

import pytest

from leyden import logs
from leyden.logs import Form, Level


@pytest.fixture(autouse=True)
def _as_before() -> object:
    with logs.captured():
        yield


def told(form: Form = "text", level: Level = "info") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(form=form, level=level, stream=stream)
    return stream


def test_a_line_says_when_how_urgent_what_and_of_what() -> None:
    stream = told()
    logs.get().info("node %s: adopted", "3fN", pid=4711, name="harbour light")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[info     \] node 3fN: adopted +"
        r" pid=4711 name='harbour light'\n",
        stream.getvalue(),
    )


def test_what_others_say_makes_up_no_lines_of_its_own() -> None:
    stream = told()
    logs.get().warning("refused", why="no\n2026-01-01 [error] all is lost\x1b[2J")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_a_full_disk_stops_nobody_who_tells_and_lines_come_again_after_it(
    tmp_path: Path,
) -> None:
    with Path("/dev/full").open("a", buffering=1) as disk:
        logs.configure(form="text", level="info", stream=disk)
        for _ in range(1_000):
            logs.get().info("order moved", order="3fO", why="a line of some length")
        room = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(room, disk.fileno())
        os.close(room)
        for _ in range(3):
            logs.get().info("order moved", order="4aO")
    assert (tmp_path / "log").read_text().endswith("order=4aO\n")


def test_lines_below_the_level_are_not_written() -> None:
    stream = told(level="warning")
    logs.get().debug("a")
    logs.get().info("b")
    logs.get().warning("c")
    logs.get().error("d")
    assert [line.split("]")[1].strip() for line in stream.getvalue().splitlines()] == [
        "c",
        "d",
    ]


def test_machines_get_one_object_a_line() -> None:
    stream = told("json")
    log = logs.get()
    log.error("it ended", code=-9, error=ValueError("odd"), path={"a": 1})
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "error",
        "event": "it ended",
        "code": -9,
        "error": "ValueError('odd')",
        "path": {"a": 1},
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_trace_shows_no_values(form: Form) -> None:
    stream = told(form)
    password = "a" + "bc" * 3
    try:
        int(f"no {len(password)} letters")
    except ValueError:
        logs.get().exception("a page failed", path="/app")
        logs.get().warning("failed, will try again", exc_info=True)
    assert "ValueError: invalid literal" in stream.getvalue()
    assert stream.getvalue().count("Traceback") == 2
    assert password not in stream.getvalue()
