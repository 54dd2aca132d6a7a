"""`leyden unlocker install` and `check`: a service that needs no public address."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.customer.node_settings import of_a_new_node
from leyden.customer.session import opened
from leyden.customer.unlocker.nodes import SecretSource, UnlockedNode, load
from leyden.customer.unlocker.receiver import Unlocker
from leyden.customer.wallet import keeping
from tests.app.cli.conftest import Typed, printed_json
from tests.client.served_platform import ServedPlatform
from tests.customer.cli.locked_node import PASSWORD, LockedNode
from tests.customer.cli.paying_node import MACAROON
from tests.events.webhooks.conftest import Serving
from tests.waiting import until

ROOT = Path(__file__).parents[3]


@pytest.fixture
def config(
    platform: ServedPlatform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """The owner's machine, with a systemd that says that each service runs."""
    programs = tmp_path / "programs"
    programs.mkdir()
    systemctl = programs / "systemctl"
    systemctl.write_text('#!/bin/sh\ntest -e "$0.runs"\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_KEY", platform.key)
    monkeypatch.setenv("LEYDEN_CA", "ca.pem")
    monkeypatch.setenv("LEYDEN_WALLET_PASSWORD", PASSWORD)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return f"lantern {abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def node(
    platform: ServedPlatform,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> Iterator[LockedNode]:
    del config
    authority = Serving(tmp_path)
    with platform.client() as client:
        settings = of_a_new_node("a light", {}) | {"whitelist": ["::1"]}
        client.nodes.create(name, settings=settings)
    with opened("") as session:
        found = session.node(name)
        keeping.keep_admin(session, found, MACAROON, PASSWORD)
    with LockedNode(authority, api=found.api_endpoint) as served:
        monkeypatch.setenv("LEYDEN_GATEWAY", served.address)
        yield served


def test_one_line_sets_it_up_and_a_dry_run_says_whether_it_works(
    typed: Typed,
    node: LockedNode,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    missing = typed("unlocker", "check")
    assert "leyden unlocker install NODE" in missing.stderr
    for _ in range(2):  # the second replaces the first
        done = typed("unlocker", "install", name)
        assert done.exit_code == 0, done.output
    for words in (f"{name}: locked", "opens the vault", "enable leyden-unlocker"):
        assert words in done.stdout
    assert PASSWORD not in done.output
    file = config / "leyden" / "unlocker" / "nodes.toml"
    (listed,) = load(file)
    assert (listed.api, listed.connect) == (node.api, node.address)
    assert not listed.is_open_to_others
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    unit = (config / "systemd" / "user" / "leyden-unlocker.service").read_text()
    assert f'"--config" "{file}" "--every" "30"' in unit

    stopped = typed("unlocker", "check")
    assert (stopped.exit_code, "does not run" in stopped.stdout) == (5, True)
    (tmp_path / "programs" / "systemctl.runs").touch()
    checked = printed_json(typed("unlocker", "check", "--json"))
    assert (checked["works"], checked["nodes"][0]["state"]) == (True, "locked")
    assert node.unlocks == [], "a dry run unlocks nothing"

    listed.password.file.write_text("another one\n")  # type: ignore[union-attr]
    wrong = typed("unlocker", "check")
    assert (wrong.exit_code, "isn't the wallet's" in wrong.stdout) == (5, True)
    node.state = "NON_EXISTING"
    listed.password.file.write_text(PASSWORD)  # type: ignore[union-attr]
    early = typed("unlocker", "install", name)
    assert f"no wallet yet: leyden wallet init {name!r}" in early.stdout
    assert "whitelist" not in early.stdout
    monkeypatch.setenv("LEYDEN_WALLET_PASSWORD", "another one")
    refused = typed("unlocker", "install", name)
    assert (refused.exit_code, "isn't the wallet's" in refused.stderr) == (8, True)


def test_the_installed_unlocker_unlocks_again_and_again(
    typed: Typed, node: LockedNode, config: Path, name: str
) -> None:
    assert typed("unlocker", "install", name).exit_code == 0
    file = config / "leyden" / "unlocker" / "nodes.toml"
    command = "from leyden.app.main import main; main()"
    words = ("unlocker", "--config", str(file), "--every", "5")
    running = subprocess.Popen(
        [sys.executable, "-c", command, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for _ in range(2):
            asyncio.run(until(lambda: node.state == "RPC_ACTIVE"))
            node.state = "LOCKED"
    finally:
        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=20)
    assert running.returncode == 0, said
    assert PASSWORD not in said
    assert "listening" not in said


async def test_a_wrong_password_is_tried_once_until_its_file_changes(
    tmp_path: Path,
) -> None:
    authority = Serving(tmp_path)
    file = tmp_path / "password"
    file.write_text("not this one")
    with LockedNode(authority) as node:
        listed = UnlockedNode(
            api=node.api,
            password=SecretSource(file=file),
            ca_file=node.ca_file,
            connect=node.address,
        )
        working = Unlocker(
            [listed],
            clock=lambda: datetime.now(UTC),
            at_once=1,
            give_up_after_s=1,
            must_be_signed=False,
            is_polling=True,
        )
        for _ in range(3):
            working.begin_all()
            await until(lambda: not working._busy)
        assert len(node.unlocks) == 1
        file.write_text(PASSWORD)
        working.begin_all()
        await until(lambda: node.state == "RPC_ACTIVE")
        await working.close()
