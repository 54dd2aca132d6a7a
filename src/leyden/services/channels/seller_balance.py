"""What the seller of direct channels has, and what of it is promised."""

from leyden.domain.units import Sats
from leyden.errors import SellerAway
from leyden.services.channels import promises
from leyden.services.channels.shop import Shop
from leyden.values import Struct


class SellerBalance(Struct, frozen=True, kw_only=True):
    """The seller's wallet with the coins that orders reserve."""

    pubkey: str
    uri: str
    height: int
    fee_sat_per_vb: int
    coins: int  # free ones: each opens one channel at a time
    free: Sats
    largest: Sats  # of the free coins
    reserved: Sats  # by orders that wait for payment or their node
    locked: Sats  # by openings under way
    unconfirmed: Sats


async def look(shop: Shop) -> SellerBalance:
    """Return the seller's balance; raise SellerAway without an answer."""
    wallet = await promises.look(shop)
    taken = await shop.database.reader.reserved_coins.all_()
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


async def address(shop: Shop) -> str:
    """Return a new address of the seller's wallet, to fill it."""
    if shop.seller is None:
        raise SellerAway("this platform sells no direct channels")
    await promises.look(shop)  # it is the right one
    return await shop.seller.address()


def alarm(balance: SellerBalance, *, low: Sats) -> str:
    """Return what to do about a wallet that is nearly empty; "" if all is well."""
    if balance.free >= low:
        return ""
    return (
        f"the seller's wallet has {balance.free:,} free sat: `leyden seller --address` "
        "prints where to send more"
    )
