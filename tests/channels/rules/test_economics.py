"""The prices in docs/operators/economics.md are the ones that the program asks."""

import re
from pathlib import Path

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.rules import pricing
from leyden.channels.rules.pricing import AuctionTerms, Channel, Quote, Terms

PAGE = Path(__file__).parents[3] / "docs" / "operators" / "economics.md"
KEY = "02" + "ab" * 32
TERMS = Terms()


def channel(blocks: int = pricing.USUAL_LEASE, node_key: str = "") -> Channel:
    return Channel(
        capacity=Sats(1_000_000), lease_duration_blocks=blocks, node_key=node_key
    )


def charged(heading: str) -> dict[str, int]:
    """Return the rows of the table in a section: what is charged, by its name."""
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| ([\d,]+) \|", section, re.MULTILINE)
    return {name.strip("`"): int(sats.replace(",", "")) for name, sats in rows}


AUCTION = pricing.quote(channel(), TERMS, AuctionTerms())
OWN = pricing.direct_quote(channel(node_key=KEY), TERMS)
LSPS1 = pricing.quote_in_full(channel(4_380, KEY), TERMS)


@pytest.mark.parametrize(
    ("heading", "quote", "chain"),
    [
        ("The auction", AUCTION, "chain fee"),
        ("Your own channels", OWN, "funding transaction"),
        ("LSPS1", LSPS1, "funding transaction"),
    ],
)
def test_the_page_charges_what_the_program_charges(
    heading: str, quote: Quote, chain: str
) -> None:
    rows = charged(heading)
    blocks = quote.channel.lease_duration_blocks
    assert rows["premium"] == pricing.premium(
        quote.channel.capacity, quote.rate_fixed, blocks
    )
    assert rows.get("service_fee", rows.get("service fee")) == quote.service_fee
    assert rows.get("total_fee", rows.get("price")) == quote.total_fee
    parts = rows["premium"] + rows[chain] + rows.get("execution fee", 0)
    assert parts == rows.get("pool_fee", parts) == quote.pool_fee


def test_longer_leases_cost_what_the_page_says() -> None:
    page = PAGE.read_text()
    for blocks in (4_032, 52_416):
        quote = pricing.direct_quote(channel(blocks, KEY), TERMS)
        assert f"{quote.total_fee:,} sat" in page


def test_the_sums_add_up() -> None:
    """Each is said on the page: what is earned, what is left, what is locked."""
    page = PAGE.read_text()
    taken = 10 * 154
    earned = {
        "You earn 2,000 sat": AUCTION.service_fee,
        "You earn 6,999 sat": OWN.total_fee - 12_000,
        "You earn 23,357 sat": LSPS1.total_fee - taken,
        "leaves 5,299 sat": OWN.total_fee - 12_000 - 1_700,
        "21,657 after closing": LSPS1.total_fee - taken - 1_700,
        "at most 139,980 sat": 20 * (OWN.total_fee - 12_000),
        "105,980 after closing": 20 * (OWN.total_fee - 12_000 - 1_700),
    }
    for words, sats in earned.items():
        assert f"{sats:,}" in words
        assert words in page
