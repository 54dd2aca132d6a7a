"""Where a channel comes from, by what the operator lists and what the buyer names."""

import pytest

from leyden.base.rules.units import Sats
from leyden.channels import sources
from leyden.channels.rules.orders import Order
from leyden.channels.rules.pricing import (
    LEASES,
    AuctionTerms,
    Channel,
    Quote,
    Terms,
    direct_quote,
    quote,
)
from leyden.channels.rules.sources import Source
from leyden.channels.services import ChannelServices, Reserve
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.errors import Conflict, Malformed, SoldOut
from leyden.values import replace
from tests.channels.orders_harness import CHANNEL, HARBOUR, LIGHTHOUSE, OrdersHarness
from tests.channels.stored_order import an_order
from tests.channels.test_direct_channels import PEER, channel

POOL, SIMULATED, OWN = Source.POOL, Source.SIMULATED, Source.OWN
TO_HOSTED = Channel(capacity=Sats(1_000_000), node_key=PEER, node_id="a node")


def unpaid(harness: OrdersHarness, priced: Quote, organization: str = HARBOUR) -> Order:
    order = replace(an_order(1), organization_id=organization)
    return replace(order, quote=priced, created=harness.now)


def selling(
    harness: OrdersHarness, *listed: Source, has_seller: bool = True
) -> ChannelServices:
    rules = replace(harness.rules, sources=listed)
    seller = harness.seller if has_seller else None
    return replace(harness.channels, rules=rules, seller=seller)


async def price(channels: ChannelServices, channel: Channel) -> Quote:
    return await channels.sources[channel.kind].price(channels, channel, whose=HARBOUR)


async def prepare(channels: ChannelServices, order: Order) -> Reserve:
    return await channels.sources[order.kind].prepare(channels, order)


@pytest.mark.parametrize(
    ("listed", "ticket", "direct"),
    [
        ((POOL, OWN), POOL, OWN),
        ((OWN, POOL), POOL, OWN),
        ((SIMULATED, OWN), SIMULATED, OWN),
        ((SIMULATED,), SIMULATED, None),
        ((POOL,), POOL, None),
        ((OWN,), None, OWN),
    ],
)
def test_an_order_is_of_the_listed_source_that_sells_its_channel(
    harness: OrdersHarness,
    listed: tuple[Source, ...],
    ticket: Source | None,
    direct: Source | None,
) -> None:
    channels = selling(harness, *listed)
    assert sources.sold(channels) == listed
    assert sources.sells_tickets(channels) is (ticket is not None)
    assert sources.sells_direct(channels) is (direct is not None)
    if ticket:
        assert sources.of(channels, CHANNEL) is ticket
    else:
        with pytest.raises(
            Malformed,
            match=r"^node: is required, or node_id: this platform sells no tickets",
        ):
            sources.of(channels, CHANNEL)
    if direct:
        assert sources.of(channels, channel()) is direct
        assert sources.of(channels, TO_HOSTED) is direct
        sources.check_direct(channels, field="node")
    else:
        for to, field in ((channel(), "node"), (TO_HOSTED, "node_id")):
            why = f"^{field}: this platform sells only tickets; leave this field out$"
            with pytest.raises(Malformed, match=why):
                sources.of(channels, to)
            with pytest.raises(Malformed, match=why):
                sources.check_direct(channels, field=field)


def test_without_a_seller_no_own_channels_are_sold(harness: OrdersHarness) -> None:
    channels = selling(harness, POOL, OWN, has_seller=False)
    assert sources.sold(channels) == (POOL,)
    assert not sources.sells_direct(channels)


async def test_the_lifetimes_on_offer_are_the_auctions_where_there_is_one(
    harness: OrdersHarness,
) -> None:
    harness.market.auction = AuctionTerms(leases=(2_016, 4_032))
    assert await sources.leases(selling(harness, POOL, OWN)) == (2_016, 4_032)
    harness.market.away = True
    assert await sources.leases(selling(harness, OWN)) == LEASES


async def test_each_source_has_its_own_price(harness: OrdersHarness) -> None:
    terms = Terms(rate_bps=77)
    harness.rules = replace(harness.rules, terms=terms)
    harness.market.auction = AuctionTerms(execution_fee_base=Sats(21))
    channels = selling(harness, POOL, OWN)
    ticket = await price(channels, CHANNEL)
    assert ticket == quote(CHANNEL, terms, harness.market.auction)
    direct = await price(channels, channel())
    assert direct == direct_quote(channel(), terms)


async def test_a_ticket_is_for_sale_unless_nobody_sells(
    harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    """An auction that is away may be back before it is paid."""
    channels = selling(harness, POOL)
    order = unpaid(harness, await price(channels, CHANNEL))
    await prepare(channels, order)
    assert "while the auction is unavailable" not in logged.text
    harness.market.away = True
    await prepare(channels, order)
    assert "accepted an order while the auction is unavailable" in logged.text
    harness.market.away, harness.market.sold_out = False, True
    with pytest.raises(SoldOut):
        await prepare(channels, order)


class RecordingMarket(SimulatedMarket):
    """A market that remembers for what it was to be ready."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Quote] = []

    async def ready(self, quote: Quote) -> None:
        self.asked.append(quote)
        await super().ready(quote)


async def test_the_auction_is_asked_for_the_channel_itself(
    harness: OrdersHarness,
) -> None:
    harness.market = market = RecordingMarket()
    channels = selling(harness, POOL)
    priced = await price(channels, CHANNEL)
    await prepare(channels, unpaid(harness, priced))
    assert market.asked == [priced]


async def test_an_order_of_the_same_buyers_is_in_the_way_of_a_direct_one(
    harness: OrdersHarness,
) -> None:
    """Unpaid ones of others are not."""
    harness.seller.fill([3_000_000, 3_000_000])
    channels = selling(harness, OWN)
    priced = await price(channels, channel())
    order = unpaid(harness, priced)
    reserve = await prepare(channels, order)
    await harness.create(channel())
    with pytest.raises(Conflict, match="another open order"):
        await prepare(channels, order)
    await prepare(channels, unpaid(harness, priced, LIGHTHOUSE))
    with pytest.raises(Conflict, match="another open order"):
        async with harness.database.transaction() as tx:
            await tx.orders.add(order)
            await reserve(tx, order)


async def test_a_direct_channel_is_prepared_with_coins_and_reserves_them(
    harness: OrdersHarness,
) -> None:
    harness.seller.fill([3_000_000] * 3)
    channels = selling(harness, OWN)
    order = unpaid(harness, await price(channels, channel()))
    reserve = await prepare(channels, order)
    async with harness.database.transaction() as tx:
        await tx.orders.add(order)
        assert await tx.reserved_coins.of_order(order.id) == []
        await reserve(tx, order)
        (coin,) = await tx.reserved_coins.of_order(order.id)
        assert coin.sats == 3_000_000
