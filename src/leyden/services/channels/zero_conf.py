"""Channels that are usable before they are confirmed: where they are refused at once.

Both lnds have to know such channels, and the buyer's has to accept this one: its owner
runs a channel acceptor, which nobody can ask beforehand. Where a refusal is certain it
comes before anything is priced; else at the opening, and the payment goes back.
"""

from typing import Final

from leyden.domain.nodes import Node
from leyden.domain.openings import ZERO_CONF, SellerWallet, takes_zero_conf
from leyden.errors import Malformed, Upgrading
from leyden.services.channels import reservations
from leyden.services.channels.shop import Shop

# The first version that knows them: one before it opens them as ordinary channels.
_KNOWN_SINCE: Final = "0036_zero_conf"


async def is_offered(shop: Shop, wallet: SellerWallet) -> bool:
    """Return whether the seller opens such channels, and every replica knows them."""
    if ZERO_CONF not in wallet.features:
        return False
    if await shop.database.reader.replicas.floor() >= _KNOWN_SINCE:
        return True
    async with shop.database.transaction() as tx:
        return await tx.replicas.raise_floor(_KNOWN_SINCE, now=shop.clock())


async def check(shop: Shop, key: str, hosted: Node | None, *, announce: bool) -> None:
    """Raise Malformed if the node certainly gets no such channel."""
    if announce:
        raise Malformed("zero_conf: needs a private channel; leave announce out")
    wallet = await reservations.look(shop)
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
