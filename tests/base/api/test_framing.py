"""What two readers of one connection could disagree about is refused, in JSON."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.base.api.wire import Echo, Running, running


class Case(NamedTuple):
    sent: bytes
    statuses: list[int]
    stays: bool = False
    """Whether the connection is kept for the next request."""


HEAD = b"Host: leyden.example\r\n"
GET = b"GET /harbour HTTP/1.1\r\n" + HEAD
POST = b"POST /harbour HTTP/1.1\r\n" + HEAD
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
END = b"\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HEAD + END

CASES = {
    "a plain request": Case(GET + END, [200], stays=True),
    "a body": Case(POST + b"Content-Length: 3\r\n\r\nabc", [200], stays=True),
    "a body in chunks": Case(CHUNKED + b"3\r\nabc\r\n0\r\n\r\n", [200], stays=True),
    "a chunk with an extension": Case(
        CHUNKED + b"3;light=1\r\nabc\r\n0\r\n\r\n", [200], stays=True
    ),
    "an empty line before the request": Case(b"\r\n" + GET + END, [200], stays=True),
    "three requests at once": Case((GET + END) * 3, [200] * 3, stays=True),
    "a request that is to be the last": Case(
        GET + b"Connection: close\r\n\r\n" + SMUGGLED, [200]
    ),
    "HTTP/1.0": Case(b"GET /harbour HTTP/1.0\r\n" + HEAD + END, [200]),
    "HTTP/1.0 without a Host": Case(b"GET /harbour HTTP/1.0\r\n\r\n", [200]),
    "HTTP/1.0 that would like to stay": Case(
        b"GET /harbour HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200]
    ),
    "HEAD": Case(b"HEAD /harbour HTTP/1.1\r\n" + HEAD + END, [200], stays=True),
    "OPTIONS": Case(b"OPTIONS * HTTP/1.1\r\n" + HEAD + END, [200], stays=True),
    "an upgrade to h2c": Case(
        GET
        + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        + b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        [200],
    ),
    "an upgrade to h2c with a body": Case(
        POST
        + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc"
        + SMUGGLED,
        [200],
    ),
    "an upgrade to WebSocket": Case(
        GET
        + b"Connection: Upgrade\r\nUpgrade: WebSocket\r\n"
        + b"Sec-WebSocket-Version: 13\r\n\r\n",
        [400],
    ),
    "h2 by prior knowledge": Case(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]),
    "h2 in the version": Case(b"GET /harbour HTTP/2.0\r\n" + HEAD + END, [400]),
    "HTTP/0.9": Case(b"GET /harbour\r\n\r\n", [400]),
    "HTTP/1.2": Case(b"GET /harbour HTTP/1.2\r\n" + HEAD + END, [400]),
    "TLS to the plain port": Case(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", [400]),
    "CONNECT": Case(b"CONNECT leyden.example:443 HTTP/1.1\r\n" + HEAD + END, [400]),
    "a method nobody knows": Case(b"FETCH / HTTP/1.1\r\n" + HEAD + END, [400]),
    "a method in small letters": Case(b"get / HTTP/1.1\r\n" + HEAD + END, [400]),
    "a target that names a host": Case(
        b"GET http://other.example/harbour HTTP/1.1\r\n" + HEAD + END, [400]
    ),
    "a target with a fragment": Case(b"GET /a#b HTTP/1.1\r\n" + HEAD + END, [400]),
    "a star for another method": Case(b"GET * HTTP/1.1\r\n" + HEAD + END, [400]),
    "a target beyond ASCII": Case(b"GET /\xff HTTP/1.1\r\n" + HEAD + END, [400]),
    "a tab before the target": Case(b"GET\t/ HTTP/1.1\r\n" + HEAD + END, [400]),
    "a space after the version": Case(b"GET / HTTP/1.1 \r\n" + HEAD + END, [400]),
    "no Host": Case(b"GET /harbour HTTP/1.1\r\n\r\n", [400]),
    "two Hosts": Case(GET + HEAD + END, [400]),
    "an empty Host": Case(b"GET / HTTP/1.1\r\nHost:\r\n\r\n", [400]),
    "a Host with a path": Case(b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", [400]),
    "a Host with a user": Case(b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", [400]),
    "a Host that is IPv6": Case(
        b"GET / HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n", [200], stays=True
    ),
    "a length and chunks": Case(
        POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n" + SMUGGLED,
        [400],
    ),
    "chunks and a length": Case(
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"
        b"0\r\n\r\n" + SMUGGLED,
        [400],
    ),
    "two lengths": Case(
        POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", [400]
    ),
    "two equal lengths": Case(
        POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", [400]
    ),
    "a list of lengths": Case(POST + b"Content-Length: 3, 3\r\n\r\nabc", [400]),
    "a length with a plus": Case(POST + b"Content-Length: +3\r\n\r\nabc", [400]),
    "a negative length": Case(POST + b"Content-Length: -1\r\n\r\nabc", [400]),
    "a hexadecimal length": Case(POST + b"Content-Length: 0x3\r\n\r\nabc", [400]),
    "a length with an underscore": Case(POST + b"Content-Length: 1_0\r\n\r\n", [400]),
    "no length": Case(POST + b"Content-Length:\r\n\r\nabc", [400]),
    "a length of 30 digits": Case(
        POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", [400]
    ),
    "a space before the colon": Case(POST + b"Content-Length : 3\r\n\r\nabc", [400]),
    "a coding under chunks": Case(
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, [400]
    ),
    "a coding over chunks": Case(
        POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", [400]
    ),
    "the coding identity": Case(POST + b"Transfer-Encoding: identity\r\n\r\n", [400]),
    "two codings": Case(
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n",
        [400],
    ),
    "a coding that looks like chunks": Case(
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", [400]
    ),
    "a coding with a vertical tab": Case(
        POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", [400]
    ),
    "chunks in HTTP/1.0": Case(
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]
    ),
    "a chunk without its end": Case(CHUNKED + b"3\r\nabcXX0\r\n\r\n", [400]),
    "a chunk longer than it says": Case(CHUNKED + b"2\r\nabc\r\n0\r\n\r\n", [400]),
    "a chunk's size in 0x": Case(CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n", [400]),
    "a negative chunk": Case(CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n", [400]),
    "a chunk's size of 17 digits": Case(CHUNKED + b"f" * 17 + b"\r\nabc", [400]),
    "a space after a chunk's size": Case(CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n", [400]),
    "line feeds between chunks": Case(CHUNKED + b"3\nabc\n0\n\n", [400]),
    "a line feed in a chunk's extension": Case(
        CHUNKED + b"3;a\nb\r\nabc\r\n0\r\n\r\n", [400]
    ),
    "a trailer": Case(
        CHUNKED + b"3\r\nabc\r\n0\r\nX-SERVICE-AUTH: ley_1\r\n\r\n", [400]
    ),
    "line feeds after headers": Case(
        b"GET /harbour HTTP/1.1\nHost: leyden.example\n\n", [400]
    ),
    "a line feed after one header": Case(GET + b"X-Light: 1\n\r\n", [400]),
    "a line feed at the end of the headers": Case(GET + b"\n", [400]),
    "a line feed before the request": Case(b"\n" + GET + END, [400]),
    "a folded header": Case(GET + b"X-Light: 1\r\n 2\r\n\r\n", [400]),
    "a fold after the request line": Case(
        b"GET / HTTP/1.1\r\n Host: leyden.example\r\n\r\n", [400]
    ),
    "a carriage return in a header": Case(GET + b"X-Light: a\rb\r\n\r\n", [400]),
    "a NUL in a header": Case(GET + b"X-Light: a\0b\r\n\r\n", [400]),
    "a NUL in a name": Case(GET + b"X-\0Light: a\r\n\r\n", [400]),
    "a control character in a header": Case(GET + b"X-Light: a\x01b\r\n\r\n", [400]),
    "a header without a name": Case(GET + b": a\r\n\r\n", [400]),
    "a header without a colon": Case(GET + b"harbour\r\n\r\n", [400]),
    "two content types": Case(
        GET + b"Content-Type: application/json\r\nContent-Type: text/plain\r\n\r\n",
        [400],
    ),
    "an expectation nobody can meet": Case(GET + b"Expect: tea\r\n\r\n", [417]),
    "a long target": Case(
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + HEAD + END, [414]
    ),
    "a long query": Case(
        b"GET /?" + b"a" * 8_192 + b" HTTP/1.1\r\n" + HEAD + END, [414]
    ),
    "a large header": Case(GET + b"X-Light: " + b"a" * 200_000 + b"\r\n\r\n", [431]),
    "a header without an end": Case(GET + b"X-Light: " + b"a" * 40_000, [431]),
    "a large name": Case(GET + b"X" * 200_000 + b": a\r\n\r\n", [431]),
    "a little over 16 KiB of headers": Case(
        GET + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 990) for i in range(17)) + END,
        [431],
    ),
    "a little under 16 KiB of headers": Case(
        GET + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 990) for i in range(16)) + END,
        [200],
        stays=True,
    ),
    "100 headers": Case(GET + b"X: 1\r\n" * 99 + END, [200], stays=True),
    "101 headers": Case(GET + b"X: 1\r\n" * 100 + END, [431]),
    "5,000 headers": Case(GET + b"X-Light: a\r\n" * 5_000 + END, [431]),
    "a body that is announced too large": Case(
        POST + b"Content-Length: 262145\r\n\r\n", [413]
    ),
    "a body of just the right size": Case(
        POST + b"Content-Length: 262144\r\n\r\n" + b"a" * 262_144, [200], stays=True
    ),
    "10 MB at once": Case(
        POST + b"Content-Length: 10000000\r\n\r\n" + b"a" * 10_000_000, [413]
    ),
    "chunks that add up to too much": Case(
        CHUNKED + b"8000\r\n%s\r\n" % (b"a" * 0x8000) * 9, [413]
    ),
    "a bomb of tiny chunks": Case(CHUNKED + b"1\r\na\r\n" * 250_000, [413]),
    "a bomb of a chunk's extension": Case(
        CHUNKED + b"1;" + b"a" * 1_200_000 + b"\r\na\r\n", [413]
    ),
    "a good request before a bad one": Case(GET + END + b"GET /\r\n\r\n", [200, 400]),
    "a good request after a bad one": Case(b"GET /\r\n\r\n" + SMUGGLED, [400]),
}


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(Echo(), loop=request.param) as it:
        yield it


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_request_is_answered_as_the_table_says(
    server: Running, case: Case
) -> None:
    server.app.asked.clear()
    with server.caller() as caller:
        caller.send(case.sent)
        if case.sent.startswith(b"HEAD"):
            answer = caller.read(head=True)
            answers = [answer] if answer else []
        else:
            answers = caller.read_all(quiet_s=0.1 if case.stays else 2)
        assert [each.status for each in answers] == case.statuses
        if case.stays:
            caller.send(GET + END)
            assert caller.read() is not None, "the connection was not kept"
        else:
            assert caller.is_closed()
            assert answers[-1].headers["connection"] == "close"
    assert "GET /smuggled" not in server.app.asked
    for each in answers:
        if each.status != 200:
            assert set(each.json()) == {"message", "code"}
            assert each.headers["error-code"] == each.json()["code"]
            assert each.headers["content-type"] == "application/json"


def test_what_was_sent_is_not_repeated_in_a_refusal(server: Running) -> None:
    (answer,) = server.send(GET + b"X-SERVICE-AUTH: ley_secret\x01\r\n\r\n")
    assert b"secret" not in answer.body


def test_pieces_of_one_byte_make_the_same_request(server: Running) -> None:
    with server.caller() as caller:
        for byte in CHUNKED + b"3\r\nabc\r\n0\r\n\r\n":
            caller.send(bytes([byte]))
        answer = caller.read()
    assert answer is not None
    assert answer.json() == {"path": "/harbour", "size": 3}


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        (b"Content-Length: 3\r\n", b"abc"),
        (b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n0\r\n\r\n"),
    ],
    ids=["measured", "chunked"],
)
@pytest.mark.parametrize("apart", ["at once", "head and body", "bytes"])
def test_a_body_arrives_although_its_sender_would_rather_speak_h2c(
    server: Running, framing: bytes, body: bytes, apart: str
) -> None:
    head = POST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + framing + END
    pieces = {
        "at once": [head + body + SMUGGLED],
        "head and body": [head, body],
        "bytes": [bytes([each]) for each in head + body],
    }[apart]
    server.app.asked.clear()
    (answer,) = server.send(*pieces)
    assert (answer.status, answer.json()["size"]) == (200, 3)
    assert server.app.asked == ["POST /harbour"]


@pytest.mark.parametrize(
    "body",
    [
        b"3\r\nabcXX0\r\n\r\n",
        b"3\nabc\n0\n\n",
        b"3\r\nabc\r\n0\r\nX-More: 1\r\n\r\n",
        b"40001\r\n" + b"x" * 0x40001 + b"\r\n0\r\n\r\n",
    ],
    ids=["no end of a chunk", "bare line feeds", "trailers", "too much"],
)
def test_such_a_body_is_read_as_strictly(server: Running, body: bytes) -> None:
    head = CHUNKED.removesuffix(END) + b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + END
    server.app.asked.clear()
    (answer,) = server.send(head + body + SMUGGLED)
    assert answer.status in {400, 413}
    assert server.app.asked == []


def test_the_path_comes_both_raw_and_read(server: Running) -> None:
    (answer,) = server.send(b"GET /a%2fb%20c?light=1&x=%20 HTTP/1.1\r\n" + HEAD + END)
    assert answer.json()["path"] == "/a/b c"
