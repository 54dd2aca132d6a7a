"""The list of sources that the setting `market` is."""

import pytest

from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.rules.sources import Source, parse, ticket_source
from leyden.errors import SetupError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("own", "own"),
        ("pool, own", "pool own"),
        (" own ,pool", "own pool"),
        ("simulated,own", "simulated own"),
        # As it was before there was a list, for one release more.
        ("pool", "pool own"),
        ("simulated", "simulated own"),
    ],
)
def test_a_list_is_read_in_its_order(text: str, found: str) -> None:
    assert " ".join(parse(text, has_seller=True)) == found


@pytest.mark.parametrize("text", ["pool", "simulated"])
def test_without_a_seller_one_word_is_one_source(text: str) -> None:
    assert " ".join(parse(text, has_seller=False)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "auction",
            "choose from pool, simulated, own, jit, lsps1:URL$",
        ),
        ("pool,", "market: '' is not a source"),
        ("POOL", "market: 'POOL' is not a source"),
        ("pool own", "not a source"),
        ("pool, pool", "market: a source is listed twice"),
        ("pool, simulated", "market: list pool or simulated, not both"),
    ],
)
def test_a_list_that_is_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(SetupError, match=why):
        parse(text, has_seller=True)


@pytest.mark.parametrize("text", ["own", "pool, own"])
def test_own_needs_a_seller(text: str) -> None:
    with pytest.raises(SetupError, match="market: seller_host must be set"):
        parse(text, has_seller=False)


def test_one_source_at_most_makes_tickets() -> None:
    assert ticket_source((Source.OWN, Source.POOL)) is Source.POOL
    assert ticket_source((Source.OWN,)) is None


def test_a_source_sells_tickets_or_direct_channels() -> None:
    assert {source: source.kind for source in Source} == {
        Source.POOL: ChannelKind.TICKET,
        Source.SIMULATED: ChannelKind.TICKET,
        Source.OWN: ChannelKind.DIRECT,
        Source.JIT: None,
        Source.LSPS1: ChannelKind.DIRECT,
    }


def test_jit_needs_a_purse_and_something_that_customers_can_order() -> None:
    found = parse("pool, jit", has_seller=False, has_purse=True)
    assert found == (Source.POOL, Source.JIT)
    with pytest.raises(SetupError, match="market: jit_host must be set for jit"):
        parse("pool, jit", has_seller=True)
    with pytest.raises(SetupError, match="market: list own, pool or simulated, too"):
        parse("jit", has_seller=True, has_purse=True)
