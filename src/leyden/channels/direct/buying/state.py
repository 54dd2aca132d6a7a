"""What is bought from other LSPs, and what that lacks."""

from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.direct.buying import lsp_source
from leyden.channels.direct.reservations import HOUR
from leyden.channels.direct.rules.purchases import SPENT
from leyden.channels.rules import sources
from leyden.channels.services import ChannelServices
from leyden.errors import SellerAway
from leyden.values import Struct, asdict

OFF: Final = (
    "market: lists no lsps1:URL, so no channels are bought from other LSPs; see "
    "docs/operators/sell-channels.md"
)


class BuyingState(Struct, frozen=True, kw_only=True):
    """The purchases from other LSPs."""

    lsps: dict[str, str]  # the address of each one's node; "" if it does not answer
    payer: str  # the public key of the lnd that pays; "" if it does not answer
    spendable: Sats
    spent_this_hour: Sats  # at most
    most_per_hour: Sats
    purchases: dict[str, Any]  # by status
    cost: Sats  # of all that was paid
    earned: Sats  # service fees of what was delivered
    missing: tuple[str, ...]  # what is missing, and what to do about it


async def read(channels: ChannelServices) -> BuyingState:
    """Return the state of the purchases."""
    reader, missing = channels.database.reader, []
    lsps = {}
    for url in channels.lsps.listed:
        try:
            lsps[url] = (await channels.lsps.at(url).info()).uri
        except SellerAway as error:
            lsps[url] = ""
            missing.append(f"{url}: {error}")
    payer, spendable = "", Sats(0)
    try:
        lnd, node = await lsp_source.ready(channels)
        payer, spendable = node.pubkey, await lnd.spendable()
    except SellerAway as error:
        missing.append(str(error))
    if payer and spendable < channels.rules.buying.most:
        missing.append(
            f"the lnd that pays can send {spendable:,} sat, which is less than "
            "buy_most: give it channels with a local balance"
        )
    totals = await reader.purchases.totals()
    return BuyingState(
        lsps=lsps,
        payer=payer,
        spendable=spendable,
        spent_this_hour=await reader.purchases.spent_since(channels.clock() - HOUR),
        most_per_hour=channels.rules.buying.most_per_hour,
        purchases={str(status): asdict(each) for status, each in totals.items()},
        cost=Sats(
            sum(
                each.price + each.routing_fees
                for status, each in totals.items()
                if status in SPENT
            )
        ),
        earned=await reader.purchases.earned(),
        missing=tuple(missing),
    )


def is_on(channels: ChannelServices) -> bool:
    """Return whether channels are bought."""
    return sources.Source.LSPS1 in channels.rules.sources
