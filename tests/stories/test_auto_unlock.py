"""Nodes that nobody has to unlock: real lnd, real webhooks, and `leyden unlocker`."""

import asyncio
import base64
import logging
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import NodeAway
from tests.ports import free_port
from tests.stories.platform import LEYDEN, PASSWORD, Owned, RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.full,
    pytest.mark.asyncio(loop_scope="session"),
]

log = logging.getLogger(__name__)

# lnd's resident memory on a private chain, and its peak while it opens a wallet.
RESTING_MIB, UNLOCKING_MIB = 110, 400


async def answers(node: Owned) -> bool:
    with suppress(NodeAway):
        return bool(await node.call("GET", "/v1/state"))
    return False


class Care:
    """An unlocker on the customer's machine, and the nodes in its care."""

    def __init__(self, platform: RunningPlatform, folder: Path) -> None:
        self.town = platform
        self.folder = folder
        self.nodes: list[Owned] = []
        self.port = free_port()
        self._said = folder / "said"

    async def create(self, number: int) -> None:
        """Make nodes with wallets, and note for each what unlocking it takes."""
        (self.folder / "password").write_bytes(base64.b64decode(PASSWORD))
        listed = ""
        for n in range(number):
            node = await self.town.create(
                f"kept light {n}",
                settings={"webhook": f"http://127.0.0.1:{self.port}/{n}"},
            )
            self.nodes.append(node)
            shown = await self.town.of(node, "GET", "")
            (self.folder / f"{n}.secret").write_text(
                shown["settings"]["webhook_secret"] + "\n"
            )
            certificate = await self.town.of(node, "GET", "/cert")
            (self.folder / f"{n}.pem").write_bytes(
                base64.b64decode(certificate["tls_cert"])
            )
            gateway = self.town.facts["gateway"]
            listed += (
                f'[[node]]\napi = "{node.endpoint}"\nsecret_file = "{n}.secret"\n'
                f'password_file = "password"\nca_file = "{n}.pem"\n'
                f'connect = "{gateway["host"]}:{gateway["rest_port"]}"\n'
            )
            await self.town.says(node, "waiting_init")
            await self.town.until("it can be reached", partial(answers, node))
            await node.init()
        (self.folder / "nodes.toml").write_text(listed)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the unlocker until the end of the block."""
        with self._said.open("ab") as said:
            unlocker = await asyncio.create_subprocess_exec(
                LEYDEN,
                "unlocker",
                "--config",
                str(self.folder / "nodes.toml"),
                "--listen",
                f"127.0.0.1:{self.port}",
                stdout=said,
                stderr=said,
            )
        try:
            yield
        finally:
            unlocker.send_signal(signal.SIGTERM)
            assert await unlocker.wait() == 0, self.said()

    def said(self) -> str:
        """Return what it printed."""
        return self._said.read_text()

    async def all_say(self, status: str) -> None:
        """Wait until every node is in this state."""
        for node in self.nodes:
            await self.town.says(node, status)

    def process(self, node: Owned) -> ProcessIdentity:
        """Return the node's lnd."""
        found = processes.holder(self.town.folder(node) / "claim")
        assert found is not None
        return found

    async def delete(self) -> None:
        """Clear away."""
        for node in self.nodes:
            await self.town.of(node, "DELETE", "")


@pytest_asyncio.fixture(loop_scope="session")
async def care(platform: RunningPlatform, tmp_path: Path) -> AsyncIterator[Care]:
    care = Care(platform, tmp_path)
    yield care
    await care.delete()


@pytest.mark.timeout(600)
async def test_stopped_killed_or_restarted_it_comes_back_unlocked(
    platform: RunningPlatform, care: Care
) -> None:
    await care.create(1)
    (node,) = care.nodes
    await platform.says(node, "running")
    async with care.running():
        await platform.of(node, "POST", "/stop")
        await platform.says(node, "stopped")
        await platform.of(node, "POST", "/start")
        await platform.says(node, "running")

        crashed = care.process(node)
        processes.signal(crashed, signal.SIGKILL)
        await platform.until(
            "another lnd runs", lambda: another_runs(care, node, crashed)
        )
        await platform.says(node, "running")

        await platform.of(node, "POST", "/restart")
        await platform.until(
            "it is restarted", lambda: has_logged(care, node, "unlocked", 3)
        )
        await platform.says(node, "running")
    await platform.until("all is delivered", lambda: all_delivered(platform, node))
    page = await platform.of(node, "GET", "/webhooks/deliveries")
    statuses = [each["event"]["details"]["status"] for each in page["deliveries"]]
    assert statuses.count("waiting_unlock") == 3
    assert statuses.count("stopped") >= 2
    assert not list(platform.folder(node).rglob("*.macaroon")), "unlocked statelessly"
    said = care.said()
    assert base64.b64decode(PASSWORD).decode() not in said


async def another_runs(care: Care, node: Owned, before: ProcessIdentity) -> bool:
    found = processes.holder(care.town.folder(node) / "claim")
    return found not in {None, before}


async def has_logged(care: Care, node: Owned, word: str, times: int) -> bool:
    lines = re.findall(rf"{word} .*{re.escape(node.endpoint)}", care.said())
    return len(lines) >= times


async def all_delivered(platform: RunningPlatform, node: Owned) -> bool:
    page = await platform.of(node, "GET", "/webhooks/deliveries")
    return all(
        each["status"] in {"delivered", "superseded"} for each in page["deliveries"]
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", [3, 20])
async def test_after_the_machine_went_down_all_come_back_unlocked_in_turns(
    platform: RunningPlatform, care: Care, number: int
) -> None:
    await care.create(number)
    await care.all_say("running")
    await platform.kill()
    for node in care.nodes:  # and with the platform goes every node, as in a power cut
        processes.signal(care.process(node), signal.SIGKILL)
    memory = Memory(care)
    async with care.running():
        measuring = asyncio.create_task(memory.measure())
        await platform.up()
        await care.all_say("running")
        measuring.cancel()
    processors = os.cpu_count() or 1
    limit_mib = number * RESTING_MIB + 2 * processors * UNLOCKING_MIB
    log.info("%s nodes took at most %s MiB of %s", number, memory.peak_mib, limit_mib)
    assert 0 < memory.peak_mib < limit_mib


class Memory:
    """The most that all nodes together have had."""

    def __init__(self, care: Care) -> None:
        self.peak_mib = 0
        self._care = care

    async def measure(self) -> None:
        while True:
            now_mib = sum(map(self._of, self._care.nodes))
            self.peak_mib = max(self.peak_mib, now_mib)
            await asyncio.sleep(0.05)

    def _of(self, node: Owned) -> int:
        found = processes.holder(self._care.town.folder(node) / "claim")
        if found is None:
            return 0
        with suppress(OSError, ValueError):  # it may end while we look
            status = Path(f"/proc/{found.pid}/status").read_text()
            (kib,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
            return int(kib) // 1024
        return 0
