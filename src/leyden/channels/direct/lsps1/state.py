"""The state of the sale over LSPS1, and missing settings."""

from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.direct.lsps1.server import find_organization, offer_of
from leyden.channels.direct.rules.openings import LSPS, ZERO_CONF, SellerWallet
from leyden.channels.services import ChannelServices, Lsps1Settings
from leyden.errors import SellerAway
from leyden.values import Struct

OFF: Final = (
    "lsps1: not set, so this platform sells no channels over LSPS1; see "
    "docs/operators/lsps1.md"
)
_BITS: Final = "--protocol.custom-init=729 --protocol.custom-nodeann=729"


class Lsps1State(Struct, frozen=True, kw_only=True):
    """The state of the sale over LSPS1."""

    uri: str  # the address for clients to connect to
    organization_id: str
    sold: dict[str, Any]  # the offer, as clients get it
    unpaid: int  # orders
    reserved: Sats  # coins of paid orders without a channel
    most_reserved: Sats
    missing: tuple[str, ...]  # what is missing, and what to do about it


async def read(channels: ChannelServices, rules: Lsps1Settings) -> Lsps1State:
    """Return the state of the sale; raise SellerAway without the seller."""
    wallet = await reservations.read_wallet(channels)
    reader = channels.database.reader
    missing = []
    organization_id = ""
    try:
        organization_id = await find_organization(reader, rules.organization)
    except SellerAway as error:
        missing.append(f"{error}; see `leyden orgs list`")
    missing += _missing_of(wallet)
    if denied := await _denied(channels, wallet):
        missing.append(denied)
    offer = offer_of(channels, zero_conf=ZERO_CONF in wallet.features)
    return Lsps1State(
        uri=wallet.uri,
        organization_id=organization_id,
        sold=offer.as_json(),
        unpaid=await reader.lsps1_orders.unpaid(),
        reserved=await reader.lsps1_orders.reserved(),
        most_reserved=rules.most_reserved,
        missing=tuple(missing),
    )


def _missing_of(wallet: SellerWallet) -> list[str]:
    missing = []
    if "@" not in wallet.uri:
        missing.append(
            "the seller's lnd has no public address, so wallets can't connect to it: "
            "set externalip"
        )
    if LSPS not in wallet.features:
        missing.append(
            "the seller's lnd does not announce LSPS, so wallets can't find it: start "
            f"it with {_BITS}"
        )
    return missing


async def _denied(channels: ChannelServices, wallet: SellerWallet) -> str:
    """Try to send a message to nobody: lnd checks the permission first."""
    if channels.messages is None:
        return ""
    try:
        await channels.messages.send(wallet.pubkey, b"{}")
    except SellerAway as error:
        return f"{error}; bake seller_macaroon as described in docs/operators/lsps1.md"
    return ""
