"""The server starts with one clear line, speaks TLS, and stops without haste."""

import io
import json
import logging
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from leyden.base.http.connections import ConnectionLimits
from leyden.base.http.server import bind, tls
from leyden.base.logs import JsonFormatter
from leyden.errors import SetupError
from tests.authority import Authority
from tests.base.api.wire import Echo, Running, running, until

HEAD = b"Host: leyden.example\r\n"
ASK = b"GET /harbour HTTP/1.1\r\n" + HEAD + b"\r\n"
SLOW = b"GET /slow HTTP/1.1\r\n" + HEAD + b"\r\n"


@pytest.fixture
def server() -> Iterator[Running]:
    with running(Echo()) as it:
        yield it


def test_a_stop_lets_requests_finish_and_takes_no_more(server: Running) -> None:
    with server.caller() as idle, server.caller() as busy, server.caller() as half:
        busy.send(SLOW)
        half.send(b"GET /har")
        until(lambda: len(server.connections) == 3)
        server.stop()
        assert idle.is_closed()
        with pytest.raises(ConnectionRefusedError):
            until(lambda: socket.create_connection(("127.0.0.1", server.port)).close())
        half.send(b"bour HTTP/1.1\r\n" + HEAD + b"\r\n")
        answer = half.read()
        assert answer is not None
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        server.app.released.set()
        answer = busy.read()
        assert answer is not None
        assert answer.status == 200
        assert answer.headers["connection"] == "close"


def test_each_response_has_an_id_of_its_own_which_log_lines_have(
    server: Running,
) -> None:
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    try:
        mine = b"GET /fails HTTP/1.1\r\nRequest-Id: req_mine\r\n" + HEAD + b"\r\n"
        answers = server.send(ASK + ASK + mine) + server.send(b"\n")
    finally:
        logger.removeHandler(handler)
    ids = [each.headers["request-id"] for each in answers]
    assert [each.status for each in answers] == [200, 200, 500, 400]
    assert len(set(ids)) == 4
    assert all(re.fullmatch("req_[0-9a-f]{24}", each) for each in ids)
    [line] = lines.getvalue().splitlines()
    assert json.loads(line)["request_id"] == ids[2]


def test_a_connection_ends_after_its_response_when_a_stop_is_near(
    server: Running,
) -> None:
    """Who keeps it open would send the next request into nowhere."""
    with server.caller() as stored:
        stored.send(ASK)
        answer = stored.read()
        assert answer is not None
        assert "connection" not in answer.headers
        server.connections.is_closing = True
        stored.send(ASK)
        answer = stored.read()
        assert answer is not None
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert stored.is_closed()
    with server.caller() as late:
        late.send(ASK)
        answer = late.read()
        assert answer is not None
        assert (answer.status, answer.headers["connection"]) == (200, "close")


def test_a_stop_waits_no_longer_than_its_grace() -> None:
    with running(Echo(), grace_s=0.3) as server, server.caller() as busy:
        busy.send(SLOW)
        until(lambda: server.app.begun == ["/slow"])
        began = time.monotonic()
        server.stop()
        assert busy.is_closed()
        assert time.monotonic() - began < 30


def test_a_port_in_use_is_one_clear_line() -> None:
    with closing(bind("127.0.0.1", 0)[0]) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            SetupError, match=f"port {port} on 127.0.0.1 is in use"
        ) as e:
            bind("127.0.0.1", port)
        assert "LEYDEN_API_PORT" in str(e.value)
    with pytest.raises(SetupError, match="not have the address"):
        bind("192.0.2.1", 0)
    with pytest.raises(SetupError, match="api_host: no IP address for"):
        bind("nobody.invalid", 0)


def test_one_free_port_serves_every_address_of_a_host() -> None:
    listeners = bind("", 0)
    try:
        assert len({each.getsockname()[1] for each in listeners}) == 1
    finally:
        for each in listeners:
            each.close()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def certificate(authority: Authority, tmp_path: Path) -> tuple[str, str]:
    authority.give(tmp_path, "localhost")
    return str(tmp_path / "tls.cert"), str(tmp_path / "tls.key")


def test_tls_speaks_only_http_1_1(
    authority: Authority, certificate: tuple[str, str]
) -> None:
    context = ssl.create_default_context(cadata=authority.pem)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        running(Echo(), tls=tls(*certificate)) as server,
        server.caller(context) as caller,
    ):
        assert isinstance(caller.socket, ssl.SSLSocket)
        assert caller.socket.selected_alpn_protocol() == "http/1.1"
        caller.send(ASK * 2)
        assert [each.status for each in caller.read_all()] == [200, 200]
        caller.send(b"GET /\r\n\r\n")
        (refused,) = caller.read_all(quiet_s=5)
    assert (refused.status, refused.closed) == (400, True)


def test_a_refusal_over_tls_is_read_before_the_end(
    authority: Authority, certificate: tuple[str, str]
) -> None:
    context = ssl.create_default_context(cadata=authority.pem)
    announced = b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 9999999\r\n\r\n"
    limits = ConnectionLimits(linger_s=0.3, look_every_s=0.02)
    with (
        running(Echo(), tls=tls(*certificate), limits=limits) as server,
        server.caller(context) as caller,
    ):
        caller.send(announced + b"a" * 300_000)
        answer = caller.read()
        until(lambda: len(server.connections) == 0)
    assert answer is not None
    assert answer.status == 413


def test_who_never_shakes_hands_is_let_go(certificate: tuple[str, str]) -> None:
    with (
        running(
            Echo(), tls=tls(*certificate), limits=ConnectionLimits(header_s=0.2)
        ) as server,
        server.caller() as silent,
    ):
        assert silent.is_closed()


def test_a_certificate_that_cannot_be_used_is_one_clear_line(
    certificate: tuple[str, str], tmp_path: Path
) -> None:
    chain, key = certificate
    for pair in ((chain, str(tmp_path / "nowhere.key")), (key, chain)):
        with pytest.raises(SetupError, match=r"api_tls_certificate, api_tls_key: "):
            tls(*pair)
