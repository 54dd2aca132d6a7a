"""Subscriptions of an organization: created, changed, tested, sent to again."""

import secrets
from collections.abc import Collection
from datetime import datetime

from leyden.domain import chat, cursors
from leyden.domain.accounts import Scope
from leyden.domain.chat import Format
from leyden.domain.deliveries import State
from leyden.domain.events import INSTALLATION, match_types, types_of, visible
from leyden.domain.sign_in import Right, scopes_of
from leyden.domain.times import to_iso, to_us
from leyden.domain.webhook_urls import check
from leyden.errors import (
    Conflict,
    Forbidden,
    Malformed,
    NotFound,
    OverQuota,
    RightsChanged,
)
from leyden.schemas.events import LoggedEvent
from leyden.services.deliveries.dispatchers import (
    Dispatcher,
    open_secrets,
    place_of,
    record,
    send,
)
from leyden.services.deliveries.subscription_mail import SUBSCRIPTION_MAIL, written
from leyden.services.events import log
from leyden.services.shared import rights
from leyden.storage.stores import Stores
from leyden.storage.subscriptions import (
    SUBSCRIPTIONS,
    LoggedMessage,
    Sent,
    Subscription,
    secret_purpose,
    url_purpose,
)
from leyden.values import Struct, replace

MOST = 20
_SECRET_BYTES = 32
_LONGEST_DESCRIPTION = 200
_LONGEST_TYPES = 50


class Rotated(Struct, frozen=True, kw_only=True):
    """A new secret, and until when events are also signed with the old one."""

    secret: str
    old_signs_until: datetime


class Wanted(Struct, frozen=True, kw_only=True):
    """What the owner of a subscription may choose; None is left as it is."""

    url: str | None = None
    format: Format = Format.STANDARD  # of a new one
    types: Collection[str] | None = None
    description: str | None = None
    stopped: bool | None = None


async def list_(
    dispatcher: Dispatcher, organization_id: str, scopes: Collection[Scope]
) -> list[Subscription]:
    """Return an organization's subscriptions that a key may see, oldest first."""
    found = await dispatcher.database.reader.subscriptions.list_(organization_id)
    return [each for each in found if _is_visible(each, scopes)]


async def get(
    stores: Stores,
    organization_id: str,
    subscription_id: str,
    scopes: Collection[Scope],
) -> Subscription:
    """Return an organization's own subscription; raise NotFound, or Forbidden."""
    found = await stores.subscriptions.find(subscription_id)
    return _own(found, organization_id, scopes)


async def create(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    wanted: Wanted,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> tuple[Subscription, str]:
    """Create a subscription to what happens from now on; return it with its secret.

    A second call with the same id returns the one that the first call created.
    """
    now = dispatcher.clock()
    secret = secrets.token_hex(_SECRET_BYTES)
    seal = dispatcher.sealer.seal
    shown, sealed_url = _place(
        dispatcher, subscription_id, wanted.format, wanted.url or ""
    )
    new = Subscription(
        id=subscription_id,
        organization_id=organization_id,
        url=shown,
        format=wanted.format,
        sealed_url=sealed_url,
        description=_description(wanted.description or ""),
        types=_types(wanted.types or ["*"], scopes, organization_id),
        created=now,
        sealed_secret=seal(secret.encode(), purpose=secret_purpose(subscription_id)),
        sealed_old_secret=None,
        old_secret_until=None,
        failing_since=None,
        pause=None,
        stopped=False,
        position=0,
        attempts=0,
        due=now,
    )
    async with dispatcher.database.transaction() as tx:
        await _confirm(tx, organization_id, scopes, actor=actor)
        if await tx.subscriptions.find(subscription_id) is not None:
            return await _made_before(dispatcher, tx, new, scopes)
        if await tx.subscriptions.count(organization_id) >= MOST:
            raise OverQuota(
                f"quota: the organization has {MOST} subscriptions, as many as it may; "
                "delete one"
            )
        await _audit(tx, new, "subscription created", actor=actor, now=now)
        last = await tx.events.lock(organization_id, now=now)
        new = replace(new, position=last)
        await tx.subscriptions.add(new)
    return new, secret if new.is_signed else ""


async def change(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    wanted: Wanted,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Subscription:
    """Change a subscription, stop it, or let it go on from where it was.

    Another URL, or going on, forgets that it failed.
    """
    now = dispatcher.clock()
    async with dispatcher.database.transaction() as tx:
        before = await _locked(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        after = before
        if wanted.url is not None and wanted.url != before.url:
            place = _place(dispatcher, before.id, before.format, wanted.url)
            after = replace(after, url=place[0], sealed_url=place[1])
        if wanted.types is not None:
            after = replace(after, types=_types(wanted.types, scopes, organization_id))
        if wanted.description is not None:
            after = replace(after, description=_description(wanted.description))
        if wanted.stopped is not None:
            after = replace(after, stopped=wanted.stopped)
        if _is_moved(before, after) or wanted.stopped is False:
            after = replace(after, failing_since=None, pause=None)
        await tx.subscriptions.change(after)
        await _audit(tx, after, "subscription changed", actor=actor, now=now)
    return after


async def delete(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> None:
    """Delete a subscription, with the record of its deliveries."""
    now = dispatcher.clock()
    async with dispatcher.database.transaction() as tx:
        found = await _locked(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        await tx.subscriptions.forget(subscription_id)
        await _audit(tx, found, "subscription deleted", actor=actor, now=now)


async def resend(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    after: str,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Subscription:
    """Send everything after this cursor again, in order, under the same ids."""
    now = dispatcher.clock()
    reader = dispatcher.database.reader
    cursor = cursors.parse(organization_id, after) if after else None
    part = await log.read(
        reader, organization_id, types_of(organization_id), after=cursor, most=1
    )
    first = part.events[0].number if part.events else part.cursor.number + 1
    async with dispatcher.database.transaction() as tx:
        before = await _locked(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        position = min(before.position, first - 1)
        await tx.subscriptions.move(subscription_id, position, attempts=0, due=now)
        await _audit(tx, before, "subscription sent again", actor=actor, now=now)
        return replace(before, position=position)


async def rotate_secret(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Rotated:
    """Replace the secret; the old one signs beside the new one for a day."""
    now = dispatcher.clock()
    until = now + dispatcher.rules.old_secret_signs
    new = secrets.token_hex(_SECRET_BYTES)
    seal = dispatcher.sealer.seal
    async with dispatcher.database.transaction() as tx:
        found = await _locked(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        if not found.is_signed:
            raise Conflict("a chat gets no signatures, so its endpoint has no secret")
        old, *_ = open_secrets(dispatcher, found, now=now)
        await tx.subscriptions.set_secret(
            subscription_id,
            seal(new.encode(), purpose=found.purpose),
            old=seal(old.encode(), purpose=found.old_purpose),
            until=until,
        )
        await _audit(tx, found, "subscription secret rotated", actor=actor, now=now)
    return Rotated(secret=new, old_signs_until=until)


async def deliveries(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    *,
    scopes: Collection[Scope],
    before: int,
    most: int,
) -> tuple[Subscription, list[Sent]]:
    """Return a subscription, and a page of what it was sent, newest first."""
    reader = dispatcher.database.reader
    found = await get(reader, organization_id, subscription_id, scopes)
    page = await reader.subscriptions.page(found.id, before=before, most=most)
    return found, page


async def redeliver(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    event_id: str,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Sent:
    """Send an event again now, under its id, whatever came of it before."""
    reader = dispatcher.database.reader
    found = await get(reader, organization_id, subscription_id, scopes)
    kept = await reader.subscriptions.get_delivery(found.id, event_id)
    return await _send(dispatcher, found, kept.message, scopes=scopes, actor=actor)


async def test(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    kind: str | None,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Sent:
    """Send an example of an event now, which says that it is a test."""
    reader = dispatcher.database.reader
    found = await get(reader, organization_id, subscription_id, scopes)
    types = types_sent(found)
    chosen = kind or min(types)
    if chosen not in types:
        raise Malformed("type: must be a type that the subscription gets")
    now = dispatcher.clock()
    event_id = f"test_{to_us(now):014x}{secrets.token_hex(9)}"
    event = LoggedEvent(
        id=event_id,
        type=chosen,
        created=to_iso(now),
        organization_id=organization_id,
        data=dict(types_of(organization_id)[chosen].example),
    )
    message = LoggedMessage(
        id=event_id,
        number=0,
        type=chosen,
        body=written(found.format, event, test=True),
        test=True,
        created=now,
        state=State.FAILED,
        due=now,
        attempts=0,
    )
    return await _send(dispatcher, found, message, scopes=scopes, actor=actor)


async def _send(
    dispatcher: Dispatcher,
    to: Subscription,
    message: LoggedMessage,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Sent:
    async with dispatcher.database.transaction() as tx:
        await _confirm(tx, to.organization_id, scopes, actor=actor)
    begun = dispatcher.clock()
    dispatcher.by_hand.take(to.organization_id, to.url, at_s=begun.timestamp())
    signing = open_secrets(dispatcher, to, now=begun)
    place = place_of(dispatcher, to)
    async with dispatcher.sender.open(place, to.organization_id) as line:
        answer = await send(line, to, signing, message, now=begun)
    async with dispatcher.database.transaction() as tx:
        # The task before its row, as the dispatcher locks them.
        await tx.tasks.put(SUBSCRIPTIONS, to.id, due=begun)
        await tx.subscriptions.lock(to.id)
        await record(dispatcher, tx, SUBSCRIPTION_MAIL, to, message, answer, at=begun)
        position = (await tx.subscriptions.get_delivery(to.id, message.id)).position
        sent, *_ = await tx.subscriptions.page(to.id, before=position + 1, most=1)
    return sent


async def _made_before(
    dispatcher: Dispatcher, tx: Stores, new: Subscription, scopes: Collection[Scope]
) -> tuple[Subscription, str]:
    made = await get(tx, new.organization_id, new.id, scopes)
    secret, *_ = open_secrets(dispatcher, made, now=new.created)
    return made, secret if made.is_signed else ""


def _place(
    dispatcher: Dispatcher, subscription_id: str, format_: Format, url: str
) -> tuple[str, bytes | None]:
    """Return what is shown of a URL, and the URL sealed where it is a secret."""
    check(url, dispatcher.rules.allowed, field="url")
    if not format_.is_chat:
        return url, None
    chat.check_url(format_, url)
    purpose = url_purpose(subscription_id)
    return chat.shown_url(url), dispatcher.sealer.seal(url.encode(), purpose=purpose)


def _is_moved(before: Subscription, after: Subscription) -> bool:
    return (before.url, before.sealed_url) != (after.url, after.sealed_url)


async def _locked(
    tx: Stores,
    organization_id: str,
    subscription_id: str,
    scopes: Collection[Scope],
    *,
    actor: str,
    now: datetime,
) -> Subscription:
    """Lock a subscription for who may see all that it gets; make it due."""
    await _confirm(tx, organization_id, scopes, actor=actor)
    # The task before its row, as the dispatcher locks them.
    await get(tx, organization_id, subscription_id, scopes)
    await tx.tasks.put(SUBSCRIPTIONS, subscription_id, due=now)
    found = await tx.subscriptions.lock(subscription_id)
    return _own(found, organization_id, scopes)


async def _confirm(
    tx: Stores, organization_id: str, scopes: Collection[Scope], *, actor: str
) -> None:
    """Confirm that the actor still may, with these scopes; lock the organization."""
    if organization_id == INSTALLATION:
        await rights.check_operator(tx, actor)
        return
    role = await rights.check(tx, actor, organization_id, Right.KEYS)
    if not scopes_of(role).issuperset(scopes):
        raise RightsChanged


def _own(
    found: Subscription | None, organization_id: str, scopes: Collection[Scope]
) -> Subscription:
    if found is None or found.organization_id != organization_id:
        raise NotFound
    if found.format is Format.EMAIL:  # a person's own
        raise NotFound
    if not _is_visible(found, scopes):
        raise Forbidden("this key lacks a scope for events that the subscription gets")
    return found


def _is_visible(found: Subscription, scopes: Collection[Scope]) -> bool:
    known = types_of(found.organization_id)
    return types_sent(found) <= visible(scopes, known=known)


def types_sent(to: Subscription) -> frozenset[str]:
    """Return the types of events that a subscription gets."""
    known = types_of(to.organization_id)
    return match_types(to.types, among=known, known=known)


def _types(
    words: Collection[str], scopes: Collection[Scope], organization_id: str
) -> tuple[str, ...]:
    """Return what these words name, as far as the key may see it."""
    known = types_of(organization_id)
    if not 1 <= len(words) <= _LONGEST_TYPES:
        raise Malformed(f"types: must be 1 to {_LONGEST_TYPES} types of events")
    seen = visible(scopes, known=known)
    match_types(words, among=seen, known=known, field="types")  # or refuse
    found: dict[str, None] = {}
    for word in words:
        named = match_types([word], among=known, known=known)
        if named <= seen:
            found[word.strip()] = None
        elif word.strip() != "*":
            raise Malformed("types: this key lacks the scope for some of these")
        else:
            kinds = {name.partition(".")[0] for name in named & seen}
            found |= dict.fromkeys(f"{kind}.*" for kind in sorted(kinds))
    return tuple(found)


def _description(text: str) -> str:
    if len(text) > _LONGEST_DESCRIPTION or not text.isprintable():
        raise Malformed(
            f"description: must have at most {_LONGEST_DESCRIPTION} characters, "
            "without control characters"
        )
    return text


async def _audit(
    tx: Stores, of: Subscription, action: str, *, actor: str, now: datetime
) -> None:
    await tx.audit.add(
        at=now,
        actor=actor,
        action=action,
        subject=of.id,
        organization_id=of.organization_id,
    )
