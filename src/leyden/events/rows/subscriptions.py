"""Endpoints that get events: subscriptions of organizations, and nodes' webhooks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Self

import msgspec

from leyden.base.database.statements import BatchStep, Row, Run, SqlFile, Value
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound
from leyden.events.rules.chat import Format, content_type
from leyden.events.rules.deliveries import Pause
from leyden.values import Struct, hiding, replace

sql = SqlFile(__file__)

SUBSCRIPTIONS: Final = "subscriptions"  # a kind of task; its key is the id
NODE_WEBHOOKS: Final = "node webhooks"  # a kind of task; its key is the node's id


class _Settings(msgspec.Struct):
    webhook: str


_read_settings = msgspec.json.Decoder(_Settings).decode


class Subscription(Struct, frozen=True, kw_only=True):
    """An endpoint, and its position in its organization's log.

    A node's webhook has the node's id. Its URL is in the node's settings, its secret in
    the node's launch spec, and its events are queued for it.
    """

    id: str
    organization_id: str
    url: str
    description: str
    types: tuple[str, ...]  # a type, `order.*`, or `*`
    created: datetime
    sealed_secret: bytes
    sealed_old_secret: bytes | None
    old_secret_until: datetime | None
    failing_since: datetime | None
    pause: Pause | None
    stopped: bool  # by its owner
    position: int
    attempts: int
    due: datetime
    format: Format = Format.STANDARD
    sealed_url: bytes | None = None  # if the URL is secret; `url` can be shown

    __repr__ = hiding("sealed_secret", "sealed_old_secret", "sealed_url")

    @property
    def is_of_node(self) -> bool:
        """Whether it is a node's webhook."""
        return self.format is Format.NODE

    @property
    def task(self) -> str:
        """The kind of its task."""
        return NODE_WEBHOOKS if self.is_of_node else SUBSCRIPTIONS

    @property
    def named(self) -> Mapping[str, str]:
        """The fields that identify it in log lines."""
        return {"node" if self.is_of_node else "subscription": self.id}

    @property
    def is_signed(self) -> bool:
        """Whether events are signed: for programs, but not for chats."""
        return not self.format.is_chat

    @property
    def sealed_endpoint(self) -> tuple[bytes, str] | None:
        """The sealed URL and its purpose, if the URL is secret; else None."""
        if self.sealed_url is None:
            return None
        return self.sealed_url, url_purpose(self.id)

    @property
    def content_type(self) -> str:
        """The content type of requests."""
        return content_type(self.format)

    @property
    def purpose(self) -> str:
        """The purpose that its secret is sealed for."""
        return secret_purpose(self.id, self.format)

    @property
    def old_purpose(self) -> str:
        """The purpose that a replaced secret is sealed for."""
        return old_purpose(self.purpose)

    def without_failures(self) -> Self:
        """Return a copy that is neither failing nor paused."""
        return replace(self, failing_since=None, pause=None)


def secret_purpose(id_: str, format_: str = Format.STANDARD) -> str:
    """Return the purpose that an endpoint's secret is sealed for."""
    if format_ == Format.NODE:
        return webhook_secret_purpose(id_)
    return f"secret of subscription {id_}"


def webhook_secret_purpose(node_id: str) -> str:
    """Return the purpose that the secret of a node's webhook is sealed for."""
    return f"webhook secret of {node_id}"


def old_purpose(purpose: str) -> str:
    """Return the purpose that a secret is sealed for once it is replaced."""
    return f"old {purpose}"


def url_purpose(subscription_id: str) -> str:
    """Return the purpose that the URL of a chat is sealed for."""
    return f"URL of subscription {subscription_id}"


class SubscriptionRows:
    """The rows of subscription."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, new: Subscription) -> bool:
        """Store a new subscription; return False if the id is in use."""
        rows = await self._run(
            sql.add,
            id=new.id,
            organization_id=new.organization_id,
            url=new.url,
            description=new.description,
            types=_encode_types(new.types),
            created=to_us(new.created),
            sealed_secret=new.sealed_secret,
            position=new.position,
            due=to_us(new.due),
            format=new.format,
            sealed_url=new.sealed_url,
        )
        return bool(rows)

    async def find(self, subscription_id: str) -> Subscription | None:
        """Return a subscription, if it exists."""
        rows = await self._run(sql.get, id=subscription_id)
        return subscription_of(rows[0]) if rows else None

    async def find_of_node(self, node_id: str) -> Subscription | None:
        """Return a node's webhook; None if the node does not exist."""
        rows = await self._run(sql.get_of_node, node_id=node_id)
        return _of_node(node_id, rows[0]) if rows else None

    async def get_of_node(self, node_id: str) -> Subscription:
        """Return a node's webhook, or raise NotFound."""
        if (found := await self.find_of_node(node_id)) is None:
            raise NotFound
        return found

    async def keep_of_node(self, node_id: str, *, now: datetime) -> None:
        """Store that a node's webhook gets events, unless it is stored."""
        await self._run(sql.keep_of_node, node_id=node_id, created=to_us(now))

    async def lock(self, subscription_id: str) -> Subscription:
        """Return a subscription, locked until the transaction ends, or NotFound."""
        rows = await self._run(sql.lock, id=subscription_id)
        if not rows:
            raise NotFound
        return subscription_of(rows[0])

    async def list_(self, organization_id: str) -> list[Subscription]:
        """Return an organization's subscriptions, oldest first."""
        rows = await self._run(sql.list, organization_id=organization_id)
        return [subscription_of(row) for row in rows]

    async def without_task(self) -> list[Subscription]:
        """Return active subscriptions that are behind the log and have no task."""
        rows = await self._run(sql.without_task, kind=SUBSCRIPTIONS)
        return [subscription_of(row) for row in rows]

    async def nodes_without_task(self) -> list[str]:
        """Return nodes with pending events, and no task that sends them."""
        rows = await self._run(sql.nodes_without_task, kind=NODE_WEBHOOKS)
        return [node_id for (node_id,) in rows]

    async def count(self, organization_id: str) -> int:
        """Count an organization's subscriptions."""
        rows = await self._run(sql.count, organization_id=organization_id)
        return int(rows[0][0])

    async def change(self, changed: Subscription) -> None:
        """Store the fields that its owner can change, and its health."""
        since = changed.failing_since
        await self._run(
            sql.change,
            id=changed.id,
            url=changed.url,
            sealed_url=changed.sealed_url,
            description=changed.description,
            types=_encode_types(changed.types),
            stopped=int(changed.stopped),
            failing_since=to_us(since) if since is not None else None,
            pause=changed.pause,
        )

    async def set_health(
        self,
        subscription_id: str,
        *,
        failing_since: datetime | None,
        pause: Pause | None,
    ) -> None:
        """Store the endpoint's health."""
        await self._run(
            sql.set_health,
            id=subscription_id,
            failing_since=to_us(failing_since) if failing_since is not None else None,
            pause=pause,
        )

    async def move(
        self, subscription_id: str, position: int, *, attempts: int, due: datetime
    ) -> None:
        """Store its position in the log, and the attempts for the next event."""
        await self._run(
            sql.move,
            id=subscription_id,
            position=position,
            attempts=attempts,
            due=to_us(due),
        )

    async def set_secret(
        self,
        subscription_id: str,
        sealed: bytes | None,
        *,
        old: bytes,
        until: datetime,
    ) -> None:
        """Store a new secret; until then requests are also signed with the old one.

        None is for a node's webhook, whose secret is in the node's launch spec.
        """
        await self._run(
            sql.set_secret,
            id=subscription_id,
            sealed_secret=sealed,
            sealed_old_secret=old,
            old_secret_until=to_us(until),
        )

    async def delete(self, subscription_id: str) -> None:
        """Delete an endpoint with its deliveries."""
        await self._run(sql.delete, id=subscription_id)


def wake_step(organization_ids: tuple[str, ...], *, limit: int, now: int) -> BatchStep:
    """Return the step that wakes the subscriptions to events that were just logged.

    It considers at most the `limit` newest events of each organization.
    """
    step = BatchStep(sql.wake, [_wake(organization_ids, limit, now)])
    return step._replace(wakes=SUBSCRIPTIONS)


def _wake(
    organization_ids: tuple[str, ...], limit: int, now: int
) -> Mapping[str, Value]:
    return {
        "kind": SUBSCRIPTIONS,
        "organization_ids": organization_ids,
        "limit": limit,
        "now": now,
    }


def subscription_of(row: Row) -> Subscription:
    """Build the subscription from a row."""
    id_, organization_id, url, description, types, created, secret, *rest = row
    old, until, failing_since, pause, stopped, position, attempts, due, *more = rest
    format_, sealed_url = more
    return Subscription(
        id=id_,
        organization_id=organization_id,
        url=url,
        description=description,
        types=tuple(types.strip(",").split(",")),
        created=from_us(created),
        sealed_secret=secret or b"",  # a node's is elsewhere
        sealed_old_secret=old,
        old_secret_until=from_us(until) if until is not None else None,
        failing_since=from_us(failing_since) if failing_since is not None else None,
        pause=Pause(pause) if pause is not None else None,
        stopped=bool(stopped),
        position=position,
        attempts=attempts,
        due=from_us(due),
        format=Format(format_),
        sealed_url=sealed_url,
    )


def _of_node(node_id: str, row: Row) -> Subscription:
    organization_id, created, settings, secret, old, until, since, pause = row
    return Subscription(
        id=node_id,
        organization_id=organization_id,
        url=_read_settings(settings).webhook,
        format=Format.NODE,
        description="",
        types=(),
        created=from_us(created),
        sealed_secret=secret,
        sealed_old_secret=old,
        old_secret_until=from_us(until) if until is not None else None,
        failing_since=from_us(since) if since is not None else None,
        pause=Pause(pause) if pause is not None else None,
        stopped=False,
        position=0,
        attempts=0,
        due=from_us(created),
    )


def _encode_types(types: tuple[str, ...]) -> str:
    return f",{','.join(types)},"
