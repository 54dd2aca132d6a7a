"""The configured gateway, here or on other machines."""

import socket
from pathlib import Path

from leyden.base.settings import Settings, words
from leyden.errors import SetupError
from leyden.nodes.gateway import prepared, supervisor
from leyden.nodes.gateway.base import Gateway, GatewayElsewhere
from leyden.nodes.gateway.bootstrap import Bootstrap, Control
from leyden.nodes.gateway.discovery import DiscoveryGateway
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener
from leyden.nodes.gateway.supervisor import Supervisor
from leyden.nodes.wiring import peer_addresses


def gateway(settings: Settings) -> Gateway:
    """Return the gateway of this machine, or a stand-in if all are elsewhere."""
    if not settings.gateway_here:
        if not settings.gateway_token:
            raise SetupError(
                "gateway_token: must be set, since gateway_here is false: gateways on "
                "other machines authenticate with it"
            )
        return GatewayElsewhere()
    return LocalGateway(
        settings.home_path / "gateway",
        listener_options(settings),
        Bootstrap(connections=settings.gateway_connections),
        envoy=supervisor.program(settings.envoy),
        workers=settings.gateway_workers,
    )


def far_gateway(settings: Settings) -> DiscoveryGateway | None:
    """Return the gateway that serves routes to other machines, if enabled."""
    if not settings.gateway_token:
        return None
    try:
        return DiscoveryGateway(
            listener_options(settings), token=settings.gateway_token
        )
    except ValueError as error:
        raise SetupError(f"gateway_token: {error}") from None


def far_envoy(settings: Settings) -> Supervisor:
    """Return the gateway of this machine, for a platform on another machine."""
    try:
        return Supervisor(
            settings.home_path / "gateway",
            _far_bootstrap(settings),
            envoy=supervisor.program(settings.envoy),
            workers=settings.gateway_workers,
        )
    except ValueError as error:
        raise SetupError(f"gateway_control: {error}") from None


def prepare_far(settings: Settings, folder: Path) -> None:
    """Write the bootstrap of an Envoy that we do not run ourselves."""
    try:
        prepared.prepare(
            folder, _far_bootstrap(settings), workers=settings.gateway_workers
        )
    except ValueError as error:
        raise SetupError(f"gateway_control: {error}") from None


def _far_bootstrap(settings: Settings) -> Bootstrap:
    if not settings.gateway_control or not settings.gateway_token:
        raise SetupError(
            "gateway_control, gateway_token: must be set for a gateway: the URL of the "
            "API, and its token"
        )
    ca = settings.gateway_control_ca
    control = Control(
        url=settings.gateway_control,
        token=settings.gateway_token,
        ca_path=ca and str(Path(ca).absolute()),
        name=settings.gateway_control_name,
    )
    # By its own name: the API knows what it has sent to which of them.
    return Bootstrap(
        node_id=socket.gethostname(),
        connections=settings.gateway_connections,
        control=control,
    )


def listener_options(settings: Settings) -> ListenerOptions:
    """Return the options of the gateway's listeners."""
    try:
        return ListenerOptions(
            host=settings.gateway_host,
            ports={
                Listener.REST: settings.gateway_rest_port,
                Listener.GRPC: settings.gateway_grpc_port,
            },
            balancers=words(settings.gateway_balancers),
            connections_per_source=settings.gateway_connections_per_source,
            connections_per_node=settings.gateway_connections_per_node,
            own_addresses=peer_addresses.not_limited(settings),
            peer_connections_per_node=settings.gateway_peer_connections_per_node,
            peer_connections_per_source=settings.gateway_peer_connections_per_source,
            peer_arrivals_per_source=settings.gateway_peer_arrivals_per_source,
            peer_arrivals_per_node=settings.gateway_peer_arrivals_per_node,
            hello_timeout_s=settings.gateway_hello_timeout_s,
            idle_timeout_s=settings.gateway_idle_timeout_s,
        )
    except ValueError as error:
        raise SetupError(f"gateway_balancers: {error}") from None
