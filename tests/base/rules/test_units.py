"""Satoshis rounded in one direction; bytes and blocks as people read them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.base.rules.units import cores, part_per_million, rounded_up, size, weeks


@given(st.integers(0, 21_000_000 * 10**8), st.integers(1, 10**9))
def test_a_division_is_never_below_the_exact_share(sats: int, parts: int) -> None:
    assert 0 <= rounded_up(sats, parts) - Fraction(sats, parts) < 1


@given(st.integers(0, 21_000_000 * 10**8), st.integers(0, 10**6))
def test_a_part_per_million_is_never_below_the_exact_one(sats: int, ppm: int) -> None:
    assert 0 <= part_per_million(sats, ppm) - Fraction(sats * ppm, 10**6) < 1


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_536, "1.5 KiB"),
        (1024**2 - 1_024, "1023.0 KiB"),
        (1024**2, "1.0 MiB"),
        (1024**3, "1.0 GiB"),
        (1024**4, "1.0 TiB"),
        (5_000 * 1024**4, "5000.0 TiB"),
    ],
)
def test_bytes_are_told_in_the_largest_unit_that_they_fill(
    count: int, text: str
) -> None:
    assert size(count) == text


def test_processors_are_told_as_a_part_of_one() -> None:
    assert [cores(0), cores(0.1254), cores(2)] == [
        "0.0 % of a core",
        "12.5 % of a core",
        "200.0 % of a core",
    ]


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        (1_008, "1 week (1,008 blocks)"),
        (2_016, "2 weeks (2,016 blocks)"),
        (1_512, "1.5 weeks (1,512 blocks)"),
        (52_416, "52 weeks (52,416 blocks)"),
    ],
)
def test_blocks_are_told_in_weeks(blocks: int, text: str) -> None:
    assert weeks(blocks) == text
