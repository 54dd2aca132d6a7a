"""From routes to ways in, without any gateway."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.gateway.routes import APART, Address, Door, Route, passages, table


def a_route(*whitelist: str, name: str = "harbour.nodes.test", **more: object) -> Route:
    values: dict[str, object] = {
        "node_id": "5f3e",
        "rest": Address("127.8.0.1", 8080),
        "grpc": Address("127.8.0.1", 10009),
        **more,
    }
    return Route(name=name, whitelist=whitelist, **values)  # type: ignore[arg-type]


def test_an_empty_whitelist_is_no_way_in_at_all() -> None:
    assert passages(a_route(), Door.REST) == ()
    assert passages(a_route(), Door.GRPC) == ()


def test_a_door_that_is_switched_off_is_no_way_in() -> None:
    route = a_route("198.51.100.7", rest=None)
    assert passages(route, Door.REST) == ()
    assert [passage.to.port for passage in passages(route, Door.GRPC)] == [10009]


def test_names_are_lower_case_and_also_end_with_a_dot() -> None:
    (passage,) = passages(a_route("::/0", name="Harbour.Nodes.TEST."), Door.REST)
    assert passage.names == ("harbour.nodes.test", "harbour.nodes.test.")


def test_each_entry_of_a_whitelist_has_a_passage_of_its_own() -> None:
    found = passages(a_route("198.51.100.7", "2001:db8::/32"), Door.REST)
    assert [passage.sources for passage in found] == [
        ("198.51.100.7",),
        ("2001:db8::/32",),
    ]


@given(st.sets(st.ip_addresses(v=4).map(str), max_size=60), st.ip_addresses().map(str))
def test_one_entry_more_or_less_moves_one_passage_at_most(
    entries: set[str], one: str
) -> None:
    rest = sorted(entries - {one})
    if len(rest) == APART:
        return  # here the passages come to be shared, so they all change
    without = passages(a_route(*rest), Door.REST)
    with_it = passages(a_route(*rest, one), Door.REST)
    assert len(set(with_it) - set(without)) == 1
    assert len(set(without) - set(with_it)) <= 1


@given(st.lists(st.ip_addresses().map(str), max_size=500))
def test_every_entry_is_in_exactly_one_passage(entries: list[str]) -> None:
    found = passages(a_route(*entries), Door.REST)
    sources = [source for passage in found for source in passage.sources]
    assert sorted(sources) == sorted(set(entries))
    assert len(found) <= APART
    assert len({passage.label for passage in found}) == len(found)


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
        Address("nodes.test", 8080),
        Address("127.0.0.1", 0),
        Address("127.0.0.1", 65_536),
        Address("127.1", 8080),
    ],
)
def test_what_is_no_address_is_no_route(address: Address) -> None:
    with pytest.raises(ValueError, match=r"is not a port|does not appear to be"):
        a_route("::/0", rest=address)


def test_one_name_leads_to_one_node() -> None:
    with pytest.raises(ValueError, match="is the name of both 5f3e and 77aa"):
        table([a_route("::/0"), a_route(name="HARBOUR.nodes.test.", node_id="77aa")])


def test_one_node_has_one_route() -> None:
    with pytest.raises(ValueError, match="more than one route"):
        table([a_route("::/0"), a_route(name="other.nodes.test")])


def test_an_ipv6_address_is_written_with_brackets() -> None:
    assert str(Address("2001:db8::1", 8080)) == "[2001:db8::1]:8080"
