"""Fake receivers with configurable answers, for tests."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from leyden.events.rules.deliveries import Answer
from leyden.values import Struct, field

OK = Answer(status=200)


class Received(Struct, frozen=True, kw_only=True):
    """An event as a receiver got it."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class FakeSender(Struct):
    """A sender that delivers in memory.

    `answers` sets what each URL answers; other URLs answer 200. A function is
    called each time, and may wait, or fail as real code would.
    """

    answers: dict[str, Answer | Callable[[Received], Awaitable[Answer]]] = field(
        default_factory=dict
    )
    received: list[Received] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def open(
        self, url: str, organization_id: str
    ) -> AsyncIterator["FakeConnection"]:
        """Open a connection to a receiver that exists only in `answers`."""
        del organization_id  # what is in memory needs no share of anything
        yield FakeConnection(self, url)


class FakeConnection(Struct):
    """A connection that records what is sent."""

    sender: FakeSender
    url: str

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Record the event and return the configured answer."""
        event = Received(url=self.url, headers=dict(headers), body=body)
        self.sender.received.append(event)
        answer = self.sender.answers.get(self.url, OK)
        return answer if isinstance(answer, Answer) else await answer(event)
