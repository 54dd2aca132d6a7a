"""A program that cannot look up a node's name reaches it all the same."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from leyden.base.rules.times import utc_now
from leyden.customer.claim.bridge import GrpcNode, bridged
from leyden.nodes.certificates.self_signed import ensure_certificate


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    certificate = tmp_path / "lamp.cert"
    ensure_certificate(certificate, now=utc_now())
    return certificate


async def test_what_is_said_arrives_under_the_name_of_the_node(
    lamp: Path, tmp_path: Path
) -> None:
    request: list[str | None] = []
    far = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    far.load_cert_chain(lamp, lamp.with_suffix(".key"))
    far.sni_callback = lambda _, name, __: request.append(name)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=far)
    port = server.sockets[0].getsockname()[1]
    node = GrpcNode(host="127.0.0.1", port=port, name="localhost", authority=lamp)
    async with server, bridged(node, tmp_path) as bridge:
        near = ssl.create_default_context(cafile=bridge.certificate)
        host, _, to = bridge.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(to), ssl=near)
        writer.write(b"ahoy\n")
        assert await reader.read() == b"AHOY\n"
        writer.close()
    assert request == ["localhost"]


async def test_a_node_that_is_away_hangs_up(lamp: Path, tmp_path: Path) -> None:
    node = GrpcNode(host="127.0.0.1", port=9, name="localhost", authority=lamp)
    async with bridged(node, tmp_path) as bridge:
        near = ssl.create_default_context(cafile=bridge.certificate)
        host, _, to = bridge.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(to), ssl=near)
        assert await reader.read() == b""
        writer.close()


def test_who_is_still_connected_at_its_end_leaves_no_line_behind(
    lamp: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What plays a story prints its steps and nothing else."""
    far = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    far.load_cert_chain(lamp, lamp.with_suffix(".key"))
    ended: list[bytes] = []

    async def story() -> None:
        def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"ahoy\n")

        server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=far)
        port = server.sockets[0].getsockname()[1]
        node = GrpcNode(host="127.0.0.1", port=port, name="localhost", authority=lamp)
        async with server:
            async with bridged(node, tmp_path) as bridge:
                near = ssl.create_default_context(cafile=bridge.certificate)
                host, _, to = bridge.address.rpartition(":")
                reader, writer = await asyncio.open_connection(host, int(to), ssl=near)
                assert await reader.readline() == b"ahoy\n"
            with contextlib.suppress(OSError):
                ended.append(await reader.read())
            writer.close()

    asyncio.run(story())
    assert ended in ([], [b""]), "nobody is left on a bridge that is gone"
    assert [record.getMessage() for record in caplog.records] == []
