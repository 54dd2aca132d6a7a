import io
import json
import logging
import os
import re
import warnings
from pathlib import Path

import pytest

from leyden.base import logs
from leyden.base.logs import Form, Level
from leyden.values import Struct, hiding

pytestmark = pytest.mark.usefixtures("logging_as_before")

log = logging.getLogger("leyden.harbour")


class Gate(Struct):
    code: str

    __repr__ = hiding("code")


def log_output(form: Form = "text", level: Level = "info") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(form=form, level=level, stream=stream)
    return stream


def test_a_line_says_when_how_urgent_what_and_of_what() -> None:
    stream = log_output()
    log.info("node %s: adopted", "3fN", extra={"pid": 4711, "title": "harbour light"})
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[info     \] node 3fN: adopted +"
        r" pid=4711 title='harbour light'\n",
        stream.getvalue(),
    )


def test_what_others_say_makes_up_no_lines_of_its_own() -> None:
    stream = log_output()
    forged = "no\n2026-01-01 [error] all is lost\x1b[2J"
    log.warning("refused", extra={"why": forged})
    logging.getLogger("library").warning("refused: %s", forged)
    assert stream.getvalue().count("\n") == 2
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_no_file_can_hold_is_logged_all_the_same(
    form: Form, tmp_path: Path
) -> None:
    with (tmp_path / "log").open("a", encoding="utf-8") as file:
        logs.configure(form=form, level="info", stream=file)
        log.info("a name of \udc80", extra={"why": "\udc80"})
    assert (tmp_path / "log").read_text().count("udc80") == 2


def test_a_full_disk_stops_nobody_who_tells_and_lines_come_again_after_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("a", buffering=1) as disk:
        logs.configure(form="text", level="info", stream=disk)
        for _ in range(1_000):
            log.info("order moved", extra={"order": "3fO", "why": "of some length"})
        room = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(room, disk.fileno())
        os.close(room)
        for _ in range(3):
            log.info("order moved", extra={"order": "4aO"})
    assert (tmp_path / "log").read_text().endswith("order=4aO\n")
    assert capfd.readouterr().err == ""


def test_a_reader_that_has_gone_stops_nobody() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    pipe = os.fdopen(writer, "w")
    logs.configure(form="json", level="info", stream=pipe)
    log.info("order moved")
    with pytest.raises(BrokenPipeError):
        pipe.close()


def test_a_line_that_is_a_mistake_stops_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = log_output()
    words = ("one of two",)
    log.info("%s and %s", *words)
    assert stream.getvalue() == ""
    assert "not enough arguments" in capsys.readouterr().err


def test_lines_below_the_level_are_not_written() -> None:
    stream = log_output(level="warning")
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    assert [line.split("]")[1].strip() for line in stream.getvalue().splitlines()] == [
        "c",
        "d",
    ]


def test_machines_get_one_object_a_line() -> None:
    stream = log_output("json")
    extra: dict[str, object] = {
        "code": -9,
        "error": ValueError("odd"),
        "path": {"a": 1},
    }
    log.error("it ended", extra=extra)
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "error",
        "event": "it ended",
        "logger": "leyden.harbour",
        "code": -9,
        "error": "ValueError('odd')",
        "path": {"a": 1},
    }


LIBRARIES = ["uvicorn.error", "httpx", "sqlalchemy.engine", "alembic.runtime", "grpc"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_lines_of_libraries_have_the_same_form(library: str) -> None:
    stream = log_output("json", "debug")
    logging.getLogger(library).info("SELECT 1")
    logging.getLogger(library).warning("no answer from %s", "127.0.0.1")
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["level"], line["event"]) == ("warning", "no answer from 127.0.0.1")
    assert line["logger"] == library

    stream = log_output("text", "debug")
    logging.getLogger(library).warning("no answer")
    (said,) = stream.getvalue().splitlines()
    assert said.split("Z ")[1].split() == [
        *("[warning", "]", "no", "answer"),
        f"logger={library}",
    ]


def test_warnings_of_python_are_lines_too() -> None:
    stream = log_output("json")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logs.configure(form="json", level="info", stream=stream)
        warnings.warn("soon gone", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(capture=False)
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["level"], line["logger"]) == ("warning", "py.warnings")
    assert "soon gone" in line["event"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_a_value_hides_is_in_no_line(form: Form) -> None:
    stream = log_output(form)
    gate = Gate(code="open sesame")
    log.info("opening %s", gate, extra={"gate": gate, "gates": [gate]})
    assert stream.getvalue().count("Gate()") == 3
    assert "sesame" not in stream.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_trace_shows_no_values(form: Form) -> None:
    stream = log_output(form)
    password = "a" + "bc" * 3
    try:
        int(f"no {len(password)} letters")
    except ValueError:
        log.exception("a page failed", extra={"path": "/app"})
        log.warning("failed, will try again", exc_info=True)
    assert "ValueError: invalid literal" in stream.getvalue()
    assert stream.getvalue().count("Traceback") == 2
    assert password not in stream.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_may_be_logged_with_where_it_was(form: Form) -> None:
    stream = log_output(form)
    log.info("who calls?", stack_info=True, exc_info=True)  # noqa: LOG014
    assert "test_a_line_may_be_logged_with_where_it_was" in stream.getvalue()
    assert "NoneType" not in stream.getvalue()
