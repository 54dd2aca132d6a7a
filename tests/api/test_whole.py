"""An answer in one piece is, on the wire, the answer that ASGI's two messages make."""

from collections.abc import Iterator
from typing import Any

import pytest

from leyden.api.whole import answer
from tests.api.wire import Answer, Running, running

HEAD = b"Host: leyden.example\r\n"
LARGE = b"x" * 20_000_000


class Whole:
    """Answers in one piece, or as one does elsewhere; /early without reading first."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        while path != "/early" and (await receive()).get("more_body"):
            pass
        if path == "/elsewhere":
            scope = {**scope, "extensions": {}}
        body = LARGE if path == "/large" else b'{"path":"harbour"}'
        headers = [(b"content-type", b"application/json")]
        await answer(scope, send, 200, headers, body)
        if path == "/twice":
            await answer(scope, send, 200, headers, body)


@pytest.fixture
def server() -> Iterator[Running]:
    with running(Whole()) as it:
        yield it


def ask(method: str, path: str, more: bytes = b"") -> bytes:
    return f"{method} {path} HTTP/1.1\r\n".encode() + HEAD + more + b"\r\n"


def compared(answers: list[Answer]) -> list[tuple[int, dict[str, str], bytes, bool]]:
    for each in answers:
        each.headers.pop("date")
    return [(each.status, each.headers, each.body, each.closed) for each in answers]


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
@pytest.mark.parametrize("times", [1, 3])
def test_it_reads_the_same(server: Running, more: bytes, times: int) -> None:
    here = server.send(ask("GET", "/", more) * times)
    there = server.send(ask("GET", "/elsewhere", more) * times)
    assert compared(here) == compared(there)
    assert len(here) == (1 if more else times)
    assert here[0].body == b'{"path":"harbour"}'
    assert here[-1].closed is bool(more)


def test_to_head_only_the_length_is_told(server: Running) -> None:
    for path in ("/", "/elsewhere"):
        with server.caller() as caller:
            caller.send(ask("HEAD", path) + ask("GET", path))
            head, whole = caller.read(head=True), caller.read()
            assert head is not None
            assert whole is not None
            assert head.headers["content-length"] == str(len(whole.body))
            assert (whole.status, whole.body) == (200, b'{"path":"harbour"}')


def test_an_answer_before_the_body_was_read_is_the_last(server: Running) -> None:
    asked = ask("POST", "/early", b"Content-Length: 9\r\n")
    (told,) = server.send(asked)
    assert (told.status, told.headers["connection"]) == (200, "close")
    assert told.closed


def test_a_large_one_comes_whole_to_one_who_reads_slowly(server: Running) -> None:
    with server.caller() as caller:
        caller.send(ask("GET", "/large") + ask("GET", "/"))
        large, small = caller.read(), caller.read()
        assert large is not None
        assert small is not None
        assert large.body == LARGE
        assert small.body == b'{"path":"harbour"}'


def test_a_second_answer_is_never_sent(server: Running) -> None:
    with server.caller() as caller:
        caller.send(ask("GET", "/twice"))
        first = caller.read()
        assert first is not None
        assert first.body == b'{"path":"harbour"}'
        assert caller.is_closed()
        assert caller.read() is None
