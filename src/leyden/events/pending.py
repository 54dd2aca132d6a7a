"""The next event of an endpoint, and what comes of an attempt to deliver it.

A subscription is a place in the log: its next event is the next of its types. Nothing
is superseded or overtaken, so an event that fails holds up its subscription, and no
other, until it was delivered or given up. A node's three events are queued for its
webhook (nodes/node_events.py): a newer status supersedes one that waits, and an event
that was rejected may be overtaken.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.events import log
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, Subscription
from leyden.events.rules import chat
from leyden.events.rules.chat import Format
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.deliveries import (
    Answer,
    DeliveryState,
    Message,
    Verdict,
    next_up,
)
from leyden.events.rules.events import StoredEvent, match_types, types_of
from leyden.events.rules.sentences import sentence
from leyden.schemas.events import LoggedEvent
from leyden.values import asdict

# As many of what waits as tell whether the first is the only one.
_GLANCE: Final = 2


async def find(stores: Stores, kind: str, key: str) -> Subscription | None:
    """Return the endpoint of a task; None if its owner has stopped or deleted it."""
    if kind == NODE_WEBHOOKS:
        return await stores.subscriptions.find_of_node(key)
    found = await stores.subscriptions.find(key)
    return None if found is None or found.stopped else found


async def next_event(
    stores: Stores, to: Subscription, *, now: datetime
) -> tuple[Message | None, bool]:
    """Return the event to send next, and whether no other one is pending."""
    if to.is_of_node:
        return await _next_queued(stores, to.id, now=now)
    return await _next_logged(stores, to)


async def settle(
    tx: Stores,
    to: Subscription,
    message: Message,
    answer: Answer,
    verdict: Verdict,
    *,
    at: datetime,
) -> None:
    """Store an attempt; go on to the next event once this one is done with."""
    subscription = await tx.subscriptions.lock(to.id)
    await tx.subscription_deliveries.add_attempt(to.id, message, answer, verdict, at=at)
    if to.is_of_node or subscription.position not in {
        message.after,
        message.number - 1,
    }:
        return  # queued, or sent by hand, or its owner has moved it meanwhile
    done = verdict.state is not DeliveryState.PENDING
    await tx.subscriptions.move(
        to.id,
        message.number - (not done),
        attempts=0 if done else message.attempts + 1,
        due=verdict.due,
    )


async def resume(
    tx: Stores, to: Subscription, *, now: datetime, patience: timedelta
) -> None:
    """Send what waits for an endpoint that was paused; not what is stale of a node."""
    if to.is_of_node:
        await tx.subscription_deliveries.give_up(to.id, before=now - patience)
        await tx.subscription_deliveries.make_due(to.id, now=now)
    await tx.tasks.put(to.task, to.id, due=now)


def written(format_: Format, event: LoggedEvent, **more: object) -> str:
    """Return an event as this kind of endpoint gets it."""
    if format_.is_chat:
        text = sentence(event.type, event.data)
        return chat.message(format_, f"Test: {text}" if more else text)
    return log.encode(asdict(event) | more if more else event).decode()


async def _next_queued(
    stores: Stores, node_id: str, *, now: datetime
) -> tuple[Message | None, bool]:
    pending = await stores.subscription_deliveries.pending(node_id, limit=_GLANCE)
    # Nearly always the first one's time has come; else one behind it may be sooner.
    if len(pending) == _GLANCE and pending[0].due > now and pending[0].overtakable:
        pending = await stores.subscription_deliveries.pending(node_id)
    return next_up(pending, now), len(pending) == 1


async def _next_logged(stores: Stores, to: Subscription) -> tuple[Message | None, bool]:
    # Another run, or its owner, may have moved it.
    subscription = await stores.subscriptions.find(to.id)
    if subscription is None or subscription.stopped:
        return None, False
    known = types_of(subscription.organization_id)
    types = match_types(subscription.types, among=known, known=known)
    after = Cursor(subscription.position, "")
    while True:
        part = await log.read(stores, to.organization_id, types, after=after, limit=2)
        if part.events:
            is_last = len(part.events) == 1 and not part.has_more
            return _message(part.events[0], subscription), is_last
        if not part.has_more:
            return None, False
        after = part.cursor


def _message(event: StoredEvent, subscription: Subscription) -> Message:
    is_tried = subscription.attempts > 0 and event.number == subscription.position + 1
    return Message(
        id=event.id,
        number=event.number,
        type=event.type,
        body=written(subscription.format, log.item(event)),
        created=event.created,
        state=DeliveryState.PENDING,
        due=subscription.due if is_tried else event.created,
        attempts=subscription.attempts if is_tried else 0,
        after=subscription.position,
    )
