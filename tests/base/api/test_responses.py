"""Complete responses, to whoever reads slowly or asks only for the head."""

from collections.abc import Iterator
from typing import Any

import pytest

from leyden.base.http.responses import answer
from tests.base.api.wire import Running, running

HEAD = b"Host: leyden.example\r\n"
LARGE = b"x" * 20_000_000


async def app(scope: Any, _receive: Any, send: Any) -> None:
    body = LARGE if scope["path"] == "/large" else b'{"path":"harbour"}'
    await answer(scope, send, 200, [(b"content-type", b"application/json")], body)


@pytest.fixture
def server() -> Iterator[Running]:
    with running(app) as it:
        yield it


def ask(method: str, path: str) -> bytes:
    return f"{method} {path} HTTP/1.1\r\n".encode() + HEAD + b"\r\n"


def test_head_gets_only_the_length(server: Running) -> None:
    with server.caller() as caller:
        caller.send(ask("HEAD", "/") + ask("GET", "/"))
        head, complete = caller.read(head=True), caller.read()
        assert head is not None
        assert complete is not None
        assert head.headers["content-length"] == str(len(complete.body))
        assert (complete.status, complete.body) == (200, b'{"path":"harbour"}')


def test_slow_reader_gets_all_of_a_large_response(server: Running) -> None:
    with server.caller() as caller:
        caller.send(ask("GET", "/large") + ask("GET", "/"))
        large, small = caller.read(), caller.read()
        assert large is not None
        assert small is not None
        assert large.body == LARGE
        assert small.body == b'{"path":"harbour"}'
