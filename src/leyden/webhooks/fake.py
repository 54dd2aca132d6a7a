"""Receivers that answer as they are told to, for tests of everything above them."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from leyden.domain.deliveries import Answer
from leyden.values import Struct, field

OK = Answer(status=200)


class Received(Struct, frozen=True, kw_only=True):
    """One event as a receiver got it."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class FakeSender(Struct):
    """Delivers in memory.

    `answers` says what each URL answers from now on; the others answer 200. A
    function is asked each time and may wait, or fail as real code would.
    """

    answers: dict[str, Answer | Callable[[Received], Awaitable[Answer]]] = field(
        default_factory=dict
    )
    received: list[Received] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def open(self, url: str, organization_id: str) -> AsyncIterator["FakeLine"]:
        """Open a line to a receiver that exists in `answers` alone."""
        del organization_id  # what is in memory needs no share of anything
        yield FakeLine(self, url)


class FakeLine(Struct):
    """A line that remembers what was said."""

    sender: FakeSender
    url: str

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Note the event and answer as told."""
        event = Received(url=self.url, headers=dict(headers), body=body)
        self.sender.received.append(event)
        answer = self.sender.answers.get(self.url, OK)
        return answer if isinstance(answer, Answer) else await answer(event)
