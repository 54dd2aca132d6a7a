"""What the settings make of the way to nodes."""

from pathlib import Path

import pytest

from leyden.base.settings import Settings, load
from leyden.errors import SetupError
from leyden.nodes.gateway.routes import Listener
from leyden.nodes.wiring import gateways
from leyden.values import replace


def test_the_options_of_the_gateway_are_settings() -> None:
    listening = gateways.listener_options(
        Settings(
            gateway_host="::",
            gateway_rest_port=1,
            gateway_grpc_port=2,
            gateway_balancers="10.0.0.0/8, 10.1.0.1",
            gateway_connections_per_source=3,
            gateway_connections_per_node=4,
            gateway_hello_timeout_s=5,
            gateway_idle_timeout_s=6,
        )
    )
    assert listening.host == "::"
    assert listening.ports == {Listener.REST: 1, Listener.GRPC: 2}
    assert listening.balancers == ("10.0.0.0/8", "10.1.0.1")
    assert listening.connections_per_source == 3
    assert listening.connections_per_node == 4
    assert listening.hello_timeout_s == 5
    assert listening.idle_timeout_s == 6


@pytest.mark.parametrize("balancers", ["0.0.0.0/0", "balancer.example", "10.0.0.1/8"])
def test_not_just_anybody_is_a_load_balancer(balancers: str) -> None:
    with pytest.raises(SetupError, match="gateway_balancers: "):
        gateways.listener_options(Settings(gateway_balancers=balancers))


@pytest.mark.parametrize(
    "name",
    [
        "gateway_connections",
        "gateway_connections_per_source",
        "gateway_connections_per_node",
        "gateway_peer_connections_per_node",
        "gateway_peer_connections_per_source",
        "gateway_arrivals_per_source",
        "gateway_peer_arrivals_per_source",
        "gateway_peer_arrivals_per_node",
        "gateway_hello_timeout_s",
        "gateway_idle_timeout_s",
        "gateway_workers",
        "node_log_files",
        "node_log_file_mb",
    ],
)
def test_a_gateway_for_nobody_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match=f"{name}: Expected `int` >= 1"):
        load({f"LEYDEN_{name.upper()}": "0"})


async def test_where_gateways_are_elsewhere_no_envoy_is_started(tmp_path: Path) -> None:
    given = Settings(home=str(tmp_path), gateway_here=False, envoy="/nowhere")
    with pytest.raises(SetupError, match="gateway_token: must be set"):
        gateways.gateway(given)
    elsewhere = gateways.gateway(replace(given, gateway_token="x" * 40))
    await elsewhere.start()
    await elsewhere.apply(())
    assert await elsewhere.traffic() is None
    assert list(tmp_path.iterdir()) == []
