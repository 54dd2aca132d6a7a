"""Keeping a daemon running, with a shell script for one."""

import asyncio
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.errors import SetupError
from leyden.nodes.certificates.self_signed import heal_certificate
from leyden_workshop.devnet.configuration import configured
from leyden_workshop.devnet.supervision import SupervisingKeeper
from tests.waiting import until

_LIGHTHOUSE = """
echo lit >> {folder}/starts
[ -e {folder}/broken ] && {{ echo the lamp is broken; exit 3; }}
touch {folder}/lit
mkfifo {folder}/sea; read ship < {folder}/sea
"""


@dataclass
class Lighthouse:
    folder: Path
    name: str = "lighthouse"
    grace_s: float = 1.0
    ports: Mapping[str, int] = field(default_factory=dict)
    colour: str = "white"
    prepared: int = 0
    settled: int = 0

    def argv(self) -> list[str]:
        path = configured(self.folder, [("colour", self.colour)])
        script = _LIGHTHOUSE.format(folder=self.folder)
        return ["/bin/sh", "-c", script, f"--configfile={path}"]

    async def prepare(self) -> None:
        self.prepared += 1
        (self.folder / "lit").unlink(missing_ok=True)
        (self.folder / "sea").unlink(missing_ok=True)
        # As btcd does, which mends its chain under another configuration.
        configured(self.folder, [("colour", "none")])

    async def is_ready(self) -> bool:
        return (self.folder / "lit").exists()

    async def after_start(self) -> None:
        self.settled += 1

    @property
    def starts(self) -> int:
        file = self.folder / "starts"
        return file.read_text().count("\n") if file.exists() else 0


@pytest.fixture
def lighthouse(tmp_path: Path) -> Lighthouse:
    return Lighthouse(tmp_path)


async def _end(lighthouse: Lighthouse) -> None:
    if found := SupervisingKeeper(lighthouse).running():
        await processes.stop(found, grace_s=0)


async def test_a_daemon_is_started_once_and_found_again(lighthouse: Lighthouse) -> None:
    first = await SupervisingKeeper(lighthouse).ensure()
    assert await SupervisingKeeper(lighthouse).ensure() == first
    assert (lighthouse.starts, lighthouse.prepared, lighthouse.settled) == (1, 1, 2)
    await _end(lighthouse)


async def test_another_configuration_starts_it_anew(lighthouse: Lighthouse) -> None:
    first = await SupervisingKeeper(lighthouse).ensure()
    lighthouse.colour = "red"
    second = await SupervisingKeeper(lighthouse).ensure()
    assert second != first
    assert not processes.alive(first)
    [stored] = lighthouse.folder.glob("*.conf")
    assert stored.read_text() == "[Application Options]\ncolour=red\n"
    assert stored.stat().st_mode & 0o777 == 0o600
    await _end(lighthouse)


async def test_one_that_does_not_start_is_told_with_its_last_words(
    lighthouse: Lighthouse,
) -> None:
    (lighthouse.folder / "broken").touch()
    with pytest.raises(SetupError, match="did not start: the lamp is broken"):
        await SupervisingKeeper(lighthouse).ensure()


async def test_a_port_in_use_is_told_with_the_setting(lighthouse: Lighthouse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        lighthouse.ports = {"lighthouse_port": taken.getsockname()[1]}
        with pytest.raises(SetupError, match="choose another port with lighthouse_por"):
            await SupervisingKeeper(lighthouse).ensure()
    assert lighthouse.starts == 0


async def test_it_is_started_again_whenever_it_ends(lighthouse: Lighthouse) -> None:
    keeper = SupervisingKeeper(lighthouse, first_wait_s=0.01, last_wait_s=0.05)
    keeping = asyncio.create_task(keeper.keep())
    await until(lambda: lighthouse.settled == 1)
    (lighthouse.folder / "broken").touch()
    (lighthouse.folder / "lit").unlink()
    first = keeper.running()
    assert first is not None
    processes.signal(first, signal.SIGKILL)
    await until(lambda: lighthouse.starts >= 3)
    (lighthouse.folder / "broken").unlink()
    await until(lambda: lighthouse.settled == 2)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert keeper.running() is not None  # it goes on without its keeper
    await _end(lighthouse)


@pytest.mark.parametrize("half", ["certificate", "key", "both"])
def test_half_written_certificates_are_removed(tmp_path: Path, half: str) -> None:
    certificate, key = tmp_path / "rpc.cert", tmp_path / "rpc.key"
    if half in {"certificate", "both"}:
        certificate.write_text("-----BEGIN CERTIFICATE-----\nMIIB")
    if half in {"key", "both"}:
        key.write_text("-----BEGIN EC PRIV")
    heal_certificate(certificate, key)
    assert list(tmp_path.iterdir()) == []
