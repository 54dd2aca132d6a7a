"""One machine: units that systemd takes, and a compose file."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from leyden import settings
from leyden.cli.commands import COMMANDS
from leyden.settings import Settings

ROOT = Path(__file__).parents[2] / "deploy"
UNITS = sorted((ROOT / "systemd").glob("*.service"))
PROGRAM = "/opt/leyden/bin/leyden"
# `systemd-analyze security`, of 10: what it takes to be root for users and policies.
MOST_EXPOSED = {"leyden-gateway.service": 20}
MOST_EXPOSED_OTHERWISE = 40


def analyze(*words: object) -> "subprocess.CompletedProcess[str]":
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze on this machine")
    return subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units, with the program where it is here."""
    here = str(Path(sys.executable).with_name("leyden"))
    for each in UNITS:
        (tmp_path / each.name).write_text(each.read_text().replace(PROGRAM, here))
    return tmp_path


@pytest.mark.parametrize("unit", [each.name for each in UNITS])
def test_systemd_takes_each_unit_without_a_word(units: Path, unit: str) -> None:
    done = analyze("verify", "--man=no", units / unit)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", [each.name for each in UNITS])
def test_each_unit_may_do_little(units: Path, unit: str) -> None:
    most = MOST_EXPOSED.get(unit, MOST_EXPOSED_OTHERWISE)
    where = units / unit.replace("@", "@1")
    if where.name != unit:
        where.write_text((units / unit).read_text())
    done = analyze("security", "--offline=true", f"--threshold={most}", where)
    assert done.returncode == 0, done.stdout


def test_units_run_commands_that_there_are_and_leave_nodes_running() -> None:
    assert {each.name for each in UNITS} == {
        *("leyden.service", "leyden-worker@.service", "leyden-gateway.service"),
    }
    for each in UNITS:
        lines = each.read_text().splitlines()
        run = [
            line for line in lines if line.startswith(("ExecStart=", "ExecStartPre="))
        ]
        assert run
        for line in run:
            program, command = line.partition("=")[2].split()
            assert program == PROGRAM
            assert command in COMMANDS
        # A group that is killed whole takes every lnd with it.
        assert ("KillMode=process" in lines) == (each.name != "leyden-gateway.service")


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose/compose.yaml").read_text())
    return found


def test_the_compose_file_runs_what_is_built_with_settings_that_are() -> None:
    services = compose()["services"]
    assert set(services) == {"migrate", "leyden"}
    for each in services.values():
        assert each["image"] == "${LEYDEN_IMAGE:-localhost/leyden/machine:1}"
        assert (ROOT / "images/machine/Dockerfile").exists()
        assert each["command"][0] in COMMANDS
        given = {**each["environment"], "LEYDEN_NODES_DOMAIN": "nodes.example.com"}
        assert isinstance(settings.load(given), Settings)
        assert each["cap_drop"] == ["ALL"]
        assert each["read_only"] is True
        assert each["volumes"] == ["leyden:/var/lib/leyden"]
        assert each["network_mode"] == "host", "whitelists are about callers' addresses"
    order = services["leyden"]["depends_on"]
    assert order == {"migrate": {"condition": "service_completed_successfully"}}
