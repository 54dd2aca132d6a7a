"""Satoshis: whole numbers, with divisions rounded in one direction; and bytes."""

from typing import NewType

Sats = NewType("Sats", int)

# All that will ever exist; a larger amount is a bug.
MAX_SATS = Sats(21_000_000 * 100_000_000)

BLOCKS_PER_DAY = 144  # six an hour
BLOCKS_PER_WEEK = 7 * BLOCKS_PER_DAY

_MILLION = 1_000_000
_KILO = 1024.0
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def rounded_up(numerator: int, denominator: int) -> Sats:
    """Divide and round up to whole satoshis."""
    return Sats(-(-numerator // denominator))


def part_per_million(sats: int, ppm: int) -> Sats:
    """Return `ppm` millionths of a sum, rounded up."""
    return rounded_up(sats * ppm, _MILLION)


def size(count: int) -> str:
    """Format a number of bytes: `1.5 MiB`."""
    left = float(count)
    for unit in _UNITS:
        if left < _KILO or unit == _UNITS[-1]:
            break
        left /= _KILO
    return f"{left:.0f} {unit}" if unit == "B" else f"{left:.1f} {unit}"


def cores(count: float) -> str:
    """Format CPU usage: `12.5 % of a core`."""
    return f"{100 * count:.1f} % of a core"


def weeks(blocks: int) -> str:
    """Format a number of blocks as a duration: `2 weeks (2,016 blocks)`."""
    count = blocks / BLOCKS_PER_WEEK
    unit = "week" if count == 1 else "weeks"
    return f"{count:g} {unit} ({blocks:,} blocks)"
