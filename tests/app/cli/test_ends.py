"""How a command ends before its time: ctrl-C, a pipe that closed, nobody to ask."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import leyden
from leyden.app import main
from tests.client.served_platform import ServedPlatform

LEYDEN = str(Path(sys.executable).with_name("leyden"))


@pytest.fixture
def environment(platform: ServedPlatform, tmp_path: Path) -> dict[str, str]:
    """A customer's shell."""
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "LEYDEN_HOME": str(tmp_path / "home"),
        "LEYDEN_URL": platform.url,
        "LEYDEN_KEY": platform.key,
    }


@contextmanager
def waiting_for_an_order(
    platform: ServedPlatform, environment: dict[str, str]
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Yield an order, and a command that waits until it is filled."""
    with platform.client() as client:
        order_id = client.flow.create(1_000_000).order_id
    with subprocess.Popen(
        [LEYDEN, "channels", "show", order_id, "--wait", "filled"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        yield order_id, waiting


def test_two_packages_in_one_folder_are_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leyden, "__path__", [str(tmp_path / "leyden")])
    for each in ("leyden-0.2.0.dist-info", "leyden_daemons-0.2.0.dist-info"):
        (tmp_path / each).mkdir()
    main._say_if_twice()
    assert not capsys.readouterr().err
    (tmp_path / "leyden_client-0.1.0.dist-info").mkdir()
    main._say_if_twice()
    assert "has leyden-0.2.0 and leyden_client-0.1.0, which" in capsys.readouterr().err


def test_ctrl_c_ends_the_wait_and_nothing_else(
    platform: ServedPlatform, environment: dict[str, str]
) -> None:
    with waiting_for_an_order(platform, environment) as (order_id, waiting):
        assert waiting.stderr is not None
        assert "waiting_payment" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        out, said = waiting.communicate(timeout=30)
    assert waiting.returncode == 130
    assert out == ""
    assert said.strip() == "leyden: stopped; requests already sent continue"
    with platform.client() as client:
        assert client.flow.status(order_id).status == "waiting_payment"


@pytest.fixture
def dumps_cores() -> Iterator[None]:
    """Let whatever we start dump its memory, as systemd lets each service."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.mark.usefixtures("dumps_cores")
def test_a_command_leaves_no_core_dump_with_the_keys_it_has(
    platform: ServedPlatform, environment: dict[str, str]
) -> None:
    with waiting_for_an_order(platform, environment) as (_, running):
        assert running.stderr is not None
        begun = running.stderr.readline()
        soft, _ = resource.prlimit(running.pid, resource.RLIMIT_CORE)
        running.kill()
    assert "waiting_payment" in begun
    assert soft == 0


def test_a_reader_that_has_seen_enough_is_no_error_to_tell_of(
    environment: dict[str, str],
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [LEYDEN, "config"],
        env=environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("channels", "cancel", "ORDER"),
            (
                "leyden: Cancel this order (status: waiting_payment)? You get 0 sat as "
                "credit. Nothing was done: without a terminal, pass --yes to confirm"
            ),
        ),
        (
            ("profile", "add", "pier", "--url", "http://127.0.0.1:1"),
            "leyden: API key: set LEYDEN_KEY, or name a file that contains it",
        ),
    ],
)
def test_where_nobody_is_there_nobody_is_asked(
    platform: ServedPlatform,
    environment: dict[str, str],
    words: tuple[str, ...],
    said: str,
) -> None:
    if words[0] == "profile":
        environment = {**environment, "LEYDEN_KEY": ""}
    with platform.client() as client:
        order = client.flow.create(1_000_000)
    done = subprocess.run(
        [LEYDEN, *(order.order_id if word == "ORDER" else word for word in words)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == said


def test_quiet_says_nothing_of_how_it_goes(
    platform: ServedPlatform, environment: dict[str, str]
) -> None:
    with platform.client() as client:
        order = client.flow.create(1_000_000)
        client.flow.cancel(order.order_id)
    done = subprocess.run(
        [LEYDEN, "--quiet", "channels", "show", order.order_id, "--wait", "cancelled"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "cancelled" in done.stdout


def test_what_no_header_can_carry_is_no_key(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [LEYDEN, "nodes", "list"],
        env={**environment, "LEYDEN_KEY": "a\nb"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3
    assert done.stderr == (
        "leyden: LEYDEN_KEY: not a valid API key (it has characters that API keys "
        "don't have)\n"
    )


def test_a_secret_may_come_through_a_pipe(
    platform: ServedPlatform, environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [LEYDEN, "profile", "add", "pier", "--url", platform.url],
        env={**environment, "LEYDEN_KEY": ""},
        input=f"{platform.key}\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert platform.key not in done.stdout
