"""The receivers of webhooks: where each is, its secrets, and how it is doing."""

from datetime import datetime

import msgspec

from leyden.domain.deliveries import Pause
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.written import receivers as sql
from leyden.values import Struct, hiding


class _Settings(msgspec.Struct):
    webhook: str


_read_settings = msgspec.json.Decoder(_Settings).decode


class Receiver(Struct, frozen=True, kw_only=True):
    """A node's receiver."""

    node_id: str
    organization_id: str
    api: str
    url: str
    sealed_secret: bytes
    sealed_old_secret: bytes | None
    old_secret_until: datetime | None
    failing_since: datetime | None
    pause: Pause | None

    __repr__ = hiding("sealed_secret", "sealed_old_secret")


class Receivers:
    """The rows of webhook_receiver."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self, node_id: str) -> Receiver | None:
        """Give a node's receiver, if there is such a node."""
        rows = await self._run(sql.GET, node_id=node_id)
        return _receiver(node_id, rows[0]) if rows else None

    async def get(self, node_id: str) -> Receiver:
        """Give a node's receiver, or NotFound."""
        if (receiver := await self.find(node_id)) is None:
            raise NotFound
        return receiver

    async def set_health(
        self, node_id: str, *, failing_since: datetime | None, pause: Pause | None
    ) -> None:
        """Note how the receiver is doing."""
        await self._run(
            sql.SET_HEALTH,
            node_id=node_id,
            failing_since=to_us(failing_since) if failing_since else None,
            pause=pause,
        )

    async def keep_old_secret(
        self, node_id: str, sealed: bytes, *, until: datetime
    ) -> None:
        """Keep the secret that another has replaced."""
        await self._run(
            sql.KEEP_OLD_SECRET, node_id=node_id, sealed=sealed, until=to_us(until)
        )

    async def forget(self, node_id: str) -> None:
        """Remember nothing of a node's receiver."""
        await self._run(sql.FORGET, node_id=node_id)


def _receiver(node_id: str, row: Row) -> Receiver:
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
