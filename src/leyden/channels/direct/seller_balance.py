"""The balance of the seller of direct channels, and what orders reserve of it."""

from collections.abc import Sequence

from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.services import ChannelServices
from leyden.errors import SellerAway
from leyden.values import Struct


class Unconfirmed(Struct, frozen=True, kw_only=True):
    """A published channel that is unconfirmed."""

    order_id: str
    channel_point: str
    blocks: int  # since it was published
    bumps: int
    sat_per_vb: int  # of the last bump; 0 without one
    answer: str  # the seller's lnd's response to it; "" is unknown
    needs_you: str  # why it needs the operator; "" if it does not


class SellerBalance(Struct, frozen=True, kw_only=True):
    """The seller's wallet with the coins that orders reserve."""

    pubkey: str
    uri: str
    height: int
    fee_sat_per_vb: int
    coins: int  # free ones: each opens one channel at a time
    free: Sats
    largest: Sats  # of the free coins
    reserved: Sats  # by orders that wait for payment or for their node
    locked: Sats  # by openings in progress
    unconfirmed: Sats


async def read(channels: ChannelServices) -> SellerBalance:
    """Return the seller's balance; raise SellerAway if it does not respond."""
    wallet = await reservations.read_wallet(channels)
    taken = await channels.database.reader.reserved_coins.all_()
    free = [each.sats for each in wallet.coins if each.outpoint not in taken]
    every = sum(each.sats for each in wallet.coins)
    return SellerBalance(
        pubkey=wallet.pubkey,
        uri=wallet.uri,
        height=wallet.height,
        fee_sat_per_vb=wallet.fee_sat_per_vb,
        coins=len(free),
        free=Sats(sum(free)),
        largest=Sats(max(free, default=0)),
        reserved=Sats(every - sum(free)),
        locked=wallet.locked,
        unconfirmed=wallet.unconfirmed,
    )


async def unconfirmed(channels: ChannelServices, *, height: int) -> list[Unconfirmed]:
    """Return the published channels that are unconfirmed."""
    reader = channels.database.reader.fundings
    answers = await reader.last_answers()
    found = []
    for each in await reader.unconfirmed():
        rate, answer = answers.get(each.order_id, (0, ""))
        found.append(
            Unconfirmed(
                order_id=each.order_id,
                channel_point=each.channel_point,
                blocks=max(0, height - each.since),
                bumps=each.bumps,
                sat_per_vb=rate,
                answer=answer,
                needs_you=str(each.obstacle),
            )
        )
    return found


async def denied(channels: ChannelServices) -> list[str]:
    """Return the permissions that the seller's macaroon lacks; raise SellerAway."""
    return await channels.seller.denied() if channels.seller is not None else []


async def unreachable(channels: ChannelServices) -> str:
    """Return why buyers can't receive through what the seller sells; "" if they can.

    lnd names a private channel in an invoice only if the graph has an announced channel
    of the peer, and payments reach an announced one only through its seller's others.
    """
    if channels.seller is None or await channels.seller.inbound():
        return ""
    return (
        "the seller has no announced channel with inbound capacity: payers can't reach "
        "the channels that it sells; get such channels from well-connected nodes, see "
        "docs/operators/sell-channels.md"
    )


async def address(channels: ChannelServices) -> str:
    """Return a new address of the seller's wallet, for deposits."""
    if channels.seller is None:
        raise SellerAway("this platform sells no direct channels")
    await reservations.read_wallet(channels)  # check that it is the right one
    return await channels.seller.address()


def alarm(balance: SellerBalance, *, low: Sats) -> str:
    """Return an alarm about a low wallet balance; "" if it is not low."""
    if balance.free >= low:
        return ""
    return (
        f"the seller's wallet has {balance.free:,} free sat: send more to the address "
        "from `leyden seller --address`"
    )


def old_macaroon(denied: Sequence[str]) -> str:
    """Return an alarm about a macaroon without all permissions; "" if it has all."""
    if not denied:
        return ""
    return (
        f"seller_macaroon lacks {', '.join(denied)}: the platform can't bump, or "
        "credit, channels that stay unconfirmed; bake a new one, see "
        "docs/operators/sell-channels.md"
    )
