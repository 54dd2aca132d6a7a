"""Reject zero-conf channels that certainly can't be opened.

Both lnds must support zero-conf channels, and the buyer's must accept this one: its
owner runs a channel acceptor, which can't be queried beforehand. If a refusal is
certain, the channel is rejected before it is priced; otherwise the opening may fail,
and then the payment is returned.
"""

from leyden.channels import sources
from leyden.channels.direct import reservations
from leyden.channels.direct.rules.openings import ZERO_CONF, takes_zero_conf
from leyden.channels.rules.sources import Source
from leyden.channels.services import ChannelServices
from leyden.errors import Malformed
from leyden.nodes.rules.nodes import Node


async def check(
    channels: ChannelServices, key: str, hosted: Node | None, *, announce: bool
) -> None:
    """Raise Malformed if the node certainly can't get a zero-conf channel."""
    if announce:
        raise Malformed("zero_conf: needs a private channel; leave announce out")
    if Source.LSPS1 not in sources.sold(channels):
        await check_seller(channels, key)
    if hosted is not None and not (
        hosted.settings.zeroconf and hosted.settings.optionscidalias
    ):
        raise Malformed(
            "zero_conf: set optionscidalias and zeroconf in this node's settings first"
        )


async def check_seller(channels: ChannelServices, key: str) -> None:
    """Raise Malformed if the seller certainly can't open one to the node."""
    wallet = await reservations.read_wallet(channels)
    if ZERO_CONF not in wallet.features:
        raise Malformed("zero_conf: the seller does not support it; leave it out")
    features = None
    if channels.seller is not None:
        features = await channels.seller.features(key)
    if features is not None and not takes_zero_conf(features):
        raise Malformed(
            "zero_conf: this node does not support it: start its lnd with "
            "protocol.option-scid-alias and protocol.zero-conf, or leave zero_conf out"
        )
