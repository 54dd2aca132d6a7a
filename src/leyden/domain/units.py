"""Satoshis are whole numbers, and what is divided is rounded in one direction."""

from typing import NewType

Sats = NewType("Sats", int)

# All there will ever be; a larger sum is a mistake somewhere.
EVERY_SAT = Sats(21_000_000 * 100_000_000)

_MILLION = 1_000_000


def rounded_up(numerator: int, denominator: int) -> Sats:
    """Divide, and give whole satoshis: never less than the exact share."""
    return Sats(-(-numerator // denominator))


def part_per_million(sats: int, ppm: int) -> Sats:
    """Give so many millionths of a sum, rounded up."""
    return rounded_up(sats * ppm, _MILLION)
