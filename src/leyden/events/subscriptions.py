"""Subscriptions of an organization: created, changed, deleted."""

import secrets
from collections.abc import Collection
from datetime import datetime

from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import Scope
from leyden.errors import Conflict, Malformed, OverQuota
from leyden.events import log
from leyden.events.dispatchers import Dispatcher, is_moved, open_secrets
from leyden.events.owned_subscriptions import audit, confirm, get, lock, types_sent
from leyden.events.rows.subscriptions import Subscription, secret_purpose, url_purpose
from leyden.events.rules import chat
from leyden.events.rules.chat import Format
from leyden.events.rules.events import match_types, types_of, visible
from leyden.events.rules.webhook_urls import check
from leyden.values import Struct, replace

LIMIT = 20
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
    shown, sealed_url = _shown_and_sealed(
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
        await confirm(tx, organization_id, scopes, actor=actor)
        if await tx.subscriptions.find(subscription_id) is not None:
            return await _made_before(dispatcher, tx, new, scopes)
        if await tx.subscriptions.count(organization_id) >= LIMIT:
            raise OverQuota(
                f"quota: your organization has {LIMIT} subscriptions, the maximum; "
                "delete one"
            )
        await audit(tx, new, "subscription created", actor=actor, now=now)
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

    Another URL, or going on, forgets that it failed, and sends what waits at once. Of
    types that it did not get before, it gets what happens from now on, unless
    something else is waiting before that.
    """
    now = dispatcher.clock()
    reader = dispatcher.database.reader
    delivery_state, end = None, None
    if wanted.types is not None:
        # Not in the transaction: the log may be long.
        delivery_state = await get(reader, organization_id, subscription_id, scopes)
        end = await log.end_without(
            reader,
            organization_id,
            types_sent(delivery_state),
            after=delivery_state.position,
        )
    async with dispatcher.database.transaction() as tx:
        before = await lock(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        after = before
        if wanted.url is not None and wanted.url != before.url:
            address = _shown_and_sealed(
                dispatcher, before.id, before.format, wanted.url
            )
            after = replace(after, url=address[0], sealed_url=address[1])
        if wanted.types is not None:
            after = replace(after, types=_types(wanted.types, scopes, organization_id))
            if (
                end is not None
                and before == delivery_state
                and _gets_more(before, after)
            ):
                after = replace(after, position=end)
                await tx.subscriptions.move(before.id, end, attempts=0, due=now)
        if wanted.description is not None:
            after = replace(after, description=_description(wanted.description))
        if wanted.stopped is not None:
            after = replace(after, stopped=wanted.stopped)
        if is_moved(before, after) or wanted.stopped is False:
            if before.attempts:  # a host that fails is called by hand, as by a test
                at_s = now.timestamp()
                dispatcher.manual_limit.take(organization_id, after.url, at_s=at_s)
            after = after.without_failures()
            # What waits for another attempt is sent now: that may be a day away.
            await tx.subscriptions.move(before.id, after.position, attempts=0, due=now)
        await tx.subscriptions.change(after)
        await audit(tx, after, "subscription changed", actor=actor, now=now)
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
        found = await lock(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        await tx.subscriptions.delete(subscription_id)
        await audit(tx, found, "subscription deleted", actor=actor, now=now)


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
    async with dispatcher.database.transaction() as tx:
        found = await lock(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        if not found.is_signed:
            raise Conflict(
                "a chat endpoint has no secret, because its messages are not signed"
            )
        rotated = await replace_secret(dispatcher, tx, found, now=now)
        await audit(tx, found, "subscription secret rotated", actor=actor, now=now)
    return rotated


async def replace_secret(
    dispatcher: Dispatcher, tx: Stores, of: Subscription, *, now: datetime
) -> Rotated:
    """Replace the secret of an endpoint, which is locked."""
    until = now + dispatcher.rules.old_secret_signs
    seal = dispatcher.sealer.seal
    old, *_ = open_secrets(dispatcher, of, now=now)
    new = secrets.token_hex(_SECRET_BYTES)
    sealed = seal(new.encode(), purpose=of.purpose)
    if of.is_of_node:
        await tx.launch_specs.set_webhook_secret(of.id, sealed)
    await tx.subscriptions.set_secret(
        of.id,
        None if of.is_of_node else sealed,
        old=seal(old.encode(), purpose=of.old_purpose),
        until=until,
    )
    return Rotated(secret=new, old_signs_until=until)


async def _made_before(
    dispatcher: Dispatcher, tx: Stores, new: Subscription, scopes: Collection[Scope]
) -> tuple[Subscription, str]:
    made = await get(tx, new.organization_id, new.id, scopes)
    secret, *_ = open_secrets(dispatcher, made, now=new.created)
    return made, secret if made.is_signed else ""


def _shown_and_sealed(
    dispatcher: Dispatcher, subscription_id: str, format_: Format, url: str
) -> tuple[str, bytes | None]:
    """Return what is shown of a URL, and the URL sealed where it is a secret."""
    check(url, dispatcher.rules.allowed, field="url")
    if not format_.is_chat:
        return url, None
    chat.check_url(format_, url)
    purpose = url_purpose(subscription_id)
    return chat.shown_url(url), dispatcher.sealer.seal(url.encode(), purpose=purpose)


def _types(
    words: Collection[str], scopes: Collection[Scope], organization_id: str
) -> tuple[str, ...]:
    """Return what these words name, as far as the key may see it."""
    known = types_of(organization_id)
    if not 1 <= len(words) <= _LONGEST_TYPES:
        raise Malformed(f"types: must be 1 to {_LONGEST_TYPES} types of events")
    visible_types = visible(scopes, known=known)
    match_types(words, among=visible_types, known=known, field="types")  # or refuse
    found: dict[str, None] = {}
    for word in words:
        named = match_types([word], among=known, known=known)
        if named <= visible_types:
            found[word.strip()] = None
        elif word.strip() != "*":
            raise Malformed("types: this key lacks the scope for some of these")
        else:
            kinds = {name.partition(".")[0] for name in named & visible_types}
            found |= dict.fromkeys(f"{kind}.*" for kind in sorted(kinds))
    return tuple(found)


def _gets_more(before: Subscription, after: Subscription) -> bool:
    return not types_sent(after) <= types_sent(before)


def _description(text: str) -> str:
    if len(text) > _LONGEST_DESCRIPTION or not text.isprintable():
        raise Malformed(
            f"description: must have at most {_LONGEST_DESCRIPTION} characters, "
            "without control characters"
        )
    return text
