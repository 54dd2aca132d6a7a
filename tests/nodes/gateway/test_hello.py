"""What callers may say first, and what they may not, with the real Envoy."""

import asyncio
import socket
import ssl

import pytest

from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from tests.nodes.gateway.calls import (
    ALICE,
    BOB,
    HOST,
    Callers,
    EchoNode,
    trusting_anyone,
)

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
async def route(gateway: LocalGateway, first_node: EchoNode) -> None:
    await gateway.apply([first_node.route(ALICE)])


def client_hello(name: str) -> bytes:
    outgoing = ssl.MemoryBIO()
    client = trusting_anyone().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def oversized_hello(name: str, size: int) -> bytes:
    """Blow a ClientHello up with an extension that nobody knows."""
    record = client_hello(name)
    hello = bytearray(record[9:])  # without the headers of record and handshake
    at = 34
    at += 1 + hello[at]  # session id
    at += 2 + int.from_bytes(hello[at : at + 2], "big")  # ciphers
    at += 1 + hello[at]  # compression
    extensions = hello[at + 2 :]
    extensions += (0xFAFA).to_bytes(2, "big") + size.to_bytes(2, "big") + bytes(size)
    hello[at:] = len(extensions).to_bytes(2, "big") + extensions
    handshake = b"\x01" + len(hello).to_bytes(3, "big") + hello
    step = 16_000
    return b"".join(
        b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part
        for part in (handshake[i : i + step] for i in range(0, len(handshake), step))
    )


async def answer_to(port: int, *pieces: bytes, pause_s: float = 0.0) -> bytes:
    """Send something and return the first bytes; empty when closed unheard."""
    with socket.socket() as caller:
        caller.setblocking(False)  # noqa: FBT003
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        caller.bind((ALICE, 0))
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(10):
            try:
                await loop.sock_connect(caller, (HOST, port))
                for piece in pieces:
                    await loop.sock_sendall(caller, piece)
                    if pause_s:
                        await asyncio.sleep(pause_s)
                return await loop.sock_recv(caller, 100)
            except OSError:
                return b""


HANDSHAKE = 0x16


async def test_a_whole_hello_is_answered_by_the_node(
    port: int, first_node: EchoNode
) -> None:
    assert (await answer_to(port, client_hello(first_node.name)))[0] == HANDSHAKE


async def test_a_hello_in_pieces_is_answered_too(
    port: int, first_node: EchoNode
) -> None:
    hello = client_hello(first_node.name)
    first = [hello[i : i + 1] for i in range(20)]  # the headers, byte by byte
    rest = [hello[i : i + 50] for i in range(20, len(hello), 50)]
    assert (await answer_to(port, *first, *rest, pause_s=0.001))[0] == HANDSHAKE


async def test_a_hello_larger_than_a_packet_is_answered_too(
    port: int, first_node: EchoNode
) -> None:
    hello = oversized_hello(first_node.name, 4_000)
    pieces = [hello[:1_400], hello[1_400:2_800], hello[2_800:]]
    assert (await answer_to(port, *pieces, pause_s=0.01))[0] == HANDSHAKE


async def test_a_hello_that_never_ends_is_closed(
    port: int, first_node: EchoNode
) -> None:
    assert await answer_to(port, oversized_hello(first_node.name, 65_000)) == b""


async def test_a_name_may_be_upper_case_or_end_with_a_dot(
    port: int,
) -> None:
    for name in ("HARBOUR.Nodes.Test", "harbour.nodes.test.", "HARBOUR.NODES.TEST."):
        hello = oversized_hello(name, 0)
        assert name.encode() in hello
        assert (await answer_to(port, hello))[0] == HANDSHAKE, name


@pytest.mark.parametrize(
    "name",
    [
        "nobody.invalid",
        "nodes.test",
        "x.harbour.nodes.test",
        "harbour.nodes.tes",
        "harbour.nodes.test..",
        "lighthouse.nodes.test",
    ],
)
async def test_an_unknown_name_is_closed(port: int, name: str) -> None:
    padded = "a" * len(name)  # the ssl module refuses to say some of these names
    hello = client_hello(padded).replace(padded.encode(), name.encode())
    assert name.encode() in hello
    assert await answer_to(port, hello) == b""


async def test_no_name_is_closed(port: int) -> None:
    outgoing = ssl.MemoryBIO()
    client = trusting_anyone().wrap_bio(ssl.MemoryBIO(), outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    assert await answer_to(port, outgoing.read()) == b""


async def test_a_proxy_preamble_is_not_believed(
    port: int, first_node: EchoNode
) -> None:
    hello = client_hello(first_node.name)
    version_1 = f"PROXY TCP4 {ALICE} {HOST} 4711 {port}\r\n".encode()
    assert await answer_to(port, version_1 + hello) == b""
    version_2 = (
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"
        + socket.inet_aton(ALICE)
        + socket.inet_aton(HOST)
        + (4711).to_bytes(2, "big")
        + port.to_bytes(2, "big")
    )
    assert await answer_to(port, version_2 + hello) == b""


@pytest.mark.parametrize(
    "words",
    [
        b"GET / HTTP/1.1\r\nHost: harbour.nodes.test\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\xff\xff" + b"\xff" * 70_000,
        b"\0" * 1_000,
        b"\x80\x2e\x01\x03\x01",
    ],
)
async def test_what_is_no_hello_is_closed(port: int, words: bytes) -> None:
    assert await answer_to(port, words) == b""


async def test_who_says_nothing_is_closed_when_the_time_is_up(
    port: int, listening: ListenerOptions, first_node: EchoNode
) -> None:
    began = asyncio.get_running_loop().time()
    half = client_hello(first_node.name)[:50]
    assert await answer_to(port, half) == b""
    took = asyncio.get_running_loop().time() - began
    assert took >= listening.hello_timeout_s * 0.9


async def test_only_the_name_in_the_hello_says_which_node(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode, second_node: EchoNode
) -> None:
    """What is said inside, such as a Host header, means nothing to the gateway."""
    await gateway.apply([first_node.route(ALICE), second_node.route(BOB)])
    made = await callers.call(first_node.name, ALICE)
    answer = await made.ask("GET / HTTP/1.1 Host: lighthouse.nodes.test")
    assert answer.startswith("harbour.nodes.test: ")
    assert not await callers.admitted(second_node.name, ALICE)
