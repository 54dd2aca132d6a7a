"""The configured gateway, and the origins allowed to call nodes."""

import ipaddress
import socket
from pathlib import Path
from urllib.parse import urlsplit

from leyden.app import peer_addresses
from leyden.app.dispatcher import words
from leyden.errors import SetupError
from leyden.gateway import prepared, supervisor
from leyden.gateway.base import Gateway
from leyden.gateway.bootstrap import Bootstrap, Control
from leyden.gateway.discovery import DiscoveryGateway
from leyden.gateway.elsewhere import GatewayElsewhere
from leyden.gateway.listener_options import ListenerOptions
from leyden.gateway.local import LocalGateway
from leyden.gateway.routes import Listener
from leyden.gateway.supervisor import Supervisor
from leyden.lnd.options import check_origins
from leyden.settings import Settings

_USUAL_PORTS = {"http": 80, "https": 443}


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


def origins(settings: Settings) -> tuple[str, ...]:
    """Return the origins whose pages may call nodes, such as the dashboard's.

    A page that makes a wallet or unlocks one talks to the node itself, so that what it
    says never passes through us; browsers let it where lnd names its origin.
    """
    if settings.dashboard_origins:
        named = tuple(
            each.removesuffix("/") for each in words(settings.dashboard_origins)
        )
        try:
            check_origins(named)
        except SetupError as error:
            raise SetupError(f"dashboard_origins: {error.message}") from None
        return named
    secured = settings.api_tls_certificate or settings.api_tls or settings.acme_api_name
    scheme = "https" if secured else "http"
    port = "" if settings.api_port == _USUAL_PORTS[scheme] else f":{settings.api_port}"
    hosts = (
        (settings.acme_api_name,)
        if settings.acme_api_name
        else local_names(settings.api_host)
    )
    return tuple(f"{scheme}://{host}{port}" for host in hosts)


def main_origin(settings: Settings) -> str:
    """Return the origin of links to the dashboard.

    Passkeys are for names: a browser makes none for a bare address.
    """
    every = origins(settings)
    return next((each for each in every if "//localhost" in each), every[0])


def api_names(settings: Settings) -> tuple[str, ...]:
    """Return the names and addresses by which the API is called, without brackets.

    Where our authority vouches for the API, that is where browsers find the dashboard;
    else the names of its host, for the day when it does.
    """
    if settings.acme_api_name:
        return (settings.acme_api_name,)
    if settings.api_tls:
        hosts = [urlsplit(each).hostname or "" for each in origins(settings)]
    else:
        hosts = [each.strip("[]") for each in local_names(settings.api_host)]
    return tuple(dict.fromkeys(hosts))


def local_names(host: str) -> tuple[str, ...]:
    """Return the names by which programs on this machine call an address of it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host.lower(),)
    shown = f"[{address}]" if ":" in host else str(address)
    if address.is_unspecified:
        return ("localhost", "127.0.0.1", "[::1]")
    return (shown, "localhost") if address.is_loopback else (shown,)
