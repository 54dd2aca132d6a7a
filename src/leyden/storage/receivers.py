"""Webhook receivers: URL, secrets and health."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from leyden.domain.deliveries import Pause
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.addressees import Addressee
from leyden.storage.statements import Row, Run, SqlFile

sql = SqlFile("receivers")


def webhook_secret_purpose(node_id: str) -> str:
    """Return the purpose that a webhook secret is sealed for."""
    return f"webhook secret of {node_id}"


class _Settings(msgspec.Struct):
    webhook: str


_read_settings = msgspec.json.Decoder(_Settings).decode


class Receiver(Addressee, frozen=True, kw_only=True):
    """A node's webhook receiver."""

    node_id: str
    api: str

    @property
    def shows_secret(self) -> bool:
        """Return true: nodes' webhooks have the header `Service-Secret`."""
        return True

    @property
    def key(self) -> str:
        """The key of its task: the node's id."""
        return self.node_id

    @property
    def named(self) -> Mapping[str, str]:
        """The fields that identify it in log lines."""
        return {"node": self.node_id}

    @property
    def purpose(self) -> str:
        """The purpose that its secret is sealed for."""
        return webhook_secret_purpose(self.node_id)


class Receivers:
    """The rows of webhook_receiver."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self, node_id: str) -> Receiver | None:
        """Return a node's receiver; None if the node does not exist."""
        rows = await self._run(sql.get, node_id=node_id)
        return receiver_of(node_id, rows[0]) if rows else None

    async def get(self, node_id: str) -> Receiver:
        """Return a node's receiver, or raise NotFound."""
        if (receiver := await self.find(node_id)) is None:
            raise NotFound
        return receiver

    async def set_health(
        self, node_id: str, *, failing_since: datetime | None, pause: Pause | None
    ) -> None:
        """Store the receiver's health."""
        await self._run(
            sql.set_health,
            node_id=node_id,
            failing_since=to_us(failing_since) if failing_since else None,
            pause=pause,
        )

    async def keep_old_secret(
        self, node_id: str, sealed: bytes, *, until: datetime
    ) -> None:
        """Store the replaced secret, which stays valid until then."""
        await self._run(
            sql.keep_old_secret,
            node_id=node_id,
            sealed_old_secret=sealed,
            old_secret_until=to_us(until),
        )

    async def delete(self, node_id: str) -> None:
        """Delete a node's receiver."""
        await self._run(sql.delete, node_id=node_id)


def receiver_of(node_id: str, row: Row) -> Receiver:
    """Build the receiver from a row."""
    organization_id, api, settings, secret, old, until, failing_since, pause = row
    return Receiver(
        node_id=node_id,
        organization_id=organization_id,
        api=api,
        url=_read_settings(settings).webhook,
        sealed_secret=secret,
        sealed_old_secret=old,
        old_secret_until=from_us(until) if until is not None else None,
        failing_since=from_us(failing_since) if failing_since is not None else None,
        pause=Pause(pause) if pause is not None else None,
    )
