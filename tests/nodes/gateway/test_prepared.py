"""Envoy in a container of its own: what it starts with is written, then left alone."""

import json
import socket
import subprocess
from pathlib import Path

import pytest

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.gateway.bootstrap import flags
from leyden.nodes.gateway.filters import LIMITS
from leyden.nodes.gateway.prepared import BOOTSTRAP
from leyden.nodes.wiring import gateways
from tests.nodes.gateway.apis import TOKEN, Api
from tests.nodes.gateway.calls import ALICE, BOB, HOST, Callers, EchoNode


def settings(tmp_path: Path, port: int = 8000, token: str = TOKEN) -> Settings:
    return Settings(
        home=str(tmp_path / "home"),
        gateway_control=f"http://{HOST}:{port}",
        gateway_token=token,
    )


def test_it_asks_by_the_name_of_its_machine_and_closes_its_token(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "gateway"
    for _ in range(2):  # an init container may run again
        gateways.prepare_far(settings(tmp_path), folder)
    assert {each.name for each in folder.iterdir()} == {BOOTSTRAP, LIMITS}
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    node = json.loads((folder / BOOTSTRAP).read_text())["node"]
    assert node["id"] == socket.gethostname()
    assert node["metadata"]["token"] == TOKEN
    assert not (tmp_path / "home").exists()


def test_without_a_token_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="gateway_token"):
        gateways.prepare_far(settings(tmp_path, token=""), tmp_path / "gateway")
    assert not (tmp_path / "gateway").exists()


@pytest.mark.real
async def test_an_envoy_that_somebody_else_runs_lets_in_who_may_come(
    api: Api, envoy: Path, tmp_path: Path, callers: Callers, first_node: EchoNode
) -> None:
    folder = tmp_path / "gateway"
    gateways.prepare_far(settings(tmp_path, api.port), folder)
    await api.gateway.apply([first_node.route(ALICE)])
    command = [str(envoy), *flags(Path(BOOTSTRAP), workers=2)]
    for _ in range(2):  # again from the same folder, as a kubelet does
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as run:
            try:
                await callers.get_in(first_node.name, ALICE)
                assert not await callers.admitted(first_node.name, BOB)
            finally:
                run.kill()
