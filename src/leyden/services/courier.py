"""The courier: carries what was announced to the receivers, until they have it.

1. Look what the node's receiver is to be told next.
2. Tell it, with no transaction open, over a line that lasts for the whole errand.
3. Save how that went, together with what follows: the next event, a later attempt,
   a receiver that is paused, or the end of the errand.

Killed between 2 and 3, the event is sent once more under the same id.
"""

import random
from collections.abc import Callable
from datetime import datetime, timedelta

from leyden import logs
from leyden.domain.deliveries import (
    PATIENCE,
    RETRIES,
    Answer,
    State,
    Verdict,
    judge,
    next_up,
)
from leyden.domain.times import Clock
from leyden.domain.webhooks import proof
from leyden.services.by_hand import ByHand
from leyden.services.concurrency import Concurrency
from leyden.services.due import Due
from leyden.services.outfitting import webhook_secret_purpose
from leyden.storage.database import Database
from leyden.storage.nouns import Nouns
from leyden.storage.receivers import Receiver
from leyden.storage.secrets import Sealer
from leyden.storage.webhooks import KeptEvent
from leyden.values import Struct, field, replace
from leyden.webhooks.base import Line, Sender

log = logs.get()

# Kinds of tasks. The first one's key is the node's id.
WEBHOOKS = "webhooks"
FORGETTING = "forget webhooks"
_FORGET_EVERY = timedelta(hours=1)
_FORGOTTEN_AT_ONCE = 500
# After so many events, or so long, an errand makes room: the URL may have changed.
_MOST_EVENTS = 50
_LONGEST_ERRAND = timedelta(seconds=10)
# Errands under way at a time; an organization may have at most half of them. One
# that has more nodes than that to tell of is looked at again a moment later.
AT_ONCE = 2_048
_PUT_OFF = timedelta(seconds=1)
# As many of what waits as tell whether the first is the only one.
_GLANCE = 2


class Rules(Struct, frozen=True, kw_only=True):
    """How webhooks are sent."""

    retries: tuple[timedelta, ...] = RETRIES
    patience: timedelta = PATIENCE
    # A secret that was replaced signs beside the new one for so long.
    old_secret_signs: timedelta = timedelta(days=1)
    kept: timedelta = timedelta(days=30)


class Courier(Struct, frozen=True, kw_only=True):
    """What delivering takes, wired by app.py and handed down."""

    database: Database
    sealer: Sealer
    sender: Sender
    clock: Clock
    luck: Callable[[], float] = random.random
    rules: Rules = field(default_factory=Rules)
    concurrency: Concurrency = field(default_factory=lambda: Concurrency(AT_ONCE))
    by_hand: ByHand = field(default_factory=ByHand)


async def deliver(courier: Courier, due: Due) -> None:
    """Tell a node's receiver what waits for it, in order, as far as it listens.

    Put off for a moment where its organization has its fair share under way.
    """
    receiver = await courier.database.reader.receivers.find(due.key)
    if receiver is None or receiver.pause is not None or not receiver.url:
        return
    with courier.concurrency.enter(receiver.organization_id) as entered:
        if entered:
            await _run_errand(courier, due, receiver)
            return
    async with due.transaction() as tx:
        await due.again(tx, due=courier.clock() + _PUT_OFF)


async def _run_errand(courier: Courier, due: Due, receiver: Receiver) -> None:
    reader = courier.database.reader
    begun = courier.clock()
    event, alone = await _next(reader, due.key, now=begun)
    if event is None:
        return
    until = begun + _LONGEST_ERRAND
    secrets = open_secrets(courier, receiver, now=begun)
    async with courier.sender.open(receiver.url, receiver.organization_id) as line:
        for _ in range(_MOST_EVENTS):
            if event.due > begun or begun > until:
                break
            answer = await tell(line, secrets, event, now=begun)
            now = courier.clock()
            async with due.transaction() as tx:
                receiver = await record(courier, tx, receiver, event, answer, at=begun)
                following = None
                # What was announced meanwhile has made the task due once more.
                if receiver.pause is None and not (alone and answer.is_success):
                    following, alone = await _next(tx, due.key, now=now)
                if following is None:
                    await due.done(tx)
                elif following.due > now:
                    await due.again(tx, due=following.due)
            if following is None or following.due > now:
                return
            event, begun = following, now
    async with due.transaction() as tx:
        await due.again(tx, due=event.due)


async def forget_old(courier: Courier, due: Due) -> None:
    """Forget events, attempts included, that nobody will ask for any more."""
    now = courier.clock()
    async with due.transaction() as tx:
        forgotten = await tx.deliveries.prune(
            before=now - courier.rules.kept, most=_FORGOTTEN_AT_ONCE
        )
        rest = forgotten == _FORGOTTEN_AT_ONCE
        await due.again(tx, due=now if rest else now + _FORGET_EVERY)


async def tell(
    line: Line, secrets: list[str], event: KeptEvent, *, now: datetime
) -> Answer:
    """Send one event, with the proof that it is ours and of this moment."""
    headers = proof(secrets, event_id=event.id, sent=now, body=event.body)
    return await line.post(headers, event.body.encode())


async def record(
    courier: Courier,
    tx: Nouns,
    receiver: Receiver,
    event: KeptEvent,
    answer: Answer,
    *,
    at: datetime,
) -> Receiver:
    """Save an attempt and what it makes of the event; give the receiver as it does now.

    What is delivered stays so, and what is no longer pending is not sent again by a
    failure: both happen when an event is sent once more by hand.
    """
    verdict = judge(
        answer,
        attempt=event.attempts + 1,
        now=courier.clock(),
        failing_since=receiver.failing_since,
        luck=courier.luck(),
        retries=courier.rules.retries,
        patience=courier.rules.patience,
    )
    await tx.deliveries.add(event.id, answer, verdict, at=at)
    _log(event, answer, verdict)
    since = None if answer.is_success else receiver.failing_since or at
    pause = None if answer.is_success else verdict.pause or receiver.pause
    if (since, pause) == (receiver.failing_since, receiver.pause):
        return receiver
    await tx.receivers.set_health(event.node_id, failing_since=since, pause=pause)
    if receiver.pause is not None and pause is None:
        await _resume(courier, tx, event.node_id, now=at)
    return replace(receiver, failing_since=since, pause=pause)


def open_secrets(courier: Courier, receiver: Receiver, *, now: datetime) -> list[str]:
    """Give the secret, and after it the one before while that one still signs."""
    purpose = webhook_secret_purpose(receiver.node_id)
    opened = [courier.sealer.open(receiver.sealed_secret, purpose=purpose)]
    old, until = receiver.sealed_old_secret, receiver.old_secret_until
    if old is not None and until is not None and now < until:
        purpose = old_secret_purpose(receiver.node_id)
        opened.append(courier.sealer.open(old, purpose=purpose))
    return [secret.decode() for secret in opened]


def old_secret_purpose(node_id: str) -> str:
    """Name what a webhook secret is sealed for once another has replaced it."""
    return f"old webhook secret of {node_id}"


async def _resume(courier: Courier, tx: Nouns, node_id: str, *, now: datetime) -> None:
    """Send what waits for a receiver that is back, but not what nobody needs now."""
    await tx.webhooks.give_up(node_id, before=now - courier.rules.patience)
    await tx.webhooks.hurry(node_id, now=now)
    await tx.tasks.put(WEBHOOKS, node_id, due=now)


async def _next(
    nouns: Nouns, node_id: str, *, now: datetime
) -> tuple[KeptEvent | None, bool]:
    """Give the event to tell next, and whether it is the only one that waits."""
    pending = await nouns.webhooks.pending(node_id, most=_GLANCE)
    # Nearly always the first one's time has come; else one behind it may be sooner.
    if len(pending) == _GLANCE and pending[0].due > now and pending[0].overtakable:
        pending = await nouns.webhooks.pending(node_id)
    chosen = next_up((event.waiting for event in pending), now)
    if chosen is None:
        return None, False
    event = next(event for event in pending if event.position == chosen.position)
    return event, len(pending) == 1


def _log(event: KeptEvent, answer: Answer, verdict: Verdict) -> None:
    if verdict.state is State.DELIVERED:
        return  # kept with its attempts; a line each would be most of the log
    node, webhook, why = event.node_id, event.id, answer.error or answer.status
    match verdict.state:
        case State.PENDING:
            again = verdict.due.isoformat(timespec="seconds")
            log.info(
                "webhook failed",
                node=node,
                type=event.type,
                webhook=webhook,
                why=why,
                again=again,
            )
        case _:
            log.warning(
                "webhook given up", node=node, type=event.type, webhook=webhook, why=why
            )
    if verdict.pause is not None:
        log.warning("receiver of webhooks paused", node=node, why=verdict.pause)
