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
from leyden.channels.shop import Reserve, Shop
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.errors import Conflict, Malformed, SoldOut
from leyden.values import replace
from tests.channels.shop_harness import CHANNEL, HARBOUR, LIGHTHOUSE, ShopHarness
from tests.channels.stored_order import an_order
from tests.channels.test_direct_channels import PEER, channel

POOL, SIMULATED, OWN = Source.POOL, Source.SIMULATED, Source.OWN
TO_HOSTED = Channel(capacity=Sats(1_000_000), node_key=PEER, node_id="a node")


def unpaid(harness: ShopHarness, priced: Quote, organization: str = HARBOUR) -> Order:
    order = replace(an_order(1), organization_id=organization)
    return replace(order, quote=priced, created=harness.now)


def selling(harness: ShopHarness, *listed: Source, has_seller: bool = True) -> Shop:
    rules = replace(harness.rules, sources=listed)
    seller = harness.seller if has_seller else None
    return replace(harness.shop, rules=rules, seller=seller)


async def price(shop: Shop, asked: Channel) -> Quote:
    return await shop.sources[asked.kind].price(shop, asked)


async def prepare(shop: Shop, order: Order) -> Reserve:
    return await shop.sources[order.kind].prepare(shop, order)


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
    harness: ShopHarness,
    listed: tuple[Source, ...],
    ticket: Source | None,
    direct: Source | None,
) -> None:
    shop = selling(harness, *listed)
    assert sources.sold(shop) == listed
    assert sources.sells_tickets(shop) is (ticket is not None)
    assert sources.sells_direct(shop) is (direct is not None)
    if ticket:
        assert sources.of(shop, CHANNEL) is ticket
    else:
        with pytest.raises(
            Malformed,
            match=r"^node: is required, or node_id: this platform sells no tickets",
        ):
            sources.of(shop, CHANNEL)
    if direct:
        assert sources.of(shop, channel()) is direct
        assert sources.of(shop, TO_HOSTED) is direct
        sources.check_direct(shop, field="node")
    else:
        for to, field in ((channel(), "node"), (TO_HOSTED, "node_id")):
            why = f"^{field}: this platform sells only tickets; leave this field out$"
            with pytest.raises(Malformed, match=why):
                sources.of(shop, to)
            with pytest.raises(Malformed, match=why):
                sources.check_direct(shop, field=field)


def test_without_a_seller_no_own_channels_are_sold(harness: ShopHarness) -> None:
    shop = selling(harness, POOL, OWN, has_seller=False)
    assert sources.sold(shop) == (POOL,)
    assert not sources.sells_direct(shop)


async def test_the_lifetimes_on_offer_are_the_auctions_where_there_is_one(
    harness: ShopHarness,
) -> None:
    harness.market.auction = AuctionTerms(leases=(2_016, 4_032))
    assert await sources.leases(selling(harness, POOL, OWN)) == (2_016, 4_032)
    harness.market.away = True
    assert await sources.leases(selling(harness, OWN)) == LEASES


async def test_each_source_has_its_own_price(harness: ShopHarness) -> None:
    terms = Terms(rate_bps=77)
    harness.rules = replace(harness.rules, terms=terms)
    harness.market.auction = AuctionTerms(execution_fee_base=Sats(21))
    shop = selling(harness, POOL, OWN)
    ticket = await price(shop, CHANNEL)
    assert ticket == quote(CHANNEL, terms, harness.market.auction)
    direct = await price(shop, channel())
    assert direct == direct_quote(channel(), terms)


async def test_a_ticket_is_for_sale_unless_nobody_sells(
    harness: ShopHarness, logged: pytest.LogCaptureFixture
) -> None:
    """An auction that is away may be back before it is paid."""
    shop = selling(harness, POOL)
    order = unpaid(harness, await price(shop, CHANNEL))
    await prepare(shop, order)
    assert "while the auction is unavailable" not in logged.text
    harness.market.away = True
    await prepare(shop, order)
    assert "accepted an order while the auction is unavailable" in logged.text
    harness.market.away, harness.market.sold_out = False, True
    with pytest.raises(SoldOut):
        await prepare(shop, order)


class Asked(SimulatedMarket):
    """A market that remembers for what it was to be ready."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Quote] = []

    async def ready(self, quote: Quote) -> None:
        self.asked.append(quote)
        await super().ready(quote)


async def test_the_auction_is_asked_for_the_channel_itself(
    harness: ShopHarness,
) -> None:
    harness.market = market = Asked()
    shop = selling(harness, POOL)
    priced = await price(shop, CHANNEL)
    await prepare(shop, unpaid(harness, priced))
    assert market.asked == [priced]


async def test_an_order_of_the_same_buyers_is_in_the_way_of_a_direct_one(
    harness: ShopHarness,
) -> None:
    """Unpaid ones of others are not."""
    harness.seller.fill([3_000_000, 3_000_000])
    shop = selling(harness, OWN)
    priced = await price(shop, channel())
    order = unpaid(harness, priced)
    reserve = await prepare(shop, order)
    await harness.create(channel())
    with pytest.raises(Conflict, match="another open order"):
        await prepare(shop, order)
    await prepare(shop, unpaid(harness, priced, LIGHTHOUSE))
    with pytest.raises(Conflict, match="another open order"):
        async with harness.database.transaction() as tx:
            await tx.orders.add(order)
            await reserve(tx, order)


async def test_a_direct_channel_is_prepared_with_coins_and_reserves_them(
    harness: ShopHarness,
) -> None:
    harness.seller.fill([3_000_000] * 3)
    shop = selling(harness, OWN)
    order = unpaid(harness, await price(shop, channel()))
    reserve = await prepare(shop, order)
    async with harness.database.transaction() as tx:
        await tx.orders.add(order)
        assert await tx.reserved_coins.of_order(order.id) == []
        await reserve(tx, order)
        (coin,) = await tx.reserved_coins.of_order(order.id)
        assert coin.sats == 3_000_000
