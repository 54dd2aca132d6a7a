import pytest

from leyden.errors import Malformed
from leyden.nodes.rules import peer_ports
from leyden.nodes.rules.peer_ports import PeerPorts, host_port


def test_ports_and_ranges_are_one_list() -> None:
    ports = peer_ports.parse(" 21010, 21000-21002 ,")
    assert list(ports) == [21000, 21001, 21002, 21010]
    assert [ports.at(index) for index in range(len(ports))] == list(ports)
    assert 21002 in ports
    assert 21003 not in ports
    with pytest.raises(IndexError):
        ports.at(len(ports))


@pytest.mark.parametrize("text", ["", " ", ",", "none"])
def test_no_ports_are_no_addresses(text: str) -> None:
    assert not peer_ports.parse(text)
    assert peer_ports.parse(text) == PeerPorts()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("0", "'0' is not a port or a range"),
        ("65536", "'65536' is not a port"),
        ("21001-21000", "'21001-21000' is not a port or a range"),
        ("21000-", "'21000-' is not"),
        ("-1", "'-1' is not"),
        ("²1000", "'²1000' is not"),
        ("any", "'any' is not"),
        ("21000 21001", "'21000 21001' is not"),
        ("21000-21005, 21005", "port 21005 is listed twice"),
        ("21000-21005, 21003-21004, 21004", "port 21003 is listed twice"),
    ],
)
def test_other_words_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(Malformed, match=wrong):
        peer_ports.parse(text)


def test_an_address_of_six_stands_in_brackets() -> None:
    assert host_port("2001:db8::7", 21000) == "[2001:db8::7]:21000"
    assert host_port("peers.example", 21000) == "peers.example:21000"
    assert host_port("", 21000) == ""
