"""Whoever we call is called directly, whatever proxies the environment names.

A proxy would see what the treasury, the auction and nodes are asked, and knows nothing
of the loopback and private addresses where most of them are. Only what fetches programs
and sources from the internet goes through proxies: Go, uv, downloads of archives.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leyden.app.cli.running.local_platform import health
from leyden.base import processes
from leyden.channels.payments.treasury import Treasury
from leyden.channels.tickets.poold import Poold, PooldAccess
from leyden.channels.tickets.stubs import trader_pb2
from leyden.client import ApiError, Client
from leyden.client.aio import AsyncClient
from leyden.customer.trust import fetching
from leyden.errors import LeydenError
from leyden.nodes.lnd.connection import LndAccess as TreasuryAccess
from tests.authority import Authority

if TYPE_CHECKING:
    from google.protobuf.message import Message

ROOT = Path(__file__).parents[1]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy", "ws_proxy")


class Door:
    """Hears who knocks, and hangs up."""

    def __init__(self) -> None:
        self.callers = 0
        self.port = 0
        self.address = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Door"]:
        """Listen for the block."""
        server = await asyncio.start_server(self._hang_up, "127.0.0.1", 0)
        async with server:
            self.port = server.sockets[0].getsockname()[1]
            self.address = f"127.0.0.1:{self.port}"
            yield self

    async def _hang_up(
        self, _: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.callers += 1
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@pytest.fixture
async def trap(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Door]:
    """A proxy that the environment names for everything; nobody may call it."""
    async with Door().open() as trap:
        for name in PROXIES:
            for spelled in (name, name.upper()):
                monkeypatch.setenv(spelled, f"http://{trap.address}")
        for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield trap


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with Door().open() as door:
        yield door


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    file = tmp_path / "tls.cert"
    file.write_text(Authority().pem)
    return file


@pytest.fixture
def macaroon(tmp_path: Path) -> Path:
    file = tmp_path / "some.macaroon"
    file.write_bytes(b"\x02\x01")
    return file


Call = Callable[[Door, Path, Path], Awaitable[object]]


async def ask_poold(door: Door, certificate: Path, macaroon: Path) -> None:
    poold = Poold(
        PooldAccess(host=door.address, certificate=certificate, macaroon=macaroon),
        patience_s=1,
    )
    request: Message = trader_pb2.GetInfoRequest()
    try:
        await poold.call("GetInfo", request)
    finally:
        await poold.close()


async def ask_treasury(door: Door, certificate: Path, macaroon: Path) -> None:
    treasury = Treasury(
        TreasuryAccess(
            host="127.0.0.1",
            port=door.port,
            certificate=certificate,
            macaroon=macaroon,
        )
    )
    try:
        await treasury.call("GET", "/v1/getinfo")
    finally:
        await treasury.close()


async def use_the_library(door: Door, _: Path, __: Path) -> None:
    client = Client(f"http://{door.address}", "a-key", organization="harbour")
    with contextlib.closing(client):
        await asyncio.to_thread(lambda: list(client.nodes.list()))


async def use_the_asynchronous_library(door: Door, _: Path, __: Path) -> None:
    async with AsyncClient(f"http://{door.address}", "a-key") as client:
        await client.nodes.list()


async def ask_for_health(door: Door, _: Path, __: Path) -> None:
    await asyncio.to_thread(health, f"http://{door.address}")


async def fetch_a_root(door: Door, _: Path, __: Path) -> None:
    await asyncio.to_thread(fetching.fetch, f"http://{door.address}")


async def run_the_example(door: Door, certificate: Path, _: Path) -> None:
    environment = {
        **os.environ,
        "LEYDEN_URL": f"http://{door.address}",
        "LEYDEN_KEY": "a-key",
        "LEYDEN_ORGANIZATION": "harbour",
        "LEYDEN_CA": str(certificate),
        "LEYDEN_GATEWAY": door.address,
    }
    words = [sys.executable, str(ROOT / "examples/first_node.py"), "pier"]
    run = partial(subprocess.run, words, env=environment, capture_output=True)
    await asyncio.to_thread(run, check=False, timeout=30)


@pytest.mark.parametrize(
    "call",
    [
        ask_poold,
        ask_treasury,
        use_the_library,
        use_the_asynchronous_library,
        ask_for_health,
        fetch_a_root,
        run_the_example,
    ],
)
async def test_no_proxy_of_the_environment_is_called(
    call: Call, trap: Door, door: Door, certificate: Path, macaroon: Path
) -> None:
    with contextlib.suppress(LeydenError, ApiError):
        await call(door, certificate, macaroon)
    assert (trap.callers, door.callers > 0) == (0, True)


async def test_what_we_start_inherits_neither_proxies_nor_secrets(
    trap: Door, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEYDEN_TREASURY_MACAROON", "a secret")
    log = tmp_path / "log"
    words = ["/bin/sh", "-c", "env >&2"]
    started = await processes.spawn(words, log=log)
    await processes.exited(started)
    inherited = {line.partition("=")[0] for line in log.read_text().splitlines()}
    assert "PATH" in inherited
    assert inherited <= {"HOME", "LANG", "PATH", "PWD", "SHLVL", "TZ", "_", "OLDPWD"}
    assert not trap.callers
