"""Prices, worked out by hand beside the program, and what holds for all of them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.domain.pricing import LEASES, AuctionTerms, Channel, Terms, premium, quote
from leyden.domain.units import Sats
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
