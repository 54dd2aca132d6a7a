"""The catalogue of all that the compiler builds without a cluster.

The auctioneer is our own: its folder here is a link to the one at the root of the
clone, and a wheel contains it in full.
"""

from pathlib import Path
from typing import Final

from leyden.base.daemons import catalogue
from leyden.base.daemons.catalogue import Program, ToolSet

AUCTIONEER: Final = ToolSet(
    name="auctioneer",
    folder=Path(__file__).with_name("auctioneer"),
    programs=(Program("auctioneer", "0.1.0", "leyden/auctioneer"),),
    seconds=10,
)
# What the first `leyden up` builds comes first.
SETS: Final = (*catalogue.SETS[:2], AUCTIONEER, *catalogue.SETS[2:])


def find(name: str, version: str | None = None) -> tuple[ToolSet, Program]:
    """Return a program and its tool set."""
    return catalogue.find(name, version, sets=SETS)
