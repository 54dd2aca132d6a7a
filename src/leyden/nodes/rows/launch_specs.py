"""Launch specs of nodes, with sealed secrets."""

from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound
from leyden.values import Struct, hiding

sql = SqlFile(__file__)


class SealedLaunchSpec(Struct, frozen=True, kw_only=True):
    """A node's stored launch spec."""

    node_id: str
    settings: bytes  # sealed: the secret settings
    webhook_secret: bytes  # sealed
    certificate: bytes  # the chain, PEM
    certificate_until: datetime
    key: bytes  # sealed

    __repr__ = hiding("settings", "webhook_secret", "key")


class LaunchSpecs:
    """The rows of node_outfit."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, launch_spec: SealedLaunchSpec) -> None:
        """Store the launch spec of a new node."""
        await self._run(
            sql.add,
            node_id=launch_spec.node_id,
            sealed_settings=launch_spec.settings,
            webhook_secret=launch_spec.webhook_secret,
            certificate=launch_spec.certificate,
            certificate_until=to_us(launch_spec.certificate_until),
            key=launch_spec.key,
        )

    async def get(self, node_id: str) -> SealedLaunchSpec:
        """Return a node's launch spec, or raise NotFound."""
        if not (rows := await self._run(sql.get, node_id=node_id)):
            raise NotFound
        return launch_spec_of(rows[0])

    async def set_settings(self, node_id: str, sealed: bytes) -> None:
        """Replace the secret settings."""
        await self._run(sql.set_settings, node_id=node_id, sealed_settings=sealed)

    async def set_webhook_secret(self, node_id: str, sealed: bytes) -> None:
        """Replace the webhook secret."""
        await self._run(sql.set_webhook_secret, node_id=node_id, webhook_secret=sealed)

    async def set_certificate(
        self, node_id: str, *, chain: bytes, until: datetime, key: bytes
    ) -> None:
        """Replace the certificate and its sealed key."""
        await self._run(
            sql.set_certificate,
            node_id=node_id,
            certificate=chain,
            certificate_until=to_us(until),
            key=key,
        )

    async def endings(self, *, before: datetime) -> dict[str, datetime]:
        """Return certificates expiring before then: expiry times by node id."""
        rows = await self._run(sql.endings, before=to_us(before))
        return {node_id: from_us(until) for node_id, until in rows}


def launch_spec_of(row: Row) -> SealedLaunchSpec:
    """Build the launch spec from a row."""
    node_id, settings, webhook_secret, certificate, until, key = row
    return SealedLaunchSpec(
        node_id=node_id,
        settings=settings,
        webhook_secret=webhook_secret,
        certificate=certificate,
        certificate_until=from_us(until),
        key=key,
    )
