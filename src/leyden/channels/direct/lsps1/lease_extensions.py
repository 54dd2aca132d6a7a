"""LSPS7 (bLIP-57, a draft): nodes extend the leases of their own channels.

A node sees and extends every channel that the seller opened to it, whoever ordered
that: the transport proves its key. It pays an invoice, and never with anybody's credit.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import to_iso
from leyden.channels.direct import extensions
from leyden.channels.direct.lsps1.rpc import Transaction
from leyden.channels.direct.rules import lsps1, lsps7
from leyden.channels.direct.rules.extensions import (
    SUFFIX,
    Extension,
    ExtensionStatus,
)
from leyden.channels.direct.rules.lsps7 import MOST, Lsps7Wish
from leyden.channels.rows.leases import RunningLease
from leyden.channels.services import ChannelServices, Lsps1Settings
from leyden.errors import NotAllowed, TooMany
from leyden.values import replace

_MOST_CHANNELS: Final = 100
_AGAIN_S: Final = 600
_STATES: Final = {
    ExtensionStatus.WAITING_PAYMENT: ("CREATED", "EXPECT_PAYMENT"),
    ExtensionStatus.SETTLING: ("CREATED", "HOLD"),
    ExtensionStatus.EXTENDED: ("COMPLETED", "PAID"),
    ExtensionStatus.EXPIRED: ("FAILED", "REFUNDED"),
    ExtensionStatus.FAILED: ("FAILED", "REFUNDED"),
}


class LeaseExtensions:
    """Extends leases for any LSPS7 client."""

    def __init__(self, channels: ChannelServices, rules: Lsps1Settings) -> None:
        self._channels, self._rules = channels, rules

    async def list_(self, peer: str) -> list[dict[str, Any]]:
        """Return the channels of a node whose leases can be extended."""
        reader = self._channels.database.reader
        running = await reader.leases.running_to(peer, limit=_MOST_CHANNELS)
        if not running:
            return []
        now = await extensions.look(self._channels)
        scids = await extensions.seller_of(self._channels).channel_ids(peer)
        shown = []
        for lease in running:
            try:
                extensions.check(lease, now)
            except NotAllowed:
                continue
            most = extensions.most_blocks(lease, now.height)
            if most > 0 and (scid := scids.get(lease.point)):
                shown.append(
                    await self._channel(reader, lease.order_id, scid, lease.ends, most)
                )
        return shown

    async def create(
        self, peer: str, params: Mapping[str, Any], transaction: Transaction | None
    ) -> dict[str, Any]:
        """Order an extension, with an invoice to pay it."""
        wanted = lsps7.parse_order(params)
        reader = self._channels.database.reader
        lease, now = await self._lease(peer, wanted)
        try:
            extensions.check(lease, now)
        except NotAllowed as error:
            raise lsps1.rejected(error.message) from None
        most = max(extensions.most_blocks(lease, now.height), 0)
        if wanted.blocks > most:
            raise lsps1.mismatch(MOST, f"is {most}")
        await self._check_limit(reader, peer)
        order = await reader.orders.get(lease.order_id)
        at = self._channels.clock()
        offered = await extensions.offer(
            self._channels, order, lease, now, wanted.blocks
        )
        extension = replace(
            offered.extension(
                f"{uuid.uuid4()}{SUFFIX}", ExtensionStatus.WAITING_PAYMENT, at
            ),
            expires=at + self._rules.lives,
            peer=peer,
            scid=wanted.scid,
        )
        extension = await extensions.with_invoice(self._channels, extension)
        transaction = transaction or self._channels.database.transaction
        async with transaction() as tx:
            await tx.orders.lock_many([order.id])
            await self._check_limit(tx, peer)
            await extensions.add(tx, extension)
        return await self._show(extension, most)

    async def get(self, peer: str, extension_id: object) -> dict[str, Any]:
        """Return an extension; raise the same fault if it is another node's."""
        if not isinstance(extension_id, str):
            raise lsps1.invalid("order_id", "must be an order's id")
        found = None
        if lsps1.is_id(extension_id):
            found = await self._channels.database.reader.extensions.find(extension_id)
        if found is None or found.peer != peer:
            raise lsps1.not_found()
        running = await self._channels.database.reader.leases.running_of(
            [found.order_id]
        )
        most = 0
        if (lease := running.get(found.order_id)) is not None:
            height = (await extensions.look(self._channels)).height
            most = max(extensions.most_blocks(lease, height), 0)
        return await self._show(found, most)

    async def _lease(
        self, peer: str, wanted: Lsps7Wish
    ) -> tuple[RunningLease, extensions.ChannelsNow]:
        """Return the lease of the node's channel with that id, or raise a fault."""
        reader = self._channels.database.reader
        running = await reader.leases.running_to(peer, limit=_MOST_CHANNELS)
        if running:
            scids = await extensions.seller_of(self._channels).channel_ids(peer)
            for lease in running:
                if scids.get(lease.point) == wanted.scid:
                    return lease, await extensions.look(self._channels)
        raise lsps1.mismatch("short_channel_id", "is no channel of yours that we lease")

    async def _check_limit(self, rows: Stores, peer: str) -> None:
        if await rows.extensions.open_of_peer(peer) >= self._rules.orders_per_peer:
            raise TooMany(
                "this node has too many unpaid orders; pay one, or wait until they "
                "expire",
                retry_after_s=_AGAIN_S,
            )

    async def _show(self, extension: Extension, most: int) -> dict[str, Any]:
        reader = self._channels.database.reader
        state, payment = _STATES[extension.status]
        if extension.status is ExtensionStatus.FAILED and await reader.ledger.find(
            f"lightning:{extension.payment_hash}"
        ):
            payment = "PAID"  # the operator owes it
        return {
            "order_id": extension.id,
            "channel_extension_expiry_blocks": extension.blocks,
            "new_channel_expiry_block": extension.ends,
            "token": extension.token,
            "created_at": to_iso(extension.created),
            "order_state": state,
            "payment": {
                "bolt11": {
                    "state": payment,
                    "expires_at": to_iso(extension.expires),
                    "fee_total_sat": str(extension.total_fee),
                    "order_total_sat": str(extension.total_fee),
                    "invoice": extension.lightning_invoice,
                }
            },
            "channel": await self._channel(
                reader,
                extension.order_id,
                extension.scid,
                extension.ends - extension.blocks,
                most,
            ),
        }

    async def _channel(
        self, rows: Stores, order_id: str, scid: str, ends: int, most: int
    ) -> dict[str, Any]:
        of_order = await rows.extensions.of_orders([order_id])
        channel: dict[str, Any] = {
            "extension_order_ids": [
                each.id for each in of_order if each.status is ExtensionStatus.EXTENDED
            ],
            "short_channel_id": scid,
            MOST: most,
            "expiration_block": ends,
        }
        if await rows.lsps1_orders.find(order_id):
            channel["original_order"] = {"id": order_id, "service": "LSPS1"}
        return channel
