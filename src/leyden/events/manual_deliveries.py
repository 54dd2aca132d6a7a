"""What is sent to an endpoint by hand: a test, an event again, or all since then."""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import Scope
from leyden.base.rules.times import to_iso, to_us
from leyden.errors import Malformed, NotFound, TooMany
from leyden.events import log
from leyden.events.dispatchers import Dispatcher, open_secrets, record, send, url_of
from leyden.events.owned_subscriptions import (
    audit,
    confirm,
    get,
    hidden_types,
    lock,
    types_sent,
)
from leyden.events.pending import written
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules import cursors
from leyden.events.rules.deliveries import TEST, DeliveryState, Message
from leyden.events.rules.events import types_of
from leyden.schemas.events import LoggedEvent
from leyden.values import replace

_COUNTED: Final = "resends"
_HOUR: Final = timedelta(hours=1)
_RESENDS: Final = 20  # an hour: one for each subscription that there can be


async def resend(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    after: str,
    *,
    scopes: Collection[Scope],
    actor: str,
) -> Subscription:
    """Send everything after this cursor again, in order, under the same ids.

    That may be a log of months: it is limited as other deliveries by hand are, and
    for an organization to some times an hour.
    """
    now = dispatcher.clock()
    reader = dispatcher.database.reader
    cursor = cursors.parse(organization_id, after) if after else None
    part = await log.read(
        reader, organization_id, types_of(organization_id), after=cursor, limit=1
    )
    first = part.events[0].number if part.events else part.cursor.number + 1
    async with dispatcher.database.transaction() as tx:
        before = await lock(
            tx, organization_id, subscription_id, scopes, actor=actor, now=now
        )
        at_s = now.timestamp()
        dispatcher.manual_limit.take(organization_id, before.url, at_s=at_s)
        await _count_resend(dispatcher, tx, before, now=now)
        position = min(before.position, first - 1)
        await tx.subscriptions.move(subscription_id, position, attempts=0, due=now)
        await audit(tx, before, "subscription sent again", actor=actor, now=now)
        return replace(before, position=position)


async def deliveries(
    dispatcher: Dispatcher,
    organization_id: str,
    subscription_id: str,
    *,
    scopes: Collection[Scope],
    before: int | None,
    limit: int,
) -> tuple[Subscription, list[Sent]]:
    """Return a subscription, and a page of what it was sent, newest first."""
    reader = dispatcher.database.reader
    found = await get(reader, organization_id, subscription_id, scopes)
    page = await reader.subscription_deliveries.page(
        found.id,
        before=before,
        limit=limit,
        hidden=hidden_types(organization_id, scopes),
    )
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
    delivery = await reader.subscription_deliveries.get(found.id, event_id)
    if delivery.message.type in hidden_types(organization_id, scopes):
        raise NotFound
    async with dispatcher.database.transaction() as tx:
        await confirm(tx, organization_id, scopes, actor=actor)
    return await send_now(dispatcher, found, delivery.message)


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
        raise Malformed("type: must be one of the subscription's types")
    now = dispatcher.clock()
    event_id = f"test_{to_us(now):014x}{secrets.token_hex(9)}"
    event = LoggedEvent(
        id=event_id,
        type=chosen,
        created=to_iso(now),
        organization_id=organization_id,
        data=dict(types_of(organization_id)[chosen].example),
    )
    message = Message(
        id=event_id,
        number=TEST,
        type=chosen,
        body=written(found.format, event, test=True),
        created=now,
        state=DeliveryState.FAILED,
        due=now,
        attempts=0,
    )
    async with dispatcher.database.transaction() as tx:
        await confirm(tx, organization_id, scopes, actor=actor)
    return await send_now(dispatcher, found, message)


async def _count_resend(
    dispatcher: Dispatcher, tx: Stores, of: Subscription, *, now: datetime
) -> None:
    # By organization: a subscription can be deleted, and created anew.
    who = dispatcher.sealer.digest(of.organization_id.encode(), purpose=_COUNTED)
    count, since = await tx.sessions.count_failure(who, now=now, within=_HOUR)
    if count > _RESENDS:
        wait_s = max(1, ceil((since + _HOUR - now).total_seconds()))
        raise TooMany(
            f"resend: at most {_RESENDS} times an hour for an organization; try again "
            f"in {ceil(wait_s / 60)} min",
            retry_after_s=wait_s,
        )


async def send_now(dispatcher: Dispatcher, to: Subscription, message: Message) -> Sent:
    """Send an event now, for somebody who may; return what came of it.

    If there were too many lately, raise TooMany and store nothing.
    """
    begun = dispatcher.clock()
    dispatcher.manual_limit.take(to.organization_id, to.url, at_s=begun.timestamp())
    signing = open_secrets(dispatcher, to, now=begun)
    url = url_of(dispatcher, to)
    async with dispatcher.sender.open(url, to.organization_id) as line:
        answer = await send(line, to, signing, message, now=begun)
    async with dispatcher.database.transaction() as tx:
        # The task before its row, as the dispatcher locks them.
        await tx.tasks.put(to.task, to.id, due=begun)
        await record(dispatcher, tx, to, message, answer, at=begun)
        position = (await tx.subscription_deliveries.get(to.id, message.id)).position
        sent, *_ = await tx.subscription_deliveries.page(
            to.id, before=position + 1, limit=1
        )
    return sent
