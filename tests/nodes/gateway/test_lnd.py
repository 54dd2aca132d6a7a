"""A real lnd behind the real Envoy, asked by curl, by Python and by lncli."""

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from leyden.base import processes
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener, Route, UpstreamAddress
from leyden.values import replace
from tests.nodes.gateway.calls import HOST
from tests.ports import free_port
from tests.programs import built

pytestmark = pytest.mark.real

# A name that resolves everywhere, for lncli can be told no other way where to call.
NAME = "localhost"
WITHOUT_A_WALLET = "NON_EXISTING"


@pytest.fixture(scope="session")
def lnd() -> Path:
    return built("lnd", "lncli")["lnd"]


@dataclass(frozen=True)
class Behind:
    """A node's route, and the file its owner has saved from GET cert."""

    route: Route
    saved: Path


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return open_or_create(tmp_path / "authority", now=datetime.now(UTC))


@pytest.fixture
async def behind(
    lnd: Path, tmp_path: Path, authority: Authority
) -> AsyncIterator[Behind]:
    home = tmp_path / "node"
    home.mkdir()
    tls = authority.issue(NAME, now=datetime.now(UTC))
    (home / "tls.cert").write_bytes(tls.chain_pem)
    (home / "tls.key").write_bytes(tls.key_pem)
    saved = tmp_path / "saved.pem"
    saved.write_bytes(authority.trusted(tls.chain_pem))
    rest, grpc = UpstreamAddress(HOST, free_port()), UpstreamAddress(HOST, free_port())
    words = ["--bitcoin.simnet", "--bitcoin.node=neutrino", "--nolisten"]
    words += [f"--lnddir={home}", f"--restlisten={rest}", f"--rpclisten={grpc}"]
    started = await processes.spawn([str(lnd), *words], log=tmp_path / "lnd.log")
    route = Route(
        node_id="5f3e", name=NAME, whitelist=("127.0.0.1",), rest=rest, grpc=grpc
    )
    yield Behind(route, saved)
    await processes.stop(started, grace_s=20)


async def output(*words: str | Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 30)
    return process.returncode, said.decode()


async def asked_in_python(port: int, saved: Path) -> str:
    trust = ssl.create_default_context(cafile=str(saved))
    url = f"https://{NAME}:{port}/v1/state"
    async with aiohttp.ClientSession() as http, http.get(url, ssl=trust) as response:
        state: str = (await response.json())["state"]
        return state


async def answering(port: int, saved: Path) -> str:
    async with asyncio.timeout(30):
        while True:
            try:
                if (state := await asked_in_python(port, saved)) == WITHOUT_A_WALLET:
                    return state
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.02)


async def test_its_owner_reaches_it_with_nothing_but_the_saved_file(
    gateway: LocalGateway, listening: ListenerOptions, behind: Behind, lnd: Path
) -> None:
    await gateway.apply([behind.route])
    rest, grpc = (
        listening.ports[listener] for listener in (Listener.REST, Listener.GRPC)
    )
    assert await answering(rest, behind.saved) == WITHOUT_A_WALLET

    curl = shutil.which("curl")
    if curl is not None:
        url = f"https://{NAME}:{rest}/v1/state"
        code, said = await output(curl, "-sS", "--cacert", behind.saved, url)
        assert code == 0, said
        assert json.loads(said) == {"state": WITHOUT_A_WALLET}

    lncli = lnd.with_name("lncli")
    lncli_words = [f"--rpcserver={NAME}:{grpc}", f"--tlscertpath={behind.saved}"]
    code, said = await output(lncli, *lncli_words, "--no-macaroons", "state")
    assert code == 0, said
    assert json.loads(said) == {"state": WITHOUT_A_WALLET}

    # gRPC switched off: the same call fails, REST goes on
    await gateway.apply([replace(behind.route, grpc=None)])
    code, said = await output(lncli, *lncli_words, "--no-macaroons", "state")
    assert code != 0, said
    assert await asked_in_python(rest, behind.saved) == WITHOUT_A_WALLET


async def test_it_keeps_the_certificate_that_it_was_given(
    gateway: LocalGateway,
    listening: ListenerOptions,
    behind: Behind,
    authority: Authority,
    tmp_path: Path,
) -> None:
    await gateway.apply([behind.route])
    await answering(listening.ports[Listener.REST], behind.saved)
    given = (tmp_path / "node" / "tls.cert").read_bytes()
    assert authority.trusted(given) == behind.saved.read_bytes()


async def test_a_host_header_leads_to_no_other_node(
    gateway: LocalGateway, listening: ListenerOptions, behind: Behind
) -> None:
    """lnd answers to any Host, so only the name in the hello may lead anywhere."""
    closed = replace(behind.route, node_id="77aa", name="closed.test", whitelist=())
    await gateway.apply([behind.route, closed])
    port = listening.ports[Listener.REST]
    await answering(port, behind.saved)
    trust = ssl.create_default_context(cafile=str(behind.saved))
    async with aiohttp.ClientSession() as http:
        url, host = f"https://{NAME}:{port}/v1/state", {"Host": "closed.test"}
        async with http.get(url, headers=host, ssl=trust) as response:
            assert (await response.json())["state"] == WITHOUT_A_WALLET
        with pytest.raises(aiohttp.ClientError):
            await http.get(url, server_hostname="closed.test", ssl=trust)
