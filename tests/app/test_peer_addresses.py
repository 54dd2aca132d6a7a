"""Where peers reach nodes, as the operator says."""

from typing import Any

import pytest

from leyden.app import gateways, peer_addresses
from leyden.errors import SetupError
from leyden.gateway.envoy import OWN_ADDRESSES
from leyden.settings import Settings

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
    for host, more in (("198.51.100.7", ("198.51.100.7/32",)), ("peers.example", ())):
        given = Settings(peer_ports=PORTS, peer_host=host)
        own = gateways.listener_options(given).own_addresses
        assert own == (*OWN_ADDRESSES, *more)
