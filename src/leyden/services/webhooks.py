"""Webhooks: announced with the fact they tell of, shown, tried out, proven anew."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from leyden.domain.deliveries import State
from leyden.domain.nodes import Node, Wanted
from leyden.domain.times import to_us
from leyden.domain.webhooks import (
    ANNOUNCED,
    BlocksOutOfOrder,
    Event,
    StatusChanged,
    body,
    tested,
    told_once,
    type_of,
)
from leyden.errors import Conflict
from leyden.lnd.log import QUIET
from leyden.services.courier import (
    WEBHOOKS,
    Courier,
    old_secret_purpose,
    open_secrets,
    record,
    tell,
)
from leyden.services.nodes import theirs
from leyden.services.outfitting import webhook_secret_purpose
from leyden.storage.deliveries import Delivery
from leyden.storage.nouns import Nouns
from leyden.storage.receivers import Receiver
from leyden.storage.webhooks import KeptEvent
from leyden.values import Struct

_SECRET_BYTES = 32


class Overview(Struct, frozen=True, kw_only=True):
    """What a node's owner sees of its webhooks."""

    node: Node
    receiver: Receiver
    deliveries: list[Delivery]


class Rotated(Struct, frozen=True, kw_only=True):
    """A new secret, and until when the old one signs beside it."""

    secret: str
    old_signs_until: datetime


async def announce(
    tx: Nouns, node: Node, events: Iterable[Event], *, now: datetime
) -> None:
    """Save what is to be told in the transaction that made it true.

    States that the contract does not announce pass in silence; so does everything
    for a node without a webhook, or one that is being deleted.
    """
    if not node.settings.webhook or node.wanted is Wanted.DELETED:
        return
    added = locked = False
    for event in events:
        if not await _is_news(tx, node, event, now):
            continue
        if not locked:
            # The task before its deliveries, as whoever delivers them locks them: the
            # other way round the two of us would wait for each other.
            await tx.tasks.put(WEBHOOKS, node.id, due=now)
            locked = True
        if isinstance(event, StatusChanged):
            await tx.webhooks.supersede_status(node.id)
        added |= await tx.webhooks.add(
            _new_id(now),
            node.id,
            kind=type_of(event),
            body=body(event, api=node.api_endpoint),
            told_once=told_once(event),
            now=now,
        )
    if added:
        # What waited before goes first, and at once: the receiver may be back.
        await tx.webhooks.hurry(node.id, now=now)


async def readdressed(tx: Nouns, node: Node, *, now: datetime) -> None:
    """Begin anew after the node was given another URL: what waits goes there."""
    await tx.receivers.set_health(node.id, failing_since=None, pause=None)
    if node.settings.webhook:
        await tx.webhooks.hurry(node.id, now=now)
        await tx.tasks.put(WEBHOOKS, node.id, due=now)
    else:
        await tx.webhooks.give_up(node.id, before=now)


async def ended(tx: Nouns, node: Node) -> None:
    """Tell nobody any more of a node that its owner has deleted."""
    await tx.webhooks.give_all_up(node.id)


async def forget(tx: Nouns, node_id: str) -> None:
    """Forget all webhooks of a node that is no more."""
    await tx.webhooks.forget(node_id)
    await tx.receivers.forget(node_id)


async def overview(
    courier: Courier,
    organization_id: str,
    node_id: str,
    *,
    before: int,
    most: int,
) -> Overview:
    """Give a page of a node's deliveries, newest first, and how its receiver does."""
    reader = courier.database.reader
    return Overview(
        node=theirs(await reader.nodes.find(node_id), organization_id),
        receiver=await reader.receivers.get(node_id),
        deliveries=await reader.deliveries.list_(node_id, before=before, most=most),
    )


async def redeliver(
    courier: Courier, organization_id: str, node_id: str, event_id: str
) -> Delivery:
    """Send an event once more, now, whatever became of it; give it with its attempts.

    It keeps its id, so that a receiver which has it already can tell. TooMany, and
    nothing is done, where there were too many lately.
    """
    node = await _with_webhook(courier, organization_id, node_id)
    event = await courier.database.reader.webhooks.get(node_id, event_id)
    _count(courier, node)
    return await _send(courier, event)


async def test(
    courier: Courier,
    organization_id: str,
    node_id: str,
    *,
    status: str | None = None,  # noqa: PT028  this is no test of ours
) -> Delivery:
    """Send the receiver a status, now, and return what it answered.

    It is the one that is asked for, else the node's own where that is announced at all.
    A receiver that was paused and takes it is sent what waited, too. TooMany, and
    nothing is kept, where there were too many lately.
    """
    node = await _with_webhook(courier, organization_id, node_id)
    told = tested(node.status, status)
    _count(courier, node)
    now = courier.clock()
    event_id = _new_id(now)
    async with courier.database.transaction() as tx:
        await tx.webhooks.add(
            event_id,
            node_id,
            kind=type_of(told),
            body=body(told, api=node.api_endpoint),
            now=now,
            state=State.FAILED,  # until it is delivered: nobody sends it later
            test=True,
        )
        event = await tx.webhooks.get(node_id, event_id)
    return await _send(courier, event)


async def rotate_secret(
    courier: Courier, organization_id: str, node_id: str, *, actor: str
) -> Rotated:
    """Give the node's webhooks another secret, shown and sent from now on.

    Events are signed with the old one as well for a day, so that a receiver which
    checks signatures misses nothing until it knows the new one.
    """
    now = courier.clock()
    until = now + courier.rules.old_secret_signs
    new = secrets.token_hex(_SECRET_BYTES)
    seal = courier.sealer.seal
    async with courier.database.transaction() as tx:
        # Locked, so that of two rotations at once the second finds the first's.
        theirs(await tx.nodes.lock(node_id), organization_id)
        receiver = await tx.receivers.get(node_id)
        old, *_ = open_secrets(courier, receiver, now=now)
        await tx.receivers.keep_old_secret(
            node_id,
            seal(old.encode(), purpose=old_secret_purpose(node_id)),
            until=until,
        )
        await tx.outfits.set_webhook_secret(
            node_id, seal(new.encode(), purpose=webhook_secret_purpose(node_id))
        )
        await tx.audit.add(
            at=now,
            actor=actor,
            action="webhook secret rotated",
            subject=node_id,
            organization_id=organization_id,
        )
    return Rotated(secret=new, old_signs_until=until)


async def _is_news(tx: Nouns, node: Node, event: Event, now: datetime) -> bool:
    match event:
        case StatusChanged(status):
            return status in ANNOUNCED
        case BlocksOutOfOrder():
            # Whoever reads the log may have been restarted amid a burst of lines.
            last = await tx.webhooks.last_error(node.id)
            return last is None or now - last >= QUIET
    return True


async def _with_webhook(courier: Courier, organization_id: str, node_id: str) -> Node:
    found = await courier.database.reader.nodes.find(node_id)
    node = theirs(found, organization_id)
    if not node.settings.webhook:
        raise Conflict("the node has no webhook; give it one in its settings")
    return node


def _count(courier: Courier, node: Node) -> None:
    at_s = courier.clock().timestamp()
    courier.by_hand.take(node.organization_id, node.settings.webhook, at_s=at_s)


async def _send(courier: Courier, event: KeptEvent) -> Delivery:
    begun = courier.clock()
    receiver = await courier.database.reader.receivers.get(event.node_id)
    signing = open_secrets(courier, receiver, now=begun)
    async with courier.sender.open(receiver.url, receiver.organization_id) as line:
        answer = await tell(line, signing, event, now=begun)
    async with courier.database.transaction() as tx:
        await record(courier, tx, receiver, event, answer, at=begun)
        sent, *_ = await tx.deliveries.list_(
            event.node_id, before=event.position + 1, most=1
        )
    return sent


def _new_id(now: datetime) -> str:
    """Make an id that nobody can guess, and that later events come after.

    In the order of time they lie side by side in the indexes, where random ones would
    each touch a page of its own.
    """
    return f"msg_{to_us(now):014x}{secrets.token_hex(9)}"
