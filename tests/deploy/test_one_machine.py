"""One machine: units that systemd takes, and a compose file."""

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from leyden.app.commands import COMMANDS
from leyden.base import settings
from leyden.nodes.wiring.local_egress import LOCK
from tests.installations import SETTINGS
from tests.ports import free_ports
from tests.programs import require
from tests.workshop.devcluster.clusters import until

ROOT = Path(__file__).parents[2] / "deploy"
UNITS = sorted((ROOT / "systemd").glob("*.service"))
PROGRAM = "/opt/leyden/bin/leyden"
# `systemd-analyze security`, of 10: what it takes to be root for users and policies.
MAX_EXPOSED = {"leyden-gateway.service": 20}
MAX_EXPOSED_OTHERWISE = 40


def analyze(*words: object) -> "subprocess.CompletedProcess[str]":
    program = require("systemd-analyze")
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
    limit = MAX_EXPOSED.get(unit, MAX_EXPOSED_OTHERWISE)
    where = units / unit.replace("@", "@1")
    if where.name != unit:
        where.write_text((units / unit).read_text())
    done = analyze("security", "--offline=true", f"--threshold={limit}", where)
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


def test_a_unit_may_write_the_lock_of_the_egress_policy() -> None:
    """With ProtectSystem=strict, all of /run but a unit's own folder is read-only."""
    folder = LOCK.parent.relative_to("/run")
    for each in UNITS:
        lines = each.read_text().splitlines()
        assert "ProtectSystem=strict" in lines
        if each.name != "leyden-gateway.service":
            assert f"RuntimeDirectory={folder}" in lines
            assert "RuntimeDirectoryPreserve=yes" in lines, "others hold the lock"


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose/compose.yaml").read_text())
    return found


def platform_script() -> str:
    """Return what the container of the platform runs, as its shell gets it."""
    service = compose()["services"]["leyden"]
    assert service["entrypoint"] == ["/bin/sh", "-c"]
    [script] = service["command"]
    return str(script).replace("$$", "$")


def test_the_compose_file_runs_what_is_built_with_settings_that_are() -> None:
    services = compose()["services"]
    assert set(services) == {"migrate", "leyden"}
    for each in services.values():
        # Not LEYDEN_IMAGE: what leyden.env has is a setting, too, if it begins so.
        assert each["image"] == "${IMAGE:-localhost/leyden/machine:1}"
        assert (ROOT / "images/machine/Dockerfile").exists()
        for name, value in each["environment"].items():
            assert value.startswith(f"${{{name}:"), "what leyden.env has goes first"
        given = {
            name: value.partition(":-")[2].removesuffix("}")
            for name, value in each["environment"].items()
        }
        given["LEYDEN_NODES_DOMAIN"] = "nodes.example.com"
        assert settings.load(given).gateway_host == "0.0.0.0"  # noqa: S104
        assert each["cap_drop"] == ["ALL"]
        assert each["read_only"] is True
        assert each["volumes"] == ["leyden:/var/lib/leyden"]
        assert each["network_mode"] == "host", "whitelists are about callers' addresses"
    assert services["migrate"]["command"] == ["migrate"]
    words = re.findall(r"^ *leyden (\w+)", platform_script(), re.MULTILINE)
    assert words == ["serve", "down"]
    assert set(words) <= set(COMMANDS)
    order = services["leyden"]["depends_on"]
    assert order == {"migrate": {"condition": "service_completed_successfully"}}


@pytest.fixture
def bounded(memory_path: Path) -> Iterator[Callable[..., str]]:
    """Commands as the unit runs them: root, within its capabilities."""
    if os.geteuid():
        pytest.skip("only root has capabilities to give up")
    require("setpriv")
    [line] = [
        each
        for each in (ROOT / "systemd/leyden.service").read_text().splitlines()
        if each.startswith("CapabilityBoundingSet=")
    ]
    stored = line.partition("=")[2].lower().replace("cap_", "+").split()
    api, rest, grpc = free_ports(3)
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": os.environ["HOME"],
        "LEYDEN_HOME": str(memory_path / "home"),
        "LEYDEN_API_PORT": str(api),
        "LEYDEN_METRICS_PORT": "0",
        "LEYDEN_GATEWAY_REST_PORT": str(rest),
        "LEYDEN_GATEWAY_GRPC_PORT": str(grpc),
        "LEYDEN_TESTNET_CHAIN": "simnet",
        "LEYDEN_TESTNET_BACKEND": "neutrino",
    }
    within = ["setpriv", f"--bounding-set=-all,{','.join(stored)}", "--no-new-privs"]
    within.append(str(Path(sys.executable).with_name("leyden")))

    def run(*words: str) -> str:
        done = subprocess.run(
            [*within, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("migrate")
    with subprocess.Popen(
        [*within, "serve"], env=environment, stderr=subprocess.DEVNULL
    ) as serving:
        try:
            until("the API", lambda: answers(api))
            yield run
        finally:
            run("down", "--nodes")
            serving.terminate()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


@pytest.mark.real
@pytest.mark.long
@pytest.mark.usefixtures("real_lnd")
def test_within_its_capabilities_a_node_gets_a_user_of_its_own(
    bounded: Callable[..., str],
) -> None:
    team = json.loads(bounded("orgs", "create", "Harbour", "--json"))["organization_id"]
    words = ("--organization", team, "--name", "all", "--json")
    key = json.loads(bounded("api-keys", "create", *words))["api_key"]
    found = json.loads(bounded("status", "--json"))
    wish = {
        "name": "harbour light",
        "network": "testnet",
        "type": "standard",
        "settings": SETTINGS,
    }
    headers = {"X-SERVICE-AUTH": key, "Content-Type": "application/json"}
    where = f"{found['base_url']}/organizations/{team}/nodes"

    def request(body: object = None) -> str:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(where, content, headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.read().decode())

    request(wish)
    until("its lnd", lambda: '"waiting_init"' in request())
    home = found["home"]
    lnds = [
        each
        for each in Path("/proc").glob("[0-9]*")
        if command(each).startswith(f"{home}/programs/lnd")
    ]
    assert len(lnds) == 1
    assert lnds[0].stat().st_uid >= 1000


def command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""
