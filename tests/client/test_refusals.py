"""What the library does when it is refused, made to wait, or cut off."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from leyden import __version__
from leyden.client import ApiError, Client
from leyden.client.wire import Server, address
from tests.client.served_platform import ServedPlatform
from tests.nodes.api.nodes.conftest import FOREIGN, NEW_NODE

pytestmark = pytest.mark.usefixtures("client_class")
CAPACITY = 1_000_000


def instead(status: int, **headers: str) -> Any:
    """Answer this instead of asking the platform."""

    async def answer(_: Any, send: Any) -> bool:
        body = json.dumps({"message": "a moment, please"}).encode()
        named = {**headers, "content_length": str(len(body))}
        shown = [(n.replace("_", "-").encode(), v.encode()) for n, v in named.items()]
        await send({"type": "http.response.start", "status": status, "headers": shown})
        await send({"type": "http.response.body", "body": body})
        return True

    return answer


def whole_message(connection: socket.socket) -> bytes:
    """Read one request or answer, to its end."""
    connection.settimeout(5)
    message = b""
    while b"\r\n\r\n" not in message:
        message += connection.recv(65536)
    head, _, body = message.partition(b"\r\n\r\n")
    size = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    while len(body) < (int(size[1]) if size else 0):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@contextmanager
def losing(platform: ServedPlatform, times: int) -> Iterator[tuple[str, list[bytes]]]:
    """A way to the platform on which the first answers are lost; what was sent."""
    host, port = address(platform.url.removeprefix("http://"))
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)
    sent: list[bytes] = []

    def carry() -> None:
        left = times
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            with near, socket.create_connection((host, port)) as far:
                sent.append(whole_message(near))
                far.sendall(sent[-1])
                answer = whole_message(far)
                if left:
                    left -= 1
                else:
                    near.sendall(answer)

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", sent
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def test_a_refusal_has_a_status_and_the_platforms_own_words(leyden: Client) -> None:
    with pytest.raises(ApiError) as refused:
        leyden.nodes.get(FOREIGN)
    assert (refused.value.status, refused.value.message) == (404, "not found")
    with pytest.raises(ApiError) as refused:
        leyden.flow.quote(7)
    assert refused.value.status == 400
    assert refused.value.message.startswith("capacity: ")


def test_a_wrong_key_is_not_shown(platform: ServedPlatform) -> None:
    for key in ("leyden_wrong", "two words", "a\nline", "", "schlüssel"):
        with platform.client(key=key) as leyden, pytest.raises(ApiError) as refused:
            leyden.key()
        assert refused.value.status in {0, 401}
        assert not key or key not in str(refused.value)
        assert not key or key not in repr(vars(leyden))


@pytest.mark.parametrize("word", ["..", "a/b", "%2e%2e", "a?b=c", "a#b", "ü", "\n"])
def test_no_word_leads_elsewhere(leyden: Client, word: str) -> None:
    with pytest.raises(ApiError) as refused:
        leyden.nodes.get(word)
    assert refused.value.status == 404


def test_it_waits_as_long_as_it_is_asked_to_once(
    platform: ServedPlatform, leyden: Client
) -> None:
    for status in (429, 503):
        platform.before = [instead(status, retry_after="1")]
        began = time.monotonic()
        assert leyden.flow.balance() is not None
        assert time.monotonic() - began >= 1
    platform.before = [instead(429, retry_after="1"), instead(429, retry_after="7")]
    with pytest.raises(ApiError, match="a moment, please") as refused:
        leyden.flow.balance()
    assert (refused.value.status, refused.value.retry_after_s) == (429, 7)
    assert not platform.before


def test_it_does_not_wait_for_long(platform: ServedPlatform) -> None:
    platform.before = [instead(503, retry_after="3600")]
    with platform.client() as leyden, pytest.raises(ApiError) as refused:
        leyden.flow.balance()
    assert refused.value.retry_after_s == 3600


def test_what_must_not_be_done_twice_is_not_tried_twice(
    platform: ServedPlatform,
) -> None:
    leyden = platform.client(organization=platform.organization_id)
    platform.before = [instead(503, retry_after="1")]
    platform.requests.clear()
    with leyden, pytest.raises(ApiError) as refused:
        leyden.nodes.restart(FOREIGN)
    assert (refused.value.status, len(platform.requests)) == (503, 1)
    platform.before = [instead(429, retry_after="1")]
    with leyden, pytest.raises(ApiError) as refused:
        leyden.nodes.restart(FOREIGN)
    assert refused.value.status == 404, "a 429 means that nothing was done"


def test_an_order_whose_answer_is_lost_is_made_once(platform: ServedPlatform) -> None:
    with platform.client() as leyden:
        before = len(list(leyden.flow.orders()))
        with losing(platform, 1) as (url, sent):
            with platform.client(url=url) as unlucky:
                made = unlucky.flow.create(CAPACITY)
            first, second = (each.split(b"\r\n\r\n")[0] for each in sent)
            assert first == second
            assert b"Idempotency-Key: " in first
        orders = list(leyden.flow.orders())
        assert len(orders) == before + 1
        assert orders[0].order_id == made.order_id


def test_an_order_that_is_still_being_made_is_asked_for_again(
    platform: ServedPlatform, leyden: Client
) -> None:
    """As where the connection was lost, but not the request; a key is made up once."""
    platform.before = [instead(409, retry_after="1")]
    began = time.monotonic()
    made = leyden.flow.create(CAPACITY)
    assert time.monotonic() - began >= 1
    assert made.order_id == next(leyden.flow.orders()).order_id
    platform.before = [instead(409)]  # of another kind
    with pytest.raises(ApiError, match="a moment, please") as refused:
        leyden.flow.create(CAPACITY)
    assert refused.value.status == 409


def test_a_command_whose_answer_is_lost_is_not_repeated(
    platform: ServedPlatform,
) -> None:
    with losing(platform, 9) as (url, sent):
        lost = platform.client(url=url, organization=platform.organization_id)
        with (
            lost,
            pytest.raises(ApiError, match="it closed the connection"),
        ):
            lost.nodes.restart(FOREIGN)
        assert len(sent) == 1
        with lost, pytest.raises(ApiError):
            lost.flow.balance()
        assert len(sent) == 3


def test_the_same_key_gives_the_same_node(leyden: Client) -> None:
    wish: Any = {"settings": NEW_NODE["settings"], "key": "tide-7"}
    first = leyden.nodes.create("tide light", **wish)
    assert leyden.nodes.create("tide light", **wish) == first


def test_pages_are_turned(leyden: Client) -> None:
    made = [leyden.flow.create(CAPACITY).order_id for _ in range(5)]
    found = [order.order_id for order in leyden.flow.orders(at_a_time=2)]
    assert found[:5] == made[::-1]
    assert len(set(found)) == len(found)


def test_money_is_listed_to_the_first_line(
    platform: ServedPlatform, leyden: Client
) -> None:
    for _ in range(3):
        leyden.flow.redeem(platform.coupon(700))
    entries = list(leyden.flow.ledger(at_a_time=1))
    assert len(entries) == len(list(leyden.flow.ledger())) >= 3
    assert entries == sorted(entries, key=lambda entry: -entry.id)


def test_a_name_is_reached_where_it_is_told(platform: ServedPlatform) -> None:
    _, port = address(platform.url.removeprefix("http://"))
    with platform.client(
        url="http://api.harbour.invalid", connect=f"127.0.0.1:{port}"
    ) as leyden:
        assert leyden.key().organization_name == "Harbour"
    with platform.client(url="http://api.harbour.invalid") as nowhere:
        with pytest.raises(ApiError, match="its name can't be resolved") as refused:
            nowhere.key()
        assert refused.value.status == 0


def test_a_server_that_hung_up_in_between_is_called_again(
    platform: ServedPlatform,
) -> None:
    with platform.client(organization=platform.organization_id) as leyden:
        leyden.flow.balance()
        platform.before = [instead(200, connection="close")]
        with pytest.raises(ApiError, match="unexpected response"):
            leyden.flow.balance()
        with pytest.raises(ApiError) as refused:
            leyden.nodes.restart(FOREIGN)
        assert refused.value.status == 404


@pytest.mark.parametrize("status", [200, 400, 404, 405])
def test_another_version_is_named_where_the_two_do_not_understand_each_other(
    platform: ServedPlatform, leyden: Client, status: int
) -> None:
    for theirs in ("0.1.7", "1.3.0", "0.9.0.dev0"):
        platform.before = [instead(status, leyden_version=theirs)]
        with pytest.raises(ApiError) as refused:
            leyden.flow.balance()
        assert refused.value.message.endswith(
            f"; the platform has Leyden {theirs}, and this is {__version__}: install "
            f"that version, see {platform.url}/docs/install-the-command"
        )


@pytest.mark.parametrize(
    ("status", "theirs"),
    [
        (400, __version__),
        (404, "0.2.9"),
        (409, "1.0.0"),
        (400, "2.0.0 or newer"),
        (400, "9"),
    ],
)
def test_no_version_is_named_that_explains_nothing(
    platform: ServedPlatform, leyden: Client, status: int, theirs: str
) -> None:
    platform.before = [instead(status, leyden_version=theirs)]
    with pytest.raises(ApiError) as refused:
        leyden.flow.balance()
    assert refused.value.message == "a moment, please"


def test_nobody_at_home(client_class: Callable[..., Client]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            client_class(url, "leyden_key") as leyden,
            pytest.raises(ApiError, match="the connection was refused"),
        ):
            leyden.key()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nnull",
        b"SSH-2.0-harbour\r\n",
        b"",
    ],
)
def test_whoever_answers_something_else_is_named(
    client_class: Callable[..., Client], answer: bytes
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def talk() -> None:
        for _ in range(2):
            try:
                near, _ = listener.accept()
            except OSError:
                return
            with near:
                near.recv(65536)
                near.sendall(answer)

    thread = threading.Thread(target=talk)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with client_class(url, "leyden_key") as leyden, pytest.raises(ApiError) as refused:
        leyden.key()
    assert url in refused.value.message
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.org",
        "ftp://api.example.org",
        "http://",
        "http://user:word@api.example.org",
        "http://api.example.org/?a=b",
        "http://api.example.org:x",
    ],
)
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|[Pp]ort"):
        Server.at(url)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("192.0.2.7:8080", ("192.0.2.7", 8080)),
        ("192.0.2.7", ("192.0.2.7", 0)),
        ("[2001:db8::7]:8080", ("2001:db8::7", 8080)),
        ("2001:db8::7", ("2001:db8::7", 0)),
        ("[2001:db8::7]", ("2001:db8::7", 0)),
        ("gateway.example.org:1", ("gateway.example.org", 1)),
    ],
)
def test_addresses_are_read(written: str, read: tuple[str, int]) -> None:
    assert address(written) == read


@pytest.mark.parametrize("written", ["host:", ":8080", "host:http", "::1]:x"])
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="address"):
        address(written)
