"""Prices, worked out by hand beside the program, and what holds for all of them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import (
    LEASES,
    AuctionTerms,
    Channel,
    NodeTier,
    Quote,
    Terms,
    direct_quote,
    premium,
    quote,
    quote_in_full,
)
from leyden.errors import Malformed

TERMS = Terms()
AUCTION = AuctionTerms()


def channels() -> st.SearchStrategy[Channel]:
    return st.builds(
        lambda units, share, blocks, bps: Channel(
            capacity=Sats(units * 100_000),
            self_chan_balance=Sats(units * 100_000 * share // 1_000),
            lease_duration_blocks=blocks,
            bps=bps,
        ),
        st.integers(1, 167),
        st.integers(0, 1_000),
        st.sampled_from(LEASES),
        st.none() | st.integers(1, 10_000),
    )


def test_a_million_for_two_weeks_at_the_going_rate() -> None:
    """Worked by hand.

    rate      50 / 10,000 / 2,016 * 1e9 = 2,480.15...            -> 2,480
    premium   1,000,000 * 2,480 / 1e9 * 2,016 = 4,999.68         -> 4,999
    execution 1 + 1,000,000 * 0.001                               = 1,001
    chain     (43 + 41 + 22) * 4 + 229 = 653 wu at 12.5 sat = 8,162.5 -> 8,163
    service   1,000 + 1,000,000 * 0.001                           = 2,000
    """
    channel = Channel(capacity=Sats(1_000_000))
    priced = quote(channel, TERMS, AUCTION)
    assert priced.channel == channel
    assert priced.rate_bps == 50
    assert priced.rate_fixed == 2_480
    assert priced.pool_fee == 4_999 + 1_001 + 8_163
    assert priced.service_fee == 2_000
    assert priced.self_chan_balance_fee == 0
    assert priced.total_fee == 16_163


def test_a_balance_of_ones_own_costs_itself_and_a_margin() -> None:
    """200,000 at 2,000 ppm is 400; 200,001 would be 400.002, so 401."""
    channel = Channel(capacity=Sats(1_000_000), self_chan_balance=Sats(200_000))
    assert quote(channel, TERMS, AUCTION).self_chan_balance_fee == 200_400
    channel = Channel(capacity=Sats(1_000_000), self_chan_balance=Sats(200_001))
    assert quote(channel, TERMS, AUCTION).self_chan_balance_fee == 200_001 + 401


def test_the_auction_may_take_its_fee_and_the_buyers_balance() -> None:
    channel = Channel(capacity=Sats(1_000_000), self_chan_balance=Sats(200_000))
    priced = quote(channel, TERMS, AUCTION)
    assert priced.auction_share == priced.pool_fee + 200_000
    assert not priced.keeps_unused_fee
    assert quote(channel, Terms(keeps_unused_fee=True), AUCTION).keeps_unused_fee


def test_a_year_costs_twenty_six_times_two_weeks() -> None:
    """50 bps * 52,416 / 2,016 = 1,300; 1,300 / 10,000 / 52,416 * 1e9 = 2,480.15."""
    channel = Channel(capacity=Sats(5_000_000), lease_duration_blocks=52_416)
    priced = quote(channel, TERMS, AUCTION)
    assert priced.rate_bps == 1_300
    assert priced.rate_fixed == 2_480
    # 5,000,000 * 2,480 * 52,416 / 1e9 = 649,958.4
    assert priced.pool_fee == 649_958 + 1 + 5_000 + 8_163


def test_the_buyers_own_rate_is_taken() -> None:
    """75 / 10,000 / 4,032 * 1e9 = 1,860.1; * 300,000 * 4,032 / 1e9 = 2,249.8."""
    channel = Channel(capacity=Sats(300_000), lease_duration_blocks=4032, bps=75)
    priced = quote(channel, TERMS, AUCTION)
    assert (priced.rate_bps, priced.rate_fixed) == (75, 1_860)
    assert priced.pool_fee == 2_249 + 1 + 300 + 8_163


def test_the_example_of_the_auctions_own_guide() -> None:
    """1,000,000 at 2,480 for 2,016 blocks is 4,999."""
    assert premium(Sats(1_000_000), 2_480, 2_016) == 4_999


@given(channels())
def test_no_fee_is_off_by_a_whole_satoshi(channel: Channel) -> None:
    priced = quote(channel, TERMS, AUCTION)
    blocks = channel.lease_duration_blocks
    exact_rate = Fraction(priced.rate_bps * 10**9, 10_000 * blocks)
    assert 0 <= exact_rate - priced.rate_fixed < 1
    exact_pool = (
        Fraction(channel.capacity * priced.rate_fixed * blocks, 10**9)
        + AUCTION.execution_fee_base
        + Fraction(channel.capacity * AUCTION.execution_fee_ppm, 10**6)
        + Fraction(TERMS.chain_fee_sat_per_kw * 653, 1_000)
    )
    assert -1 < priced.pool_fee - exact_pool < 2  # one part down, two parts up
    exact_service = TERMS.service_fee_base + Fraction(
        channel.capacity * TERMS.service_fee_ppm, 10**6
    )
    assert 0 <= priced.service_fee - exact_service < 1
    exact_balance = channel.self_chan_balance * (
        1 + Fraction(TERMS.self_chan_balance_ppm, 10**6)
    )
    assert 0 <= priced.self_chan_balance_fee - exact_balance < 1


@given(channels())
def test_the_total_is_its_parts_and_all_are_whole(channel: Channel) -> None:
    priced = quote(channel, TERMS, AUCTION)
    parts = (priced.service_fee, priced.pool_fee, priced.self_chan_balance_fee)
    assert all(type(part) is int and part >= 0 for part in parts)
    assert priced.total_fee == sum(parts) > 0
    assert priced.rate_fixed > 0


@given(channels(), st.integers(1, 166))
def test_a_larger_channel_never_costs_less(channel: Channel, more: int) -> None:
    units = min(channel.capacity // 100_000 + more, 167)
    larger = Channel(
        capacity=Sats(units * 100_000),
        self_chan_balance=channel.self_chan_balance,
        lease_duration_blocks=channel.lease_duration_blocks,
        bps=channel.bps,
    )
    assert (
        quote(larger, TERMS, AUCTION).total_fee
        >= quote(channel, TERMS, AUCTION).total_fee
    )


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        (Channel(capacity=Sats(0)), "capacity"),
        (Channel(capacity=Sats(-100_000)), "capacity"),
        (Channel(capacity=Sats(50_000)), "capacity"),
        (Channel(capacity=Sats(150_000)), "capacity"),
        (Channel(capacity=Sats(16_800_000)), "capacity"),
        (Channel(capacity=Sats(10**30)), "capacity"),
        (
            Channel(capacity=Sats(100_000), self_chan_balance=Sats(-1)),
            "self_chan_balance",
        ),
        (
            Channel(capacity=Sats(100_000), self_chan_balance=Sats(100_001)),
            "self_chan_balance",
        ),
        (
            Channel(capacity=Sats(100_000), lease_duration_blocks=2017),
            "lease_duration_blocks",
        ),
        (Channel(capacity=Sats(100_000), bps=0), "bps"),
        (Channel(capacity=Sats(100_000), bps=-5), "bps"),
        (Channel(capacity=Sats(100_000), bps=10_001), "bps"),
    ],
)
def test_what_is_not_sold_is_refused_by_name(wish: Channel, field: str) -> None:
    with pytest.raises(Malformed, match=f"^{field}: "):
        quote(wish, TERMS, AUCTION)


def test_a_refused_duration_names_those_that_are_offered() -> None:
    wish = Channel(capacity=Sats(100_000), lease_duration_blocks=2017)
    offered = ", ".join(map(str, AUCTION.leases))
    with pytest.raises(Malformed, match=f"{offered}\\b"):
        quote(wish, TERMS, AUCTION)


@pytest.mark.parametrize("bps", [1, 10_000])
def test_the_lowest_and_the_highest_rate_are_taken(bps: int) -> None:
    assert (
        quote(Channel(capacity=Sats(100_000), bps=bps), TERMS, AUCTION).rate_bps == bps
    )


# Direct channels, which the operator's own seller opens.

DEAR = Terms(
    capacity_unit=Sats(1),
    rate_bps=77,
    service_fee_base=Sats(210),
    service_fee_ppm=2_000,
    seller_fee_sat_per_vb=7,
    seller_largest=Sats(1_300_000),
)


def test_a_direct_channel_costs_the_going_rate_and_its_transaction() -> None:
    """Worked by hand: the premium as above, and 240 vB at 50 sat/vB are 12,000."""
    channel = Channel(capacity=Sats(1_000_000))
    priced = direct_quote(channel, TERMS)
    assert priced == Quote(
        channel=channel,
        rate_bps=50,
        rate_fixed=2_480,
        service_fee=Sats(2_000),
        pool_fee=Sats(4_999 + 12_000),
        self_chan_balance_fee=Sats(0),
        keeps_unused_fee=False,
    )
    assert priced.total_fee == 18_999


def test_every_term_of_the_operator_is_in_the_price_of_a_direct_channel() -> None:
    """Worked by hand, for four weeks.

    rate     77 * 4,032 / 2,016                                   = 154
             154 / 10,000 / 4,032 * 1e9 = 3,819.44...             -> 3,819
    premium  1,234,567 * 3,819 * 4,032 / 1e9 = 19,010.03...       -> 19,010
    chain    240 vB at 7 sat                                      = 1,680
    service  210 + 1,234,567 * 0.002 = 2,679.134                  -> 2,680
    """
    channel = Channel(capacity=Sats(1_234_567), lease_duration_blocks=4_032)
    assert direct_quote(channel, DEAR) == Quote(
        channel=channel,
        rate_bps=154,
        rate_fixed=3_819,
        service_fee=Sats(2_680),
        pool_fee=Sats(19_010 + 1_680),
        self_chan_balance_fee=Sats(0),
    )


def test_who_has_no_credit_pays_in_full_for_any_lease_and_size() -> None:
    """Worked by hand, for a month, as wallets ask: no lease of the auction.

    rate     77 * 4,380 / 2,016 = 167.29...                       -> 168
             168 / 10,000 / 4,380 * 1e9 = 3,835.6...              -> 3,835
    premium  2,000,001 * 3,835 * 4,380 / 1e9 = 33,594.6...        -> 33,594
    service  210 + 2,000,001 * 0.002 = 4,210.002                  -> 4,211
    """
    channel = Channel(capacity=Sats(2_000_001), lease_duration_blocks=4_380)
    assert quote_in_full(channel, DEAR) == Quote(
        channel=channel,
        rate_bps=168,
        rate_fixed=3_835,
        service_fee=Sats(4_211),
        pool_fee=Sats(33_594 + 1_680),
        self_chan_balance_fee=Sats(0),
        keeps_unused_fee=True,
    )


@given(st.integers(1, 16_700_000), st.integers(1, 52_416), st.integers(0, 1_000))
def test_the_price_of_a_direct_channel_tells_the_fee_rate_that_it_covers(
    capacity: int, blocks: int, sat_per_vb: int
) -> None:
    channel = Channel(capacity=Sats(capacity), lease_duration_blocks=blocks)
    priced = quote_in_full(channel, Terms(seller_fee_sat_per_vb=sat_per_vb))
    assert priced.highest_fee_sat_per_vb == sat_per_vb


@pytest.mark.parametrize(
    ("wish", "refused"),
    [
        (Channel(capacity=Sats(50_000)), "capacity: must be a multiple of 100,000 "),
        (
            Channel(capacity=Sats(5_100_000)),
            "capacity: must be at most 5,000,000 for a channel to a named node$",
        ),
        (
            Channel(capacity=Sats(100_000), lease_duration_blocks=4_380),
            "lease_duration_blocks: must be one of 2016, 4032, ",
        ),
        (
            Channel(capacity=Sats(100_000), self_chan_balance=Sats(1)),
            "self_chan_balance: must be 0 with node or node_id$",
        ),
        (Channel(capacity=Sats(100_000), bps=50), "bps: must not be set with node"),
        (
            Channel(capacity=Sats(100_000), node_tier=NodeTier.ANY),
            "node_tier: must not be set with node",
        ),
    ],
)
def test_a_direct_channel_that_is_not_sold_is_refused_by_name(
    wish: Channel, refused: str
) -> None:
    with pytest.raises(Malformed, match=f"^{refused}"):
        direct_quote(wish, Terms(seller_largest=Sats(5_000_000)))


def test_the_largest_direct_channel_is_sold() -> None:
    largest = Channel(capacity=Sats(5_000_000))
    assert direct_quote(largest, Terms(seller_largest=Sats(5_000_000))).total_fee > 0
