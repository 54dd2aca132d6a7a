"""The interface to the events of one kind of receivers, for the dispatcher.

The dispatcher is the same for all: signatures, retries, pauses, limits. A node's
receiver and a subscription differ in where their events are kept and which is next.
"""

from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from leyden.domain.deliveries import Answer, Message, Pause, Verdict
from leyden.storage.addressees import Addressee
from leyden.storage.stores import Stores

M = TypeVar("M", bound=Message)
A = TypeVar("A", bound=Addressee)


class Mail(Protocol[A, M]):
    """The events of one kind of receivers."""

    async def find(self, stores: Stores, key: str) -> A | None:
        """Return the receiver; None if it does not exist any more."""
        ...

    async def next(
        self, stores: Stores, to: A, *, now: datetime
    ) -> tuple[M | None, bool]:
        """Return the event to send next, and whether no other one is pending."""
        ...

    async def settle(
        self,
        tx: Stores,
        to: A,
        message: M,
        answer: Answer,
        verdict: Verdict,
        *,
        at: datetime,
    ) -> None:
        """Store an attempt, and what it means for the event."""
        ...

    async def set_health(
        self, tx: Stores, to: A, *, failing_since: datetime | None, pause: Pause | None
    ) -> None:
        """Store the receiver's health."""
        ...

    async def resume(
        self, tx: Stores, to: A, *, now: datetime, patience: timedelta
    ) -> None:
        """Send what waits for a receiver that was paused."""
        ...
