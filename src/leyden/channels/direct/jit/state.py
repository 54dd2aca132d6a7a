"""The state of the sale of just-in-time channels, and what it lacks."""

from typing import Any, Final

from leyden.base.database.stores import Stores
from leyden.base.rules.units import Sats
from leyden.channels.direct.base import Purse
from leyden.channels.direct.jit import purse as purses
from leyden.channels.direct.jit.offers import JitOffers
from leyden.channels.direct.rules.jit import (
    FUNDED,
    HELD_STATES,
    JitStatus,
    whole_sats,
)
from leyden.channels.direct.rules.lsps1 import Fault
from leyden.channels.direct.rules.openings import SellerWallet
from leyden.channels.services import ChannelServices, JitSettings
from leyden.errors import SellerAway
from leyden.values import Struct, asdict

OFF: Final = (
    "jit_host: not set, so no just-in-time channels are sold; see "
    "docs/operators/just-in-time.md"
)
# The payment hash of no payment: it only tells whether we may ask.
NOTHING: Final = "00" * 32


class JitTotals(Struct, frozen=True, kw_only=True):
    """What became of all just-in-time orders."""

    sold: int  # that nobody has paid yet
    held: int  # payments that are held now
    opened: int  # channels
    forwarded: int  # payments of which it is not known yet what became of them
    earned: int
    unpaid: int  # channels that were opened for nothing
    earned_sat: Sats
    funding_sat: Sats  # what all channels' transactions cost
    unpaid_sat: Sats  # in channels that were opened for nothing


class JitState(JitTotals, frozen=True, kw_only=True):
    """The state of the sale."""

    uri: str  # the address for wallets to connect to
    offer: dict[str, Any] | None
    free: Sats  # coins of the purse
    missing: tuple[str, ...]  # what is missing, and what to do about it


async def totals(rows: Stores) -> JitTotals:
    """Count the orders."""
    sums = await rows.jit_orders.sums()

    def orders(*statuses: JitStatus) -> int:
        return sum(sums[each].orders for each in statuses if each in sums)

    unpaid = sums.get(JitStatus.UNPAID)
    return JitTotals(
        sold=orders(JitStatus.SOLD),
        held=orders(*HELD_STATES),
        opened=orders(*FUNDED - {JitStatus.OPENING}),
        forwarded=orders(JitStatus.RESUMING),
        earned=orders(JitStatus.EARNED),
        unpaid=orders(JitStatus.UNPAID),
        earned_sat=whole_sats(sum(each.earned_msat for each in sums.values())),
        funding_sat=Sats(sum(each.funding_fees for each in sums.values())),
        unpaid_sat=unpaid.capacity if unpaid else Sats(0),
    )


async def free(rows: Stores, wallet: SellerWallet) -> Sats:
    """Return the coins of the purse that no channel has."""
    reserved = await rows.jit_orders.reserved()
    return Sats(sum(c.sats for c in wallet.coins if c.outpoint not in reserved))


async def read(channels: ChannelServices, purse: Purse, rules: JitSettings) -> JitState:
    """Return the state of the sale; raise SellerAway without the purse's lnd."""
    wallet = await purses.read(channels, purse)
    reader = channels.database.reader
    missing, offer = [], None
    try:
        offer = (await JitOffers(channels, purse, rules).offer()).as_json()
    except Fault as fault:
        missing.append(str(fault.data["message"]))
    if "@" not in wallet.uri:
        missing.append(
            "the purse's lnd has no public address, so wallets can't connect to it: "
            "set externalip"
        )
    try:  # to nobody: lnd checks the permission first
        await purse.messages.send(wallet.pubkey, b"{}")
        await purse.forwarding.channels()
        if rules.wraps_invoices and purse.wrapping is not None:
            await purse.wrapping.pending()
            await purse.wrapping.payment(NOTHING)
        if rules.client_trusts_lsp and purse.unpublished is not None:
            missing += [
                f"the macaroon lacks {each}; see docs/operators/just-in-time.md"
                for each in await purse.unpublished.denied()
            ]
    except SellerAway as error:
        missing.append(f"{error}; see docs/operators/just-in-time.md")
    return JitState(
        **asdict(await totals(reader)),
        uri=wallet.uri,
        offer=offer,
        free=await free(reader, wallet),
        missing=tuple(missing),
    )
