"""Reject zero-conf channels that certainly can't be opened.

Both lnds must support zero-conf channels, and the buyer's must accept this one: its
owner runs a channel acceptor, which can't be queried beforehand. If a refusal is
certain, the channel is rejected before it is priced; otherwise the opening may fail,
and then the payment is returned.
"""

from typing import Final

from leyden.domain.nodes import Node
from leyden.domain.openings import ZERO_CONF, SellerWallet, takes_zero_conf
from leyden.errors import Malformed, Upgrading
from leyden.services.channels import reservations
from leyden.services.channels.shop import Shop

# The first schema version with them: an older version opens them as ordinary channels.
_KNOWN_SINCE: Final = "0036_zero_conf"


async def is_offered(shop: Shop, wallet: SellerWallet) -> bool:
    """Return whether the seller and every replica support zero-conf channels."""
    if ZERO_CONF not in wallet.features:
        return False
    if await shop.database.reader.replicas.floor() >= _KNOWN_SINCE:
        return True
    async with shop.database.transaction() as tx:
        return await tx.replicas.raise_floor(_KNOWN_SINCE, now=shop.clock())


async def check(shop: Shop, key: str, hosted: Node | None, *, announce: bool) -> None:
    """Raise Malformed if the node certainly can't get a zero-conf channel."""
    if announce:
        raise Malformed("zero_conf: needs a private channel; leave announce out")
    wallet = await reservations.read_wallet(shop)
    if ZERO_CONF not in wallet.features:
        raise Malformed("zero_conf: the seller does not support it; leave it out")
    if not await is_offered(shop, wallet):
        raise Upgrading(retry_after_s=60)
    if hosted is not None and not (
        hosted.settings.zeroconf and hosted.settings.optionscidalias
    ):
        raise Malformed(
            "zero_conf: set optionscidalias and zeroconf in this node's settings first"
        )
    features = None
    if shop.seller is not None:
        features = await shop.seller.features(key)
    if features is not None and not takes_zero_conf(features):
        raise Malformed(
            "zero_conf: this node does not support it: start its lnd with "
            "protocol.option-scid-alias and protocol.zero-conf, or leave zero_conf out"
        )
