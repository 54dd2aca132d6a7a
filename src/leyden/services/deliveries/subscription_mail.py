"""The events of organizations, on their way to their subscriptions.

A subscription is a place in the log: its next event is the next of its types. Nothing
is superseded or overtaken, so an event that fails holds up its subscription, and no
other, until it was delivered or given up.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden.domain import chat
from leyden.domain.chat import Format
from leyden.domain.cursors import Cursor
from leyden.domain.deliveries import Answer, Pause, State, Verdict
from leyden.domain.events import KeptEvent, match_types, types_of
from leyden.domain.sentences import sentence
from leyden.schemas.events import LoggedEvent
from leyden.services.events import log
from leyden.storage.stores import Stores
from leyden.storage.subscription_deliveries import LoggedMessage
from leyden.storage.subscriptions import SUBSCRIPTIONS, Subscription
from leyden.values import asdict


class SubscriptionMail:
    """What waits for subscriptions."""

    async def find(self, stores: Stores, key: str) -> Subscription | None:
        """Return a subscription that its owner has not stopped."""
        found = await stores.subscriptions.find(key)
        return None if found is None or found.stopped else found

    async def next(
        self, stores: Stores, to: Subscription, *, now: datetime
    ) -> tuple[LoggedMessage | None, bool]:
        """Return the next event of its types, and whether it is the last for now."""
        del now
        # Another run, or its owner, may have moved it.
        place = await stores.subscriptions.find(to.id)
        if place is None or place.stopped:
            return None, False
        known = types_of(place.organization_id)
        types = match_types(place.types, among=known, known=known)
        after = Cursor(place.position, "")
        while True:
            part = await log.read(
                stores, to.organization_id, types, after=after, most=2
            )
            if part.events:
                is_last = len(part.events) == 1 and not part.has_more
                return _message(part.events[0], place), is_last
            if not part.has_more:
                return None, False
            after = part.cursor

    async def settle(
        self,
        tx: Stores,
        to: Subscription,
        message: LoggedMessage,
        answer: Answer,
        verdict: Verdict,
        *,
        at: datetime,
    ) -> None:
        """Store an attempt; go on to the next event once this one is done with."""
        await tx.subscription_deliveries.add_attempt(
            to.id, message, answer, verdict, at=at
        )
        place = await tx.subscriptions.lock(to.id)
        if place.position not in {message.after, message.number - 1}:
            return  # sent by hand, or its owner has moved it meanwhile
        done = verdict.state is not State.PENDING
        await tx.subscriptions.move(
            to.id,
            message.number - (not done),
            attempts=0 if done else message.attempts + 1,
            due=verdict.due,
        )

    async def set_health(
        self,
        tx: Stores,
        to: Subscription,
        *,
        failing_since: datetime | None,
        pause: Pause | None,
    ) -> None:
        """Store the endpoint's health."""
        await tx.subscriptions.set_health(
            to.id, failing_since=failing_since, pause=pause
        )

    async def resume(
        self, tx: Stores, to: Subscription, *, now: datetime, patience: timedelta
    ) -> None:
        """Send what waits for it, from where it was: nothing was superseded."""
        del patience
        await tx.tasks.put(SUBSCRIPTIONS, to.id, due=now)


SUBSCRIPTION_MAIL: Final = SubscriptionMail()


def written(format_: Format, event: LoggedEvent, **more: object) -> str:
    """Return an event as this kind of endpoint gets it."""
    if format_.is_chat:
        text = sentence(event.type, event.data)
        return chat.message(format_, f"Test: {text}" if more else text)
    return log.encode(asdict(event) | more if more else event).decode()


def _message(event: KeptEvent, place: Subscription) -> LoggedMessage:
    logged = log.item(event)
    is_tried = place.attempts > 0 and event.number == place.position + 1
    return LoggedMessage(
        id=event.id,
        number=event.number,
        type=event.type,
        body=written(place.format, logged),
        test=False,
        created=event.created,
        state=State.PENDING,
        due=place.due if is_tried else event.created,
        attempts=place.attempts if is_tried else 0,
        after=place.position,
    )
