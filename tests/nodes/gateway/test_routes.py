"""From routes to ways in, without any gateway."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.nodes.gateway.routes import (
    APART,
    Listener,
    PeerPort,
    Route,
    UpstreamAddress,
    filter_chains,
    table,
)


def a_route(*whitelist: str, name: str = "harbour.nodes.test", **more: object) -> Route:
    values: dict[str, object] = {
        "node_id": "5f3e",
        "rest": UpstreamAddress("127.8.0.1", 8080),
        "grpc": UpstreamAddress("127.8.0.1", 10009),
        **more,
    }
    return Route(name=name, whitelist=whitelist, **values)  # type: ignore[arg-type]


def test_names_are_lower_case_and_also_end_with_a_dot() -> None:
    (chain,) = filter_chains(a_route("::/0", name="Harbour.Nodes.TEST."), Listener.REST)
    assert chain.names == ("harbour.nodes.test", "harbour.nodes.test.")


def test_each_entry_of_a_whitelist_has_a_passage_of_its_own() -> None:
    found = filter_chains(a_route("198.51.100.7", "2001:db8::/32"), Listener.REST)
    assert [chain.sources for chain in found] == [
        ("198.51.100.7",),
        ("2001:db8::/32",),
    ]


@given(st.sets(st.ip_addresses(v=4).map(str), max_size=60), st.ip_addresses().map(str))
def test_one_entry_more_or_less_moves_one_passage_at_most(
    entries: set[str], one: str
) -> None:
    rest = sorted(entries - {one})
    if len(rest) == APART:
        return  # here the filter chains come to be shared, so they all change
    without = filter_chains(a_route(*rest), Listener.REST)
    with_it = filter_chains(a_route(*rest, one), Listener.REST)
    assert len(set(with_it) - set(without)) == 1
    assert len(set(without) - set(with_it)) <= 1


@given(st.lists(st.ip_addresses().map(str), max_size=500))
def test_every_entry_is_in_exactly_one_passage(entries: list[str]) -> None:
    found = filter_chains(a_route(*entries), Listener.REST)
    sources = [source for chain in found for source in chain.sources]
    assert sorted(sources) == sorted(set(entries))
    assert len(found) <= APART
    assert len({chain.label for chain in found}) == len(found)


@pytest.mark.parametrize(
    "name",
    [
        "*.nodes.test",
        "*",
        "",
        ".",
        "harbour..test",
        "-harbour.test",
        "harbour.test\n",
        "härbour.test",
        "harbour.test/",
        "a" * 64 + ".test",
        ("a" * 60 + ".") * 5,
    ],
)
def test_what_is_no_host_name_is_no_route(name: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        a_route("::/0", name=name)


@pytest.mark.parametrize(
    "address",
    [
        UpstreamAddress("nodes.test", 8080),
        UpstreamAddress("127.0.0.1", 0),
        UpstreamAddress("127.0.0.1", 65_536),
        UpstreamAddress("127.1", 8080),
    ],
)
def test_what_is_no_address_is_no_route(address: UpstreamAddress) -> None:
    with pytest.raises(ValueError, match=r"is not a port|does not appear to be"):
        a_route("::/0", rest=address)


def test_one_name_leads_to_one_node() -> None:
    with pytest.raises(ValueError, match="is the name of both 5f3e and 77aa"):
        table([a_route("::/0"), a_route(name="HARBOUR.nodes.test.", node_id="77aa")])


def test_one_peer_port_leads_to_one_node() -> None:
    peers = PeerPort(21000, UpstreamAddress("127.8.0.1", 9735))
    other = {"name": "other.nodes.test", "node_id": "77aa"}
    assert len(table([a_route(peers=peers), a_route(**other)])) == 2
    with pytest.raises(ValueError, match="21000 is the peer port of both 5f3e and"):
        table([a_route(peers=peers), a_route(**other, peers=peers)])


@pytest.mark.parametrize(
    "peers",
    [
        PeerPort(0, UpstreamAddress("127.8.0.1", 9735)),
        PeerPort(65536, UpstreamAddress("127.8.0.1", 9735)),
        PeerPort(21000, UpstreamAddress("127.8.0.1", 0)),
        PeerPort(21000, UpstreamAddress("harbour.example", 9735)),
    ],
)
def test_what_is_no_peer_port_is_no_route(peers: PeerPort) -> None:
    with pytest.raises(ValueError, match=r"is not a port|does not appear to be"):
        a_route(peers=peers)


def test_one_node_has_one_route() -> None:
    with pytest.raises(ValueError, match="more than one route"):
        table([a_route("::/0"), a_route(name="other.nodes.test")])


def test_an_ipv6_address_is_written_with_brackets() -> None:
    assert str(UpstreamAddress("2001:db8::1", 8080)) == "[2001:db8::1]:8080"
