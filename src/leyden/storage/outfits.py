"""What a node's lnd is started with and nobody else may see, sealed."""

from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound
from leyden.storage.statements import Row, Run
from leyden.storage.written import outfits as sql
from leyden.values import Struct, hiding


class SealedOutfit(Struct, frozen=True, kw_only=True):
    """The row of one node."""

    node_id: str
    settings: bytes  # sealed: the settings that are secrets
    webhook_secret: bytes  # sealed
    certificate: bytes  # the chain, PEM
    certificate_until: datetime
    key: bytes  # sealed

    __repr__ = hiding("settings", "webhook_secret", "key")


class Outfits:
    """The rows of node_outfit."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, outfit: SealedOutfit) -> None:
        """Keep the outfit of a new node."""
        await self._run(
            sql.ADD,
            node_id=outfit.node_id,
            sealed_settings=outfit.settings,
            webhook_secret=outfit.webhook_secret,
            certificate=outfit.certificate,
            certificate_until=to_us(outfit.certificate_until),
            key=outfit.key,
        )

    async def get(self, node_id: str) -> SealedOutfit:
        """Give the outfit of a node, or NotFound."""
        if not (rows := await self._run(sql.GET, node_id=node_id)):
            raise NotFound
        return _outfit(rows[0])

    async def set_settings(self, node_id: str, sealed: bytes) -> None:
        """Keep other secret settings."""
        await self._run(sql.SET_SETTINGS, of_node=node_id, sealed=sealed)

    async def set_webhook_secret(self, node_id: str, sealed: bytes) -> None:
        """Keep another webhook secret."""
        await self._run(sql.SET_WEBHOOK_SECRET, of_node=node_id, sealed=sealed)

    async def set_certificate(
        self, node_id: str, *, chain: bytes, until: datetime, key: bytes
    ) -> None:
        """Keep another certificate with its sealed key."""
        await self._run(
            sql.SET_CERTIFICATE,
            of_node=node_id,
            chain=chain,
            until=to_us(until),
            sealed=key,
        )

    async def endings(self, *, before: datetime) -> dict[str, datetime]:
        """Give when certificates end that do so before, by node id."""
        rows = await self._run(sql.ENDINGS, before=to_us(before))
        return {node_id: from_us(until) for node_id, until in rows}


def _outfit(row: Row) -> SealedOutfit:
    node_id, settings, webhook_secret, certificate, until, key = row
    return SealedOutfit(
        node_id=node_id,
        settings=settings,
        webhook_secret=webhook_secret,
        certificate=certificate,
        certificate_until=from_us(until),
        key=key,
    )
