"""The list of sources that the setting `market` is."""

import pytest

from leyden.channels.rules.pricing import ChannelKind
from leyden.channels.rules.sources import Source, lsps, parse, ticket_source
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


def test_other_lsps_are_listed_by_their_urls() -> None:
    text = "own, lsps1:https://lsp.example/api/v1/, lsps1:https://other.example"
    found = parse(text, has_seller=True, has_payer=True)
    assert found == (Source.OWN, Source.LSPS1)
    assert lsps(text, has_private_chain=False) == (
        "https://lsp.example/api/v1",
        "https://other.example",
    )
    assert lsps("own, pool", has_private_chain=False) == ()
    assert parse("lsps1:https://lsp.example", has_seller=False, has_payer=True) == (
        Source.LSPS1,
    )


def test_other_lsps_need_an_lnd_that_pays() -> None:
    with pytest.raises(SetupError, match="market: buy_host or seller_host must be set"):
        parse("lsps1:https://lsp.example", has_seller=False)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "lsp.example",
        "ftp://lsp.example",
        "https://user:password@lsp.example",
        "https://lsp.example/?key=1",
        "https://lsp.example/#x",
        "https://lsp.example/a b",
        "https://lsp.example:port/",
        "http://lsp.example/api/v1",
        "http://127.0.0.1.lsp.example/",
    ],
)
def test_a_url_of_an_lsp_is_checked(url: str) -> None:
    with pytest.raises(SetupError, match="market: a source lsps1:URL needs"):
        lsps(f"lsps1:{url}", has_private_chain=False)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://[::1]:80/v1", "http://localhost/x"]
)
def test_without_tls_an_lsp_is_on_this_machine(url: str) -> None:
    assert lsps(f"lsps1:{url}", has_private_chain=False) == (url,)


def test_without_tls_an_lsp_may_be_anywhere_on_a_private_chain() -> None:
    assert lsps("lsps1:http://lsp:80", has_private_chain=True) == ("http://lsp:80",)
