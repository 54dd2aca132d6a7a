"""The dispatcher: delivers events to endpoints, of organizations and of nodes.

1. Look up the next event for the endpoint (pending.py).
2. Send it, with no transaction open, over a connection that lasts for the
   whole run.
3. Save the result, together with what follows: the next event, a later
   attempt, a paused receiver, or the end of the run.

If killed between 2 and 3, the event is sent once more under the same id.
"""

import logging
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Histogram

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.rules.times import Clock
from leyden.base.tasks.steps import ClaimedTask
from leyden.events import pending
from leyden.events.limits import Concurrency, ManualLimit
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, Subscription
from leyden.events.rules.deliveries import (
    PATIENCE,
    RETRIES,
    Answer,
    DeliveryState,
    Message,
    Verdict,
    judge,
)
from leyden.events.rules.webhook_urls import USUAL, Allowed
from leyden.events.rules.webhooks import signature_headers
from leyden.events.webhooks.base import ReceiverConnection, Sender
from leyden.values import Struct, field, replace

_DELIVERY: Final = Histogram(
    "leyden_webhook_fact_to_delivery_seconds",
    "From a fact until its receiver took the event, attempts that failed included.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600, 86400),
)

log = logging.getLogger(__name__)

FORGETTING = "forget webhooks"  # a kind of task
RETIRED = "webhooks"  # a kind of task of the release before this one
_FORGET_EVERY = timedelta(hours=1)
_FORGOTTEN_AT_ONCE = 500
# A run ends after so many events, or so long: the URL may have changed.
_MAX_EVENTS = 50
_LONGEST_RUN = timedelta(seconds=10)
# Concurrent runs; an organization may have at most half of them, and further runs of
# it are rescheduled for a moment later.
AT_ONCE = 2_048
_PUT_OFF = timedelta(seconds=1)


class DispatcherSettings(Struct, frozen=True, kw_only=True):
    """The rules for sending webhooks."""

    retries: tuple[timedelta, ...] = RETRIES
    patience: timedelta = PATIENCE
    # A replaced secret signs beside the new one for this long.
    old_secret_signs: timedelta = timedelta(days=1)
    keeps_deliveries: timedelta = timedelta(days=30)
    allowed: Allowed = USUAL


class Dispatcher(Struct, frozen=True, kw_only=True):
    """The dependencies of deliveries, wired by app.py and passed down."""

    database: Database
    sealer: Sealer
    sender: Sender
    clock: Clock
    jitter: Callable[[], float] = random.random
    rules: DispatcherSettings = field(default_factory=DispatcherSettings)
    concurrency: Concurrency = field(default_factory=lambda: Concurrency(AT_ONCE))
    manual_limit: ManualLimit = field(default_factory=ManualLimit)


async def deliver(dispatcher: Dispatcher, due: ClaimedTask) -> None:
    """Deliver an endpoint's pending events, in order, as long as accepted.

    Postponed for a moment if the organization has its fair share in flight.
    """
    receiver = await pending.find(dispatcher.database.reader, due.claim.kind, due.key)
    if receiver is None or receiver.pause is not None or not receiver.url:
        return
    with dispatcher.concurrency.enter(receiver.organization_id) as entered:
        if entered:
            await _run_next(dispatcher, due, receiver)
            return
    async with due.transaction() as tx:
        await due.reschedule(tx, due=dispatcher.clock() + _PUT_OFF)


async def _run_next(
    dispatcher: Dispatcher, due: ClaimedTask, receiver: Subscription
) -> None:
    reader = dispatcher.database.reader
    begun = dispatcher.clock()
    event, alone = await pending.next_event(reader, receiver, now=begun)
    if event is None:
        return
    until = begun + _LONGEST_RUN
    secrets = open_secrets(dispatcher, receiver, now=begun)
    url = url_of(dispatcher, receiver)
    async with dispatcher.sender.open(url, receiver.organization_id) as line:
        for _ in range(_MAX_EVENTS):
            if event.due > begun or begun > until:
                break
            answer = await send(line, receiver, secrets, event, now=begun)
            now = dispatcher.clock()
            former = receiver
            async with due.transaction() as tx:
                # The task before its events, as `node_events.announce` locks them.
                await tx.tasks.lock(due.claim)
                receiver = await record(
                    dispatcher, tx, receiver, event, answer, at=begun
                )
                # What was announced meanwhile has made the task due once more.
                if receiver.pause is not None or (alone and answer.is_success):
                    await due.done(tx)
                    return
            # Not in the transaction: it may be far away in a long log.
            event, alone = await pending.next_event(reader, receiver, now=now)
            if event is None:
                return
            if event.due > now or is_moved(former, receiver):
                break
            begun = now
    async with due.transaction() as tx:
        await due.reschedule(tx, due=event.due)


async def prune(dispatcher: Dispatcher, due: ClaimedTask) -> None:
    """Delete events and their attempts that are past retention."""
    now = dispatcher.clock()
    async with due.transaction() as tx:
        forgotten = await tx.subscription_deliveries.prune(
            before=now - dispatcher.rules.keeps_deliveries, limit=_FORGOTTEN_AT_ONCE
        )
        full = forgotten == _FORGOTTEN_AT_ONCE
        for node_id in await tx.retired_webhooks.nodes(limit=_FORGOTTEN_AT_ONCE):
            await tx.tasks.put(RETIRED, node_id, due=now)
        await due.reschedule(tx, due=now if full else now + _FORGET_EVERY)


async def retire(dispatcher: Dispatcher, due: ClaimedTask) -> None:
    """Take over what the release before this one stored for a node's webhook."""
    now, node_id = dispatcher.clock(), due.key
    async with due.transaction() as tx:
        await tx.tasks.put(NODE_WEBHOOKS, node_id, due=now)
        await tx.subscriptions.keep_of_node(node_id, now=now)
        await tx.retired_webhooks.move(node_id)
        await due.done(tx)


async def send(
    line: ReceiverConnection,
    to: Subscription,
    secrets: list[str],
    event: Message,
    *,
    now: datetime,
) -> Answer:
    """Send one event; programs get it signed with the current time.

    A node's webhook also gets the secret itself, as the API requires.
    """
    if not to.is_signed:
        return await line.post({"Content-Type": to.content_type}, event.body.encode())
    headers = signature_headers(secrets, event_id=event.id, sent=now, body=event.body)
    if not to.is_of_node:
        del headers["Service-Secret"]
    return await line.post(headers, event.body.encode())


async def record(
    dispatcher: Dispatcher,
    tx: Stores,
    receiver: Subscription,
    event: Message,
    answer: Answer,
    *,
    at: datetime,
) -> Subscription:
    """Save an attempt and its effect on the event; return the new receiver.

    A delivered event stays delivered, and a failure does not make an event
    pending again: both happen when an event is redelivered by hand. A failure at a URL
    that was replaced meanwhile says nothing about the new one, which gets the event.
    """
    if not answer.is_success:
        present = await pending.find(tx, receiver.task, receiver.id)
        if present is not None and is_moved(receiver, present):
            again = Verdict(state=DeliveryState.PENDING, due=dispatcher.clock())
            await pending.settle(tx, receiver, event, answer, again, at=at)
            return present
    verdict = judge(
        answer,
        attempt=event.attempts + 1,
        created=event.created,
        now=dispatcher.clock(),
        failing_since=receiver.failing_since,
        jitter=dispatcher.jitter(),
        retries=dispatcher.rules.retries,
        patience=dispatcher.rules.patience,
    )
    await pending.settle(tx, receiver, event, answer, verdict, at=at)
    _log_outcome(receiver, event, answer, verdict)
    is_first = event.state is DeliveryState.PENDING and not event.test
    if verdict.state is DeliveryState.DELIVERED and is_first:
        _DELIVERY.observe((dispatcher.clock() - event.created).total_seconds())
    since = None if answer.is_success else receiver.failing_since or at
    pause = None if answer.is_success else verdict.pause or receiver.pause
    if (since, pause) == (receiver.failing_since, receiver.pause):
        return receiver
    await tx.subscriptions.set_health(receiver.id, failing_since=since, pause=pause)
    if receiver.pause is not None and pause is None:
        patience = dispatcher.rules.patience
        await pending.resume(tx, receiver, now=at, patience=patience)
    return replace(receiver, failing_since=since, pause=pause)


def url_of(dispatcher: Dispatcher, receiver: Subscription) -> str:
    """Return the URL to send to, which may be a secret."""
    if receiver.sealed_endpoint is None:
        return receiver.url
    sealed, purpose = receiver.sealed_endpoint
    return dispatcher.sealer.open(sealed, purpose=purpose).decode()


def open_secrets(
    dispatcher: Dispatcher, receiver: Subscription, *, now: datetime
) -> list[str]:
    """Return the secret, followed by the previous one while it still signs."""
    purpose = receiver.purpose
    opened = [dispatcher.sealer.open(receiver.sealed_secret, purpose=purpose)]
    old, until = receiver.sealed_old_secret, receiver.old_secret_until
    if old is not None and until is not None and now < until:
        opened.append(dispatcher.sealer.open(old, purpose=receiver.old_purpose))
    return [secret.decode() for secret in opened]


def is_moved(before: Subscription, after: Subscription) -> bool:
    """Return whether the receiver has another URL."""
    return (before.url, before.sealed_endpoint) != (after.url, after.sealed_endpoint)


def _log_outcome(
    receiver: Subscription, event: Message, answer: Answer, verdict: Verdict
) -> None:
    if verdict.state is DeliveryState.DELIVERED:
        return  # kept with its attempts; a line each would be most of the log
    webhook, why = event.id, answer.error or answer.status
    extra = {**receiver.named, "type": event.type, "webhook": webhook, "why": why}
    match verdict.state:
        case DeliveryState.PENDING:
            again = verdict.due.isoformat(timespec="seconds")
            log.info("webhook failed", extra={**extra, "again": again})
        case _:
            log.warning("webhook given up", extra=extra)
    if verdict.pause is not None:
        log.warning(
            "receiver of webhooks paused",
            extra={**receiver.named, "why": verdict.pause},
        )
