"""Leyden where leyden-workshop is not installed, as its entry points show it."""

from importlib import metadata
from pathlib import Path

import pytest

from leyden.app.commands import COMMANDS
from leyden.base.daemons.build import binary
from leyden.errors import SetupError
from tests.app.cli.conftest import Typed

NEEDS = "needs leyden-workshop: pip install leyden-workshop"


@pytest.fixture(autouse=True)
def without_workshop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())


@pytest.mark.parametrize(
    "words",
    [
        *("up", "up --detach", "up --help", "dev", "dev mine 6", "test -k x", "bench"),
        *("check", "daemons build", "daemons wheel lnd --output /tmp"),
    ],
)
def test_a_command_of_the_workshop_says_what_to_install(
    typed: Typed, words: str
) -> None:
    done = typed(*words.split())
    assert done.exit_code == 1
    assert NEEDS in done.stderr


def test_help_lists_all_commands(typed: Typed) -> None:
    listed = typed("--help").stdout
    assert all(f"  {name} " in listed for name in COMMANDS)


def test_the_platform_is_looked_at_and_stopped(typed: Typed) -> None:
    assert "not running" in typed("down").stdout
    status = typed("status")
    assert status.exit_code == 1
    assert "gateway" in status.stdout
    unlogged = (
        "no log of btcd: `leyden up` writes logs here, `leyden serve` to standard"
    )
    assert unlogged in typed("logs", "btcd").stderr


def test_doctor_says_where_an_lnd_can_be_had(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEYDEN_CACHE", str(tmp_path))
    lacks = "MISSING  lnd, which nodes run"
    said = typed("doctor").stdout
    assert "leyden-daemons" in said.partition(lacks)[2].splitlines()[1]
    monkeypatch.setenv("LEYDEN_OWN_BINARIES", "lnd")
    assert lacks not in typed("doctor").stdout


async def test_a_program_that_is_missing_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(
        SetupError, match=r"lnd 0\.20\.2-beta: not installed here"
    ) as why:
        await binary("lnd", cache=tmp_path)
    for each in ("leyden-daemons", "pip install leyden-workshop", "own_binaries"):
        assert each in str(why.value)
