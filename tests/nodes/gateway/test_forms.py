"""Routes as protobuf and as JSON are the same to the real Envoy."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from leyden.nodes import gateway
from leyden.nodes.gateway import protobuf
from leyden.nodes.gateway.admin import Admin, Silent
from leyden.nodes.gateway.bootstrap import ADMIN, ROUTES, Bootstrap, flags
from leyden.nodes.gateway.envoy import Documents, Form, as_json, as_protobuf
from leyden.nodes.gateway.filters import LIMITS
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.routes import PeerPort, UpstreamAddress
from leyden.values import replace
from tests.nodes.gateway.test_envoy import HARBOUR, LIGHTHOUSE
from tests.ports import free_port


@contextlib.asynccontextmanager
async def an_envoy(folder: Path, envoy: Path, routes: str) -> AsyncIterator[Admin]:
    """Run one that reads its routes from this file."""
    bootstrap = folder / "bootstrap.json"
    bootstrap.write_bytes(
        Bootstrap().render().replace(ROUTES.encode(), routes.encode())
    )
    (folder / LIMITS).write_bytes(files(gateway).joinpath(LIMITS).read_bytes())
    with (folder / "envoy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            envoy, *flags(bootstrap, workers=1), cwd=folder, stderr=log
        )
    try:
        yield Admin(folder)
    finally:
        process.kill()
        await process.wait()


async def understood(
    folder: Path, form: Form, listening: ListenerOptions, envoy: Path, peers: PeerPort
) -> Any:
    """Return the listeners as Envoy shows them."""
    folder.mkdir()
    routes = "routes.json" if form is as_json else ROUTES
    everyone = replace(
        LIGHTHOUSE,
        whitelist=("0.0.0.0/0", "::/0"),
        grpc=None,
        peers=peers,
    )
    document = Documents(listening, form).document([HARBOUR, everyone])
    (folder / routes).write_bytes(document.content)
    async with an_envoy(folder, envoy, routes) as admin, asyncio.timeout(30):
        while True:
            with contextlib.suppress(Silent):
                version, refused = await admin.routes_version()
                assert not refused, (folder / "envoy.log").read_text()
                if version == document.version:
                    break
            await asyncio.sleep(0.01)
        here = os.open(folder, os.O_PATH)
        connector = aiohttp.UnixConnector(f"/proc/self/fd/{here}/{ADMIN}")
        url = "http://envoy/config_dump?resource=dynamic_listeners"
        async with aiohttp.ClientSession(connector=connector) as http:
            shown = await (await http.get(url)).json()
        os.close(here)
    return [each["active_state"]["listener"] for each in shown["configs"]]


@pytest.mark.real
async def test_envoy_understands_the_same_from_either_form(
    tmp_path: Path, listening: ListenerOptions, envoy: Path
) -> None:
    behind = replace(listening, balancers=("192.0.2.0/28",))
    peers = PeerPort(free_port(), UpstreamAddress("127.8.0.1", 9735))
    texts = await understood(tmp_path / "json", as_json, behind, envoy, peers)
    bytes_ = await understood(tmp_path / "protobuf", as_protobuf, behind, envoy, peers)
    assert len(texts) == 3
    assert bytes_ == texts


def test_a_large_number_takes_more_than_a_byte_and_nothing_takes_none() -> None:
    socket = {"address": "::", "port_value": 10_009, "ipv4_compat": True}
    written = protobuf.encode("SocketAddress", socket)
    assert bytes(written) == b"\x12\x02::" + b"\x18\x99\x4e" + b"\x30\x01"
    without = protobuf.encode("SocketAddress", {**socket, "ipv4_compat": False})
    assert bytes(without) == b"\x12\x02::" + b"\x18\x99\x4e"


def test_a_block_of_everybody_says_its_length_of_nothing() -> None:
    everyone = {"address_prefix": "::", "prefix_len": 0}
    assert bytes(protobuf.encode("CidrRange", everyone)) == b"\x0a\x02::\x12\x00"


def test_what_is_not_in_the_table_is_refused_and_not_left_out() -> None:
    with pytest.raises(KeyError, match="max_connect_attempts"):
        protobuf.encode("TcpProxy", {"max_connect_attempts": 3})
