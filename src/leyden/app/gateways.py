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


def gateway(given: Settings) -> Gateway:
    """Return the gateway of this machine, or none where all are elsewhere."""
    if not given.gateway_here:
        if not given.gateway_token:
            raise SetupError(
                "gateway_token: must be set, since gateway_here is false: gateways on "
                "other machines authenticate with it"
            )
        return GatewayElsewhere()
    return LocalGateway(
        given.home_path / "gateway",
        listener_options(given),
        Bootstrap(connections=given.gateway_connections),
        envoy=supervisor.program(given.envoy),
        workers=given.gateway_workers,
    )


def far_gateway(given: Settings) -> DiscoveryGateway | None:
    """Return what gateways on other machines are told, if any may ask."""
    if not given.gateway_token:
        return None
    try:
        return DiscoveryGateway(listener_options(given), token=given.gateway_token)
    except ValueError as error:
        raise SetupError(f"gateway_token: {error}") from None


def far_envoy(given: Settings) -> Supervisor:
    """Return the gateway of this machine, where the platform is on another one."""
    try:
        return Supervisor(
            given.home_path / "gateway",
            _far_bootstrap(given),
            envoy=supervisor.program(given.envoy),
            workers=given.gateway_workers,
        )
    except ValueError as error:
        raise SetupError(f"gateway_control: {error}") from None


def prepare_far(given: Settings, folder: Path) -> None:
    """Write what an Envoy that somebody else runs starts with."""
    try:
        prepared.prepare(folder, _far_bootstrap(given), workers=given.gateway_workers)
    except ValueError as error:
        raise SetupError(f"gateway_control: {error}") from None


def _far_bootstrap(given: Settings) -> Bootstrap:
    if not given.gateway_control or not given.gateway_token:
        raise SetupError(
            "gateway_control, gateway_token: must be set for a gateway: the URL of the "
            "API, and its token"
        )
    ca = given.gateway_control_ca
    control = Control(
        url=given.gateway_control,
        token=given.gateway_token,
        ca_path=ca and str(Path(ca).absolute()),
    )
    # By its own name: the API knows what it has sent to which of them.
    return Bootstrap(
        node_id=socket.gethostname(),
        connections=given.gateway_connections,
        control=control,
    )


def listener_options(given: Settings) -> ListenerOptions:
    """Return where the listeners are and what they allow."""
    try:
        return ListenerOptions(
            host=given.gateway_host,
            ports={
                Listener.REST: given.gateway_rest_port,
                Listener.GRPC: given.gateway_grpc_port,
            },
            balancers=words(given.gateway_balancers),
            connections_per_source=given.gateway_connections_per_source,
            connections_per_node=given.gateway_connections_per_node,
            own_addresses=peer_addresses.not_limited(given),
            peer_connections_per_node=given.gateway_peer_connections_per_node,
            peer_connections_per_source=given.gateway_peer_connections_per_source,
            peer_arrivals_per_source=given.gateway_peer_arrivals_per_source,
            peer_arrivals_per_node=given.gateway_peer_arrivals_per_node,
            hello_timeout_s=given.gateway_hello_timeout_s,
            idle_timeout_s=given.gateway_idle_timeout_s,
        )
    except ValueError as error:
        raise SetupError(f"gateway_balancers: {error}") from None


def origins(given: Settings) -> tuple[str, ...]:
    """Return the origins whose pages may talk to nodes: the dashboard's above all.

    A page that makes a wallet or unlocks one talks to the node itself, so that what it
    says never passes through us; browsers let it where lnd names its origin.
    """
    if given.dashboard_origins:
        named = tuple(each.removesuffix("/") for each in words(given.dashboard_origins))
        try:
            check_origins(named)
        except SetupError as error:
            raise SetupError(f"dashboard_origins: {error.message}") from None
        return named
    secured = given.api_tls_certificate or given.api_tls or given.acme_api_name
    scheme = "https" if secured else "http"
    port = "" if given.api_port == _USUAL_PORTS[scheme] else f":{given.api_port}"
    hosts = (given.acme_api_name,) if given.acme_api_name else _names(given.api_host)
    return tuple(f"{scheme}://{host}{port}" for host in hosts)


def main_origin(given: Settings) -> str:
    """Return the origin that links for people begin with.

    Passkeys are for names: a browser makes none for a bare address.
    """
    every = origins(given)
    return next((each for each in every if "//localhost" in each), every[0])


def api_names(given: Settings) -> tuple[str, ...]:
    """Return the names and addresses by which the API is called, without brackets.

    Where our authority vouches for the API, that is where browsers find the dashboard;
    else the names of its host, for the day when it does.
    """
    if given.acme_api_name:
        return (given.acme_api_name,)
    if given.api_tls:
        hosts = [urlsplit(each).hostname or "" for each in origins(given)]
    else:
        hosts = [each.strip("[]") for each in _names(given.api_host)]
    return tuple(dict.fromkeys(hosts))


def _names(host: str) -> tuple[str, ...]:
    """Return the names by which somebody on this machine calls an address of it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host.lower(),)
    shown = f"[{address}]" if ":" in host else str(address)
    if address.is_unspecified:
        return ("localhost", "127.0.0.1", "[::1]")
    return (shown, "localhost") if address.is_loopback else (shown,)
