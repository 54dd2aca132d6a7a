"""Slow callers, silent callers, too many callers: the others do not notice them."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from leyden.base.http.connections import ConnectionLimits
from leyden.base.rules.addresses import rate_limit_key
from tests.base.api.wire import Echo, Running, running, until

HEAD = b"Host: leyden.example\r\n"
ASK = b"GET /harbour HTTP/1.1\r\n" + HEAD + b"\r\n"
SLOW = b"GET /slow HTTP/1.1\r\n" + HEAD + b"\r\n"
POST = b"POST /harbour HTTP/1.1\r\n" + HEAD
IMPATIENT = ConnectionLimits(
    header_s=0.2,
    body_s=0.2,
    body_rate=1_000_000,
    idle_s=0.3,
    send_s=0.5,
    linger_s=0.5,
    look_every_s=0.02,
)


@pytest.fixture
def server() -> Iterator[Running]:
    with running(Echo(), limits=IMPATIENT, grace_s=0.2) as it:
        yield it


@pytest.mark.parametrize(
    ("begun", "message"),
    [
        (b"GET /har", "the request's headers took too long"),
        (ASK[:-2], "the request's headers took too long"),
        (POST + b"Content-Length: 9\r\n\r\n", "the request's body took too long"),
        (POST + b"Content-Length: 9\r\n\r\nabc", "the request's body took too long"),
        (
            POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab",
            "the request's body took too long",
        ),
    ],
)
def test_who_stops_in_the_middle_is_told_408(
    server: Running, begun: bytes, message: str
) -> None:
    with server.caller() as caller:
        caller.send(begun)
        (answer,) = caller.read_all(quiet_s=5)
    assert (answer.status, answer.json()) == (
        408,
        {"message": message, "code": "request_timeout"},
    )
    assert answer.closed
    assert server.app.asked == []


def test_a_byte_now_and_then_does_not_put_the_end_off(server: Running) -> None:
    with server.caller() as caller:
        caller.send(b"GET /harbour HTTP/1.1\r\nX-Light: ")
        began = time.monotonic()
        while not caller.is_closed(0.05):
            caller.send(b"a")
            assert time.monotonic() - began < 30


def test_a_body_that_comes_fast_enough_may_take_longer_than_a_slow_one() -> None:
    limits = ConnectionLimits(body_s=0.1, body_rate=100, look_every_s=0.02)
    with running(Echo(), limits=limits) as server, server.caller() as caller:
        caller.send(POST + b"Content-Length: 200\r\n\r\n" + b"a" * 100)
        assert not caller.is_closed(0.4)
        caller.send(b"a" * 100)
        answer = caller.read()
    assert answer is not None
    assert answer.status == 200


@pytest.mark.parametrize("before", [b"", b"\r\n", ASK])
def test_who_says_nothing_is_let_go_without_a_word(
    server: Running, before: bytes
) -> None:
    with server.caller() as caller:
        caller.send(before)
        if before == ASK:
            assert caller.read() is not None
        assert caller.read() is None


@pytest.mark.parametrize("path", ["/large", "/endless"])
def test_who_does_not_take_the_answer_is_let_go(server: Running, path: str) -> None:
    with server.caller() as caller:
        caller.send(b"GET %b HTTP/1.1\r\n" % path.encode() + HEAD + b"\r\n")
        until(lambda: server.app.asked == [f"GET {path}"])
        until(lambda: len(server.connections) == 0)


def test_the_time_an_application_takes_is_not_the_callers_fault(
    server: Running,
) -> None:
    with server.caller() as caller:
        caller.send(SLOW)
        assert not caller.is_closed(1)
        server.app.released.set()
        answer = caller.read()
    assert answer is not None
    assert answer.status == 200


def test_an_endless_body_is_refused_and_ends(server: Running) -> None:
    with server.caller() as caller:
        caller.send(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        stopped = threading.Event()

        def pour() -> None:
            try:
                while not stopped.is_set():
                    caller.socket.sendall(b"1000\r\n" + b"a" * 4096 + b"\r\n")
            except OSError:
                pass

        pourer = threading.Thread(target=pour)
        pourer.start()
        answer = caller.read()
        until(lambda: len(server.connections) == 0)
        stopped.set()
        pourer.join()
    assert answer is not None
    assert answer.status == 413
    assert server.app.asked == []


def test_an_application_never_takes_half_a_body_for_the_whole(
    server: Running,
) -> None:
    for rest in (b"Content-Length: 9\r\n\r\nabc", b"Content-Length: 9\r\n\r\n"):
        with server.caller() as caller:
            caller.send(POST + rest)
    until(lambda: len(server.app.broken) == 2)
    with server.caller() as caller:
        caller.send(POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nX")
        (answer,) = caller.read_all()
        assert answer.status == 400
    until(lambda: len(server.app.broken) == 3)
    assert server.app.asked == []


def test_an_application_hears_at_once_that_the_rest_was_refused() -> None:
    with (
        running(Echo(), limits=ConnectionLimits(linger_s=60)) as server,
        server.caller() as caller,
    ):
        caller.send(POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nX")
        until(lambda: server.app.broken == ["/harbour"])


@pytest.mark.parametrize("rudely", [False, True])
@pytest.mark.parametrize("more", [b"", ASK])
def test_an_application_hears_that_the_caller_left(
    server: Running, more: bytes, *, rudely: bool
) -> None:
    with server.caller() as caller:
        caller.send(b"GET /watch HTTP/1.1\r\n" + HEAD + b"\r\n" + more)
        until(lambda: server.app.begun == ["/watch"])
        if rudely:  # with a reset instead of an end
            at_once = struct.pack("ii", 1, 0)
            caller.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    until(lambda: server.app.broken == ["/watch"])


def test_half_a_body_and_no_more_to_come_is_told_400(server: Running) -> None:
    with server.caller() as caller:
        caller.send(POST + b"Content-Length: 9\r\n\r\nabc")
        caller.socket.shutdown(socket.SHUT_WR)
        (answer,) = caller.read_all()
    assert answer.json()["message"] == "the request is incomplete"


def test_who_sends_no_more_still_gets_the_answers(server: Running) -> None:
    with server.caller() as caller:
        caller.send(SLOW + ASK)
        caller.socket.shutdown(socket.SHUT_WR)
        server.app.released.set()
        answers = caller.read_all()
    assert [each.status for each in answers] == [200, 200]
    assert answers[-1].closed


def test_a_refusal_waits_for_the_answers_before_it(server: Running) -> None:
    with server.caller() as caller:
        caller.send(SLOW + b"GET /\r\n\r\n")
        assert not caller.is_closed(0.1)
        server.app.released.set()
        answers = caller.read_all()
    assert [each.status for each in answers] == [200, 400]


def test_too_many_requests_ahead_of_their_answers_are_not_kept() -> None:
    with running(Echo(), limits=ConnectionLimits(pipelined=3)) as server:
        with server.caller() as caller:
            caller.send(SLOW + ASK * 1000)
            server.app.released.set()
            answers = caller.read_all()
        assert [each.status for each in answers] == [200, 200, 200, 200, 400]


def test_100_continue_comes_only_when_the_body_is_wanted(server: Running) -> None:
    expects = b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    with server.caller() as caller:
        caller.send(POST + expects)
        go_on = caller.read()
        assert go_on is not None
        assert go_on.status == 100
        caller.send(b"abc")
        answer = caller.read()
    assert answer is not None
    assert answer.json()["size"] == 3
    with server.caller() as caller:
        caller.send(b"POST /early HTTP/1.1\r\n" + HEAD + expects)
        (answer,) = caller.read_all()
    assert answer.status == 200
    assert answer.headers["connection"] == "close"
    with server.caller() as caller:
        caller.send(POST + expects.replace(b": 3", b": 999999"))
        (answer,) = caller.read_all()
    assert answer.status == 413


def test_an_answer_before_the_body_is_not_lost_to_the_rest_of_it(
    server: Running,
) -> None:
    with server.caller() as caller:
        caller.send(
            b"POST /early HTTP/1.1\r\n" + HEAD + b"Content-Length: 200000\r\n\r\n"
        )
        answer = caller.read()
        caller.send(b"a" * 200_000)
        assert caller.is_closed()
    assert answer is not None
    assert answer.status == 200
    assert answer.headers["connection"] == "close"


def test_a_failing_application_answers_in_json(server: Running) -> None:
    (answer,) = server.send(b"GET /fails HTTP/1.1\r\n" + HEAD + b"\r\n")
    assert answer.status == 500
    assert answer.json()["message"] == "internal error; it has been logged"
    assert answer.headers["error-code"] == "internal_error"


def test_five_hundred_slow_callers_do_not_delay_the_others() -> None:
    with running(Echo()) as server, ExitStack() as slow:

        def ask() -> float:
            began = time.perf_counter()
            (answer,) = server.send(
                ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            )
            assert answer.status == 200
            return time.perf_counter() - began

        callers = [slow.enter_context(server.caller()) for _ in range(500)]
        halves = [b"", b"GET /h", ASK[:-2], POST + b"Content-Length: 99\r\n\r\na"]
        for index, caller in enumerate(callers):
            caller.send(halves[index % 4])
        busy = []
        for round_ in range(40):
            for caller in callers[round_::40]:
                caller.send(b"a")
            busy.append(ask())
        assert len(server.connections) >= 375
        assert max(busy) < 5  # a slow one is waited for longer


def test_the_oldest_silent_caller_makes_room_for_the_next() -> None:
    limits = ConnectionLimits(connections_per_address=3)
    with running(Echo(), limits=limits) as server, ExitStack() as open_:
        busy = open_.enter_context(server.caller())
        busy.send(SLOW)
        until(lambda: server.app.begun == ["/slow"])
        first = open_.enter_context(server.caller())
        until(lambda: len(server.connections) == 2)
        second = open_.enter_context(server.caller())
        until(lambda: len(server.connections) == 3)
        newcomer = open_.enter_context(server.caller())
        newcomer.send(ASK)
        assert newcomer.read() is not None
        assert first.is_closed()
        assert not second.is_closed(0.1)
        assert not busy.is_closed(0.1)
        server.app.released.set()
        assert busy.read() is not None


def test_slow_body_makes_room_for_the_next_caller() -> None:
    """Nothing was done with it yet: a stranger's slow bodies keep nobody out."""
    limits = ConnectionLimits(connections_per_address=3)
    with running(Echo(), limits=limits) as server, ExitStack() as open_:
        busy = open_.enter_context(server.caller())
        busy.send(SLOW)
        until(lambda: server.app.begun == ["/slow"])
        pipelined = open_.enter_context(server.caller())
        pipelined.send(SLOW + POST + b"Content-Length: 9\r\n\r\na")
        until(lambda: server.app.begun == ["/slow"] * 2)
        slow = open_.enter_context(server.caller())
        slow.send(POST + b"Content-Length: 9\r\n\r\na")
        until(lambda: len(server.connections) == 3)
        newcomer = open_.enter_context(server.caller())
        newcomer.send(ASK)
        answer = newcomer.read()
        assert answer is not None
        assert answer.status == 200
        assert slow.is_closed()
        until(lambda: len(server.app.broken) == 1)
        assert not busy.is_closed(0.1)
        assert not pipelined.is_closed(0.1)
        server.app.released.set()


def test_when_all_are_busy_the_next_one_is_told_to_wait() -> None:
    for limits in (
        ConnectionLimits(connections_per_address=2),
        ConnectionLimits(connections=2),
    ):
        with running(Echo(), limits=limits) as server, ExitStack() as open_:
            for _ in range(2):
                open_.enter_context(server.caller()).send(SLOW)
            until(lambda: len(server.app.begun) == 2)
            with server.caller() as late:
                answer = late.read()
            assert answer is not None
            assert answer.status == 503
            assert answer.headers["retry-after"] == "1"
            server.app.released.set()


def test_places_of_those_who_left_are_free_again(server: Running) -> None:
    for _ in range(50):
        server.send(ASK[:-4] + b"\r\nConnection: close\r\n\r\n")
    until(lambda: len(server.connections) == 0)


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_an_address_is_counted_by_whose_it_is(address: str, counted: str) -> None:
    assert rate_limit_key(address) == counted


def test_who_leaves_before_the_response_is_no_fault_of_the_application(
    server: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """A caller that waits for events hangs up in the middle of it."""
    with server.caller() as caller:
        caller.send(b"GET /watch HTTP/1.1\r\n" + HEAD + b"\r\n")
        until(lambda: server.app.begun == ["/watch"])
        caller.socket.shutdown(socket.SHUT_WR)
        assert caller.read() is None
    until(lambda: server.app.broken == ["/watch"])
    until(lambda: len(server.connections) == 0)
    assert [each.message for each in caplog.records if each.levelno >= 40] == []
