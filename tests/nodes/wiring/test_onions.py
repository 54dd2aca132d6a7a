"""The Tor of the operator, as the operator names it."""

from pathlib import Path
from typing import Any

import pytest

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.onions.control import ControlPort
from leyden.nodes.wiring import onions

TOR = {"tor_control": "127.0.0.1:9051", "peer_ports": "21000-21999"}


def test_without_a_control_port_there_is_no_tor() -> None:
    assert onions.make_tor(Settings()) is None
    assert onions.target(Settings(tor_target="192.0.2.1")) == ""


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:9051", "[::1]:9051", "tor.example:9051", "unix:/run/tor/c d"],
)
def test_it_is_named_by_its_address(address: str) -> None:
    given = Settings(tor_control=address, tor_cookie_file="/run/tor/cookie")
    tor = onions.make_tor(given)
    assert tor is not None
    assert tor.port == ControlPort(address=address, cookie_file=Path("/run/tor/cookie"))


@pytest.mark.parametrize(
    "address",
    [
        "9051",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:9051\nGETINFO",
        "::1:9051",
        "unix:",
        "unix:run/tor",
        "http://127.0.0.1:9051",
        " 127.0.0.1:9051",
    ],
)
def test_what_is_no_address_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(SetupError, match="is not HOST:PORT or unix:"):
        onions.make_tor(Settings(tor_control=address))


def test_one_way_in_is_enough() -> None:
    given = Settings(**TOR, tor_password="low tide", tor_cookie_file="/cookie")  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="set one of them") as refused:
        onions.make_tor(given)
    assert "low tide" not in refused.value.message


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({}, "127.0.0.1"),
        ({"gateway_host": "0.0.0.0"}, "127.0.0.1"),  # noqa: S104  Tor is here
        ({"gateway_host": "::"}, "::1"),
        ({"gateway_host": "203.0.113.7"}, "203.0.113.7"),
        ({"tor_target": "[2001:db8::7]"}, "2001:db8::7"),
        ({"tor_target": "192.0.2.1", "gateway_here": False}, "192.0.2.1"),
        ({"tor_target": "192.0.2.1", "gateway_balancers": "192.0.2.0/24"}, "192.0.2.1"),
    ],
)
def test_tor_leads_to_the_gateway(given: dict[str, Any], target: str) -> None:
    assert onions.target(Settings(**{**TOR, **given})) == target


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"peer_ports": ""}, "tor_control: needs peer_ports"),
        ({"peer_ports": "none"}, "tor_control: needs peer_ports"),
        (
            {"runtime": "kubernetes", "peer_host": "peers.example"},
            "tor_control: needs runtime = local",
        ),
        ({"runtime": "both"}, "tor_control: needs runtime = local"),
        ({"gateway_here": False}, "tor_target: must be set, since gateway_here is"),
        ({"gateway_balancers": "192.0.2.0/24"}, "tor_target: must be set, since gate"),
        ({"gateway_host": "gate.example"}, "gateway_host: 'gate.example' is not an IP"),
        ({"tor_target": "gate.example"}, "tor_target: 'gate.example' is not an IP"),
        ({"tor_target": "192.0.2.1,x"}, "tor_target: '192.0.2.1,x' is not an IP"),
    ],
)
def test_what_leads_nowhere_is_refused_at_the_start(
    given: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(SetupError) as refused:
        onions.target(Settings(**{**TOR, **given}))
    assert refused.value.message.startswith(wrong)


def test_without_a_socks_port_nodes_have_no_tor() -> None:
    assert onions.socks(Settings()) == ""
    assert onions.socks(Settings(**TOR)) == ""  # type: ignore[arg-type]
    assert onions.socks(Settings(runtime="kubernetes")) == ""


@pytest.mark.parametrize("address", ["127.0.0.1:9050", "192.0.2.7:1", "[::1]:65535"])
def test_a_socks_port_is_named_by_its_address(address: str) -> None:
    assert onions.socks(Settings(tor_socks=address)) == address


@pytest.mark.parametrize(
    "address",
    [
        "9050",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "0.0.0.0:9050",
        "[::]:9050",
        "::1:9050",
        "localhost:9050",
        "unix:/run/tor/socks",
        "127.0.0.1:9050\ntor.v3=true",
        " 127.0.0.1:9050",
    ],
)
def test_a_socks_port_without_an_address_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(SetupError, match="is not IP:PORT"):
        onions.socks(Settings(tor_socks=address))


@pytest.mark.parametrize("runtime", ["kubernetes", "both"])
def test_a_socks_port_is_refused_in_a_cluster(runtime: Any) -> None:
    with pytest.raises(SetupError, match="tor_socks: needs runtime = local"):
        onions.socks(Settings(tor_socks="127.0.0.1:9050", runtime=runtime))
