"""What a receiver may do to us: answer. Everything else ends in a sentence."""

import asyncio
import json
import socket
import ssl
import struct
import time

import pytest

from leyden.events.rules.deliveries import Answer
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import HttpSender
from tests.events.webhooks.conftest import (
    ANYTHING,
    LOOPBACK,
    Behaviour,
    FixedResolver,
    Receiver,
    Serving,
    read_request,
)

SECRET = "3f" * 24
HEADERS = {"Service-Secret": SECRET, "webhook-id": "msg_tide"}
BODY = b'{"type":"status"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nthanks"


async def post(sender: HttpSender, url: str) -> Answer:
    async with sender.open(url, "harbour") as line:
        return await line.post(HEADERS, BODY)


async def test_a_receiver_gets_the_event_and_its_answer_is_kept(
    loopback_sender: HttpSender,
) -> None:
    with Receiver(OK) as receiver:
        answer = await post(loopback_sender, receiver.url + "?boat=1")
    assert (answer.status, answer.excerpt, answer.error) == (200, "thanks", "")
    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    assert body == BODY
    assert head.decode().split("\r\n") == [
        "POST /hook?boat=1 HTTP/1.1",
        f"Host: 127.0.0.1:{receiver.port}",
        "User-Agent: Leyden",
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        f"Service-Secret: {SECRET}",
        "webhook-id: msg_tide",
        "Accept: */*",
        f"Content-Length: {len(BODY)}",
    ]


async def test_a_chat_gets_text_once_it_is_said_to_be_text(
    loopback_sender: HttpSender,
) -> None:
    with Receiver(OK) as receiver:
        async with loopback_sender.open(receiver.url, "harbour") as line:
            await line.post({"Content-Type": "text/plain"}, b"light")
    head, _, _ = receiver.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert [each for each in lines if "Content-Type" in each] == [
        "Content-Type: text/plain"
    ]


async def test_events_for_one_receiver_share_a_connection(
    loopback_sender: HttpSender,
) -> None:
    with Receiver(OK) as receiver:
        async with loopback_sender.open(receiver.url, "harbour") as line:
            for _ in range(3):
                assert (await line.post(HEADERS, BODY)).status == 200
        assert (receiver.connections, len(receiver.requests)) == (1, 3)


@pytest.mark.parametrize("extra", [b"Connection: close\r\n", b""])
async def test_a_connection_that_the_receiver_closed_is_made_anew(
    loopback_sender: HttpSender, extra: bytes
) -> None:
    def once(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 204 No Content\r\n" + extra + b"\r\n")

    with Receiver(once) as receiver:
        async with loopback_sender.open(receiver.url, "harbour") as line:
            assert (await line.post(HEADERS, BODY)).status == 204
            assert (await line.post(HEADERS, BODY)).status == 204
        assert receiver.connections == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_nobody_goes_there(
    loopback_sender: HttpSender, status: int
) -> None:
    with Receiver(OK) as elsewhere:
        moved = (
            f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.url}\r\n"
            "Content-Length: 0\r\n\r\n"
        )
        with Receiver(moved.encode()) as receiver:
            assert (await post(loopback_sender, receiver.url)).status == status
        assert elsewhere.connections == 0


async def test_interim_answers_are_passed_over(loopback_sender: HttpSender) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n"
    with Receiver(interim * 3 + OK) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert (answer.status, answer.excerpt, answer.retry_after) == (200, "thanks", "")


async def test_retry_after_is_passed_on(loopback_sender: HttpSender) -> None:
    busy = b"HTTP/1.1 429 Slow\r\nRetry-After: 77\r\nContent-Length: 0\r\n\r\n"
    with Receiver(busy) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert (answer.status, answer.retry_after) == (429, "77")


def hang(connection: socket.socket) -> None:
    read_request(connection)
    while connection.recv(4096):
        pass


def drip_head(connection: socket.socket) -> None:
    read_request(connection)
    for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Drip: drip\r\n" * 100:
        connection.sendall(bytes([byte]))
        time.sleep(0.02)


def flood_head(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-Flood: " + b"water" * 1000 + b"\r\n")


def flood_interim(connection: socket.socket) -> None:
    read_request(connection)
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def never_read(connection: socket.socket) -> None:
    connection.getpeername()
    time.sleep(1)


def close_early(connection: socket.socket) -> None:
    read_request(connection)


def close_in_the_head(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")


def reset(connection: socket.socket) -> None:
    read_request(connection)
    at_once = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (flood_head, "the answer is not HTTP"),
        (flood_interim, "the head of the answer does not end"),
        (close_early, "the connection was closed before the answer"),
        (reset, "the connection was closed before the answer"),
        (close_in_the_head, "the connection was closed before the answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
        (b"\x00\xff\x00\xff" * 100, "the answer is not HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "the answer is not HTTP"),
        (
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            "the answer is not HTTP",
        ),
    ],
)
async def test_a_receiver_that_misbehaves_has_failed(
    loopback_sender: HttpSender,
    behaviour: Behaviour | bytes,
    error: str,
) -> None:
    with Receiver(behaviour) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert (answer.status, answer.error) == (None, error)


@pytest.mark.parametrize("behaviour", [hang, never_read, drip_head])
async def test_a_receiver_that_takes_too_long_has_failed(
    impatient_sender: HttpSender, behaviour: Behaviour
) -> None:
    with Receiver(behaviour) as receiver:
        answer = await post(impatient_sender, receiver.url)
    assert (answer.status, answer.error) == (None, "no answer in time")


def endless_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
    while True:
        connection.sendall(b"10 GB of water. " * 1000)


def dripping_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\ndrip")
    connection.recv(1)  # waits until the other side has had enough


def speak_first(connection: socket.socket) -> None:
    connection.sendall(b"220 harbour.test ESMTP\r\n")
    connection.recv(65_536)
    connection.recv(1)


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [(endless_body, "10 GB of water. "), (dripping_body, "drip")],
)
async def test_an_answer_that_does_not_end_is_cut_and_counts(
    impatient_sender: HttpSender,
    behaviour: Behaviour,
    text: str,
) -> None:
    begun = time.monotonic()
    with Receiver(behaviour) as receiver:
        async with impatient_sender.open(receiver.url, "harbour") as line:
            answer = await line.post(HEADERS, BODY)
            again = await line.post(HEADERS, BODY)
        assert receiver.connections == 2, "a connection in that state is not kept"
    assert answer.status == again.status == 200
    assert answer.excerpt.startswith(text)
    assert len(answer.excerpt) <= 2048
    assert time.monotonic() - begun < 30


async def test_a_receiver_that_speaks_unasked_has_failed(
    loopback_sender: HttpSender,
) -> None:
    with Receiver(speak_first) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert answer.status is None


async def test_what_is_compressed_is_not_unpacked(loopback_sender: HttpSender) -> None:
    bomb = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbomb"
    with Receiver(bomb) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert answer.status == 200
    assert answer.excerpt.startswith("(not shown")


async def test_an_echoed_secret_and_unreadable_bytes_are_masked(
    loopback_sender: HttpSender,
) -> None:
    said = f"got {SECRET} and {SECRET.upper()}\x00\x1b[2J\r\n".encode() + b"\xff"
    echo = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said)
    with Receiver(echo) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert answer.excerpt == "got *** and ***��[2J�\n�"


async def test_a_secret_across_the_cut_is_masked_as_well(
    loopback_sender: HttpSender,
) -> None:
    said = b"x" * 2040 + SECRET.encode()
    echo = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said)
    with Receiver(echo) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert answer.excerpt == "x" * 2040 + "***"


async def test_nobody_there_is_a_failure(
    loopback_sender: HttpSender, closed_port: int
) -> None:
    answer = await post(loopback_sender, f"http://127.0.0.1:{closed_port}/")
    assert answer.error == "the connection was refused"
    answer = await post(loopback_sender, "http://no-such-boat.invalid/")
    assert answer.error == "the host name does not resolve"


async def test_a_url_that_is_no_longer_allowed_is_not_called(
    loopback_sender: HttpSender,
) -> None:
    with Receiver(OK) as receiver:
        answer = await post(
            loopback_sender, receiver.url.replace("http://", "http://user@")
        )
        assert "user name" in answer.error
        assert receiver.connections == 0


def verifying(authority: Serving, addresses: list[str]) -> HttpSender:
    return HttpSender(
        Egress(exceptions=[LOOPBACK]),
        resolver=lambda: FixedResolver(addresses),
        allowed=ANYTHING,
        tls=ssl.create_default_context(cafile=str(authority.ca_file)),
        deadline_s=2,
    )


async def test_tls_is_verified_by_the_name_in_the_url(authority: Serving) -> None:
    sender = verifying(authority, ["127.0.0.1"])
    tls = authority.serving("hooks.harbour.test")
    with Receiver(OK, tls=tls, name="hooks.harbour.test") as receiver:
        assert (await post(sender, receiver.url)).status == 200
        other = receiver.url.replace("hooks.", "books.")
        wrong = await post(sender, other)
    assert wrong.error.startswith("the certificate does not verify: Hostname mismatch")
    assert len(receiver.requests) == 1, "no secret went to the wrong host"


async def test_an_address_in_the_url_is_verified_as_an_address(
    authority: Serving,
) -> None:
    sender = verifying(authority, [])
    with Receiver(OK, tls=authority.serving("127.0.0.1")) as receiver:
        assert (await post(sender, receiver.url)).status == 200


async def test_bad_certificates_and_no_tls_fail_without_a_byte_of_the_event(
    authority: Serving, loopback_sender: HttpSender
) -> None:
    sender = verifying(authority, ["127.0.0.1"])
    name = "hooks.harbour.test"
    old = authority.serving(name, expired=True)
    with Receiver(OK, tls=old, name=name) as receiver:
        answer = await post(sender, receiver.url)
    assert answer.error == "the certificate does not verify: certificate has expired"
    assert receiver.requests == []

    unknown = authority.serving("127.0.0.1")
    with Receiver(OK, tls=unknown) as receiver:
        answer = await post(loopback_sender, receiver.url)
    assert answer.error.startswith("the certificate does not verify: ")
    assert receiver.requests == []

    with Receiver(b"HTTP/1.1 400 Plain\r\n\r\n") as receiver:
        plain = receiver.url.replace("http:", "https:")
        answer = await post(loopback_sender, plain)
    assert answer.status is None
    assert receiver.requests == []


async def test_the_next_address_is_tried_when_one_does_not_answer(
    authority: Serving,
) -> None:
    with Receiver(OK, host="127.0.0.2") as receiver:
        sender = verifying(authority, ["127.0.0.3", "127.0.0.2"])
        url = f"http://hooks.harbour.test:{receiver.port}/"
        assert (await post(sender, url)).status == 200


async def test_proxies_in_the_environment_are_not_asked(
    loopback_sender: HttpSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver(OK) as receiver, Receiver(OK) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert (await post(loopback_sender, receiver.url)).status == 200
        assert proxy.connections == 0


async def test_a_hanging_receiver_delays_nobody_else(
    loopback_sender: HttpSender,
) -> None:
    with Receiver(hang) as slow, Receiver(OK) as quick:
        waiting = [
            asyncio.create_task(post(loopback_sender, slow.url)) for _ in range(50)
        ]
        for _ in range(10):
            assert (await post(loopback_sender, quick.url)).status == 200
        for each in waiting:
            assert each.cancel(), "it has waited for no answer"
        await asyncio.gather(*waiting, return_exceptions=True)


def test_the_body_in_these_tests_is_json() -> None:
    assert json.loads(BODY) == {"type": "status"}
