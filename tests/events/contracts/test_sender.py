"""What everybody who sends webhooks must do, the fake included."""

import ipaddress
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest

from leyden.events.rules.deliveries import Answer
from leyden.events.rules.webhook_urls import Allowed
from leyden.events.webhooks.base import Sender
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import HttpSender
from tests.events.webhooks.conftest import Receiver
from tests.fakes.sender import FakeSender

SECRET = "3f" * 24


class World(Protocol):
    """A sender, and the receivers that it can reach."""

    sender: Sender

    def receiver(self, *, status: int, says: str = "", wait: str = "") -> str: ...

    def gone(self) -> str: ...

    def received(self, url: str) -> list[tuple[str, bytes]]: ...


class FakeWorld:
    def __init__(self) -> None:
        self.sender: Sender
        self.fake = self.sender = FakeSender()

    def receiver(self, *, status: int, says: str = "", wait: str = "") -> str:
        url = f"https://{len(self.fake.answers)}.harbour.test/"
        self.fake.answers[url] = Answer(status=status, excerpt=says, retry_after=wait)
        return url

    def gone(self) -> str:
        self.fake.answers["https://gone.test/"] = Answer(error="nobody is there")
        return "https://gone.test/"

    def received(self, url: str) -> list[tuple[str, bytes]]:
        return [
            (each.headers["webhook-id"], each.body)
            for each in self.fake.received
            if each.url == url
        ]


class RealWorld:
    def __init__(self, stack: ExitStack) -> None:
        loopback = ipaddress.ip_network("127.0.0.0/8")
        allowed = Allowed(schemes=frozenset({"http"}), ports=range(1, 65_536))
        self.sender: Sender = HttpSender(Egress(exceptions=[loopback]), allowed=allowed)
        self._stack = stack
        self._receivers: dict[str, Receiver] = {}

    def receiver(self, *, status: int, says: str = "", wait: str = "") -> str:
        answer = (
            f"HTTP/1.1 {status} Said\r\nRetry-After: {wait}\r\n"
            f"Content-Length: {len(says)}\r\n\r\n{says}"
        )
        receiver = self._stack.enter_context(Receiver(answer.encode()))
        self._receivers[receiver.url] = receiver
        return receiver.url

    def gone(self) -> str:
        with Receiver(b"") as receiver:
            return receiver.url

    def received(self, url: str) -> list[tuple[str, bytes]]:
        return [
            (head.split(b"webhook-id: ")[1].split(b"\r\n")[0].decode(), body)
            for head, _, body in (
                request.partition(b"\r\n\r\n")
                for request in self._receivers[url].requests
            )
        ]


@pytest.fixture(params=["fake", "http"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        yield FakeWorld() if request.param == "fake" else RealWorld(stack)


def headers(event_id: str) -> dict[str, str]:
    return {"Service-Secret": SECRET, "webhook-id": event_id}


@pytest.mark.parametrize("status", [200, 204, 302, 400, 410, 500])
async def test_whatever_a_receiver_answers_is_an_answer(
    world: World, status: int
) -> None:
    url = world.receiver(status=status)
    async with world.sender.open(url, "harbour") as line:
        answer = await line.post(headers("msg_tide"), b"{}")
    assert (answer.status, answer.error) == (status, "")


async def test_words_and_waiting_times_are_passed_on(world: World) -> None:
    url = world.receiver(status=503, says="at lunch", wait="77")
    async with world.sender.open(url, "harbour") as line:
        answer = await line.post(headers("msg_tide"), b"{}")
    assert (answer.excerpt, answer.retry_after) == ("at lunch", "77")


async def test_a_receiver_that_is_not_there_raises_nothing(world: World) -> None:
    async with world.sender.open(world.gone(), "harbour") as line:
        answer = await line.post(headers("msg_tide"), b"{}")
    assert answer.status is None
    assert answer.error


async def test_events_arrive_whole_and_in_the_order_in_which_they_were_sent(
    world: World,
) -> None:
    url = world.receiver(status=200)
    other = world.receiver(status=200)
    async with (
        world.sender.open(url, "harbour") as line,
        world.sender.open(other, "harbour"),
    ):
        for number in range(3):
            await line.post(headers(f"msg_{number}"), b"tide %d" % number)
    assert world.received(url) == [
        (f"msg_{number}", b"tide %d" % number) for number in range(3)
    ]
    assert world.received(other) == []
