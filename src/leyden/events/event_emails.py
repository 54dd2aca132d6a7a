"""Events of organizations by email, each person getting those that they chose.

A person's subscription is a place in the log, as an endpoint's is. Its task is made due
in the transaction that logs an event.

1. Read what happened since; settle what the next email holds, and save that.
2. Send it, with no transaction open.
3. Move on; or wait, longer each time.

If killed between 2 and 3, the same email is sent once more under the same Message-ID.
After so many emails in an hour, one more email has all other events of that hour.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import Role
from leyden.base.rules.sign_in import scopes_of
from leyden.base.rules.times import to_iso
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import EmailAway, EmailRefused
from leyden.events import log as event_log
from leyden.events.emailing import PUT_OFF, REFUSALS, Emailing, retry_after
from leyden.events.rows.email_subscriptions import EmailSubscription
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.deliveries import Pause
from leyden.events.rules.emails import Email
from leyden.events.rules.events import ALARMS, INSTALLATION, TYPES, StoredEvent, visible
from leyden.events.rules.sentences import sentence
from leyden.schemas.events import facts
from leyden.values import Struct

_HOUR: Final = timedelta(hours=1)
_MAX_EVENTS: Final = 500  # of one email
_MAX_SENTENCES: Final = 30  # then they are counted by type
SUFFIX: Final = "E"  # at the end of the id of a person's subscription
_UNSUBSCRIBE: Final = "unsubscribe"

log = logging.getLogger(__name__)


class Ready(Struct, frozen=True, kw_only=True):
    """A person's subscription, what its next email holds, and whether there is more."""

    to: Subscription
    own: EmailSubscription
    events: Sequence[StoredEvent]
    has_more: bool

    def hour(self, now: datetime) -> tuple[datetime, int]:
        """Return when the hour began that is counted, and the emails in it."""
        began = self.own.hour_began
        if began <= now < began + _HOUR:
            return began, self.own.hour_sent
        return now, 0


def visible_types(organization_id: str, role: Role | None) -> frozenset[str]:
    """Return the types that a member may see; for an operator, the alarms."""
    if organization_id == INSTALLATION:
        return frozenset(ALARMS)
    return visible(scopes_of(role), known=TYPES) if role is not None else frozenset()


def unsubscribe_word(sealer: Sealer, subscription_id: str) -> str:
    """Return the word of the link that ends these emails, and does nothing else."""
    return sealer.digest(subscription_id.encode(), purpose=_UNSUBSCRIBE).hex()


async def deliver(emailing: Emailing, due: ClaimedTask) -> None:
    """Send a person what happened since their last email."""
    ready = await _ready(emailing.database.reader, due.key)
    if ready is None:
        return
    now = emailing.clock()
    if (until := _wait_until(ready, emailing.per_hour, now=now)) is not None:
        await _later(due, until)
        return
    if not ready.own.sending_to:
        async with due.transaction() as tx:
            await tx.email_subscriptions.hold(ready.to.id, ready.events[-1].number)
    with emailing.concurrency.enter(ready.to.organization_id) as entered:
        if not entered:
            await _later(due, now + PUT_OFF)
            return
        try:
            await emailing.send(await _email(emailing, ready))
        except (EmailAway, EmailRefused) as error:
            await _failed(emailing, due, ready.to, error)
            return
    await _sent(due, ready, now=now)


async def _ready(reader: Stores, key: str) -> Ready | None:
    """Return the next email and its recipient; None if there is none."""
    to = await reader.subscriptions.find(key)
    own = await reader.email_subscriptions.find(key)
    if to is None or own is None or to.stopped or to.pause is not None:
        return None
    types = await _types(reader, to, own)
    if not types or await reader.email_links.confirmed(own.user_id) is None:
        return None
    return await _next(reader, to, own, types)


def _wait_until(ready: Ready, per_hour: int, *, now: datetime) -> datetime | None:
    """Return until when to wait; None to send now."""
    if ready.to.attempts:
        return ready.to.due if ready.to.due > now else None
    began, sent = ready.hour(now)
    return began + _HOUR if sent >= per_hour and not ready.own.sending_to else None


async def _sent(due: ClaimedTask, ready: Ready, *, now: datetime) -> None:
    last = ready.events[-1].number
    began, sent = ready.hour(now)
    async with due.transaction() as tx:
        # The task before its row, as the dispatcher locks them.
        await tx.tasks.lock(due.claim)
        subscription = await tx.subscriptions.lock(ready.to.id)
        if subscription.position == ready.to.position:  # else they have chosen anew
            await tx.subscriptions.move(ready.to.id, last, attempts=0, due=now)
        await tx.email_subscriptions.count_sent(
            ready.to.id, hour_began=began, hour_sent=sent + 1
        )
        if ready.has_more:
            await due.reschedule(tx, due=now)
        else:
            await due.done(tx)


async def _types(
    reader: Stores, to: Subscription, own: EmailSubscription
) -> frozenset[str]:
    """Return the types that they chose, as far as they may still see them."""
    if to.organization_id == INSTALLATION:
        if not await reader.people.is_operator(own.user_id):
            return frozenset()
        role = None
    else:
        role = await reader.people.role(to.organization_id, own.user_id)
    return frozenset(to.types) & visible_types(to.organization_id, role)


async def _next(
    reader: Stores, to: Subscription, own: EmailSubscription, types: frozenset[str]
) -> Ready | None:
    after = Cursor(to.position, "")
    while True:
        part = await event_log.read(
            reader, to.organization_id, types, after=after, limit=_MAX_EVENTS
        )
        if part.events or not part.has_more:
            break
        after = part.cursor
    if not part.events:
        return None
    held = [each for each in part.events if each.number <= own.sending_to]
    # None are where nothing is settled, or none of them may be seen any more.
    events = held or part.events
    has_more = part.has_more or len(events) < len(part.events)
    return Ready(to=to, own=own, events=events, has_more=has_more)


async def _email(emailing: Emailing, ready: Ready) -> Email:
    reader, to, events = emailing.database.reader, ready.to, ready.events
    person = await reader.people.get(ready.own.user_id)
    is_alarm = to.organization_id == INSTALLATION
    of = (
        "this installation"
        if is_alarm
        else (await reader.accounts.get(to.organization_id)).name
    )
    root = "/app/operator/events" if is_alarm else f"/app/{to.organization_id}/events"
    word = unsubscribe_word(emailing.sealer, to.id)
    query = urlencode({"subscription": to.id, "word": word})
    link = f"{emailing.origin}/app/unsubscribe?{query}"
    first = _sentence(events[0])
    subject = first if len(events) == 1 else f"{len(events)} events of {of}"
    lines = [
        *(
            f"{to_iso(each.created)}  {_sentence(each)}"
            for each in events[:_MAX_SENTENCES]
        ),
        *_counted(events[_MAX_SENTENCES:]),
    ]
    text = (
        "\n".join(lines)
        + f"\n\nEvents of {of}: {emailing.origin}{root}\n\n"
        + f"Change which emails you get: {emailing.origin}/app/account/emails\n"
        + f"Unsubscribe: {link}\n"
    )
    return Email(
        id=f"{to.id}.{events[0].number}.{events[-1].number}",
        to=person.email,
        subject=subject,
        text=text,
        unsubscribe=link,
    )


def _sentence(event: StoredEvent) -> str:
    return sentence(event.type, facts(event.data))


def _counted(events: Sequence[StoredEvent]) -> list[str]:
    if not events:
        return []
    kinds = Counter(each.type for each in events)
    every = ", ".join(f"{kind} ({number:,})" for kind, number in sorted(kinds.items()))
    return [f"And {len(events):,} more: {every}."]


async def _failed(
    emailing: Emailing,
    due: ClaimedTask,
    to: Subscription,
    error: EmailAway | EmailRefused,
) -> None:
    """Retry later; after a permanent refusal, stop until the person chooses again."""
    attempts = to.attempts + 1
    now = emailing.clock()
    again = now + retry_after(attempts)
    is_over = isinstance(error, EmailRefused) and attempts >= REFUSALS
    log.info("email not sent", extra={"subscription": to.id, "why": str(error)})
    async with due.transaction() as tx:
        await tx.tasks.lock(due.claim)
        subscription = await tx.subscriptions.lock(to.id)
        if (subscription.position, subscription.attempts) != (to.position, to.attempts):
            # They have chosen anew, or another address, which has refused nothing.
            await due.reschedule(tx, due=now)
            return
        await tx.subscriptions.move(to.id, to.position, attempts=attempts, due=again)
        if is_over:
            since = to.failing_since or now
            await tx.subscriptions.set_health(
                to.id, failing_since=since, pause=Pause.GONE
            )
            await due.done(tx)
        else:
            await due.reschedule(tx, due=again)


async def _later(due: ClaimedTask, at: datetime) -> None:
    async with due.transaction() as tx:
        await due.reschedule(tx, due=at)
