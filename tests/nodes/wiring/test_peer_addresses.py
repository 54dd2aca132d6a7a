"""Where peers reach nodes, as the operator says."""

from ipaddress import ip_network
from typing import Any

import pytest

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.gateway.listener_options import OWN_ADDRESSES
from leyden.nodes.runtimes.local.arrivals import Arrivals, PortLimits
from leyden.nodes.wiring import gateways, peer_addresses
from leyden.values import replace

PORTS = "21000-21999"


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ({"gateway_host": "0.0.0.0"}, ""),  # noqa: S104  no ports: nobody asks
        ({"peer_ports": PORTS}, "127.0.0.1"),
        ({"peer_ports": PORTS, "peer_host": "peers.example"}, "peers.example"),
        (
            {
                "peer_ports": PORTS,
                "peer_host": "peers.example",
                "runtime": "kubernetes",
            },
            "peers.example",
        ),
        ({"peer_ports": PORTS, "peer_host": "[2001:db8::7]"}, "2001:db8::7"),
        ({"peer_ports": "none", "peer_host": "peers.example"}, ""),
    ],
)
def test_the_host_is_named_or_the_gateways(given: dict[str, Any], host: str) -> None:
    assert peer_addresses.host(Settings(**given)) == host


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"peer_ports": "any"}, "peer_ports: 'any' is not a port"),
        ({"peer_ports": "8000-8100"}, "peer_ports: 8080 is gateway_rest_port"),
        ({"peer_ports": PORTS, "runtime": "kubernetes"}, "peer_host: must be set"),
        ({"peer_ports": PORTS, "gateway_host": "::"}, "peer_host: name the public"),
        ({"peer_ports": PORTS, "peer_host": "a.example:1"}, "peer_host: 'a.example:1'"),
        ({"peer_ports": PORTS, "peer_host": "a\nlisten=b"}, "peer_host: "),
        ({"peer_ports": PORTS, "peer_host": "$HOME"}, "peer_host: "),
    ],
)
def test_what_leads_nowhere_is_refused_at_the_start(
    given: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(SetupError) as refused:
        peer_addresses.host(Settings(**given))
    assert refused.value.message.startswith(wrong)


def test_the_machines_own_address_is_no_source_that_is_limited() -> None:
    for host, more in (("198.51.100.7", ("198.51.100.7/32",)), ("peers.invalid", ())):
        given = Settings(peer_ports=PORTS, peer_host=host)
        own = gateways.listener_options(given).own_addresses
        assert own == (*OWN_ADDRESSES, *more)


def test_whom_the_operator_names_is_not_limited_by_source_and_each_once() -> None:
    given = Settings(
        peer_ports=PORTS, gateway_peers_unlimited="192.0.2.0/24, 127.0.0.1/32"
    )
    own = gateways.listener_options(given).own_addresses
    assert own == (*OWN_ADDRESSES, "192.0.2.0/24"), "Envoy takes no range twice"
    with pytest.raises(SetupError, match="gateway_peers_unlimited: "):
        gateways.listener_options(replace(given, gateway_peers_unlimited="router"))


def test_how_often_peers_come_is_a_setting() -> None:
    given = Settings(
        peer_ports=PORTS,
        gateway_balancers="10.0.0.0/8",
        gateway_peers_unlimited="192.0.2.0/24",
        gateway_arrivals_per_source=6,
        gateway_peer_arrivals_per_source=3,
        gateway_peer_arrivals_per_node=4,
        gateway_peer_connections_per_source=5,
    )
    options = gateways.listener_options(given)
    assert options.peer_arrivals_per_source == 3
    assert options.peer_arrivals_per_node == 4
    assert options.peer_connections_per_source == 5
    # A balancer's address is everybody's: only the gateway hears whose it was.
    balancer = ip_network("10.0.0.0/8")
    callers = PortLimits(
        name="callers",
        ports=((8080, 8080), (10_009, 10_009)),
        per_source=6,
        unlimited=(balancer,),
    )
    peers = PortLimits(
        name="peers",
        ports=((21_000, 21_999),),
        per_source=3,
        per_port=4,
        unlimited=(balancer, ip_network("192.0.2.0/24")),
    )
    own = (ip_network("127.0.0.1/32"), ip_network("::1/128"))
    assert peer_addresses.arrivals(given) == Arrivals(
        callers=callers, peers=peers, own=own
    )
    alone = peer_addresses.arrivals(replace(given, peer_ports=""))
    assert alone == Arrivals(callers=callers, own=own)
    elsewhere = replace(given, gateway_here=False)
    assert peer_addresses.arrivals(elsewhere) is None
