"""The way to nodes: the gateway that the settings ask for, and whose pages may come."""

import ipaddress
from pathlib import Path

from leyden.app.courier import words
from leyden.errors import SetupError
from leyden.gateway import supervisor
from leyden.gateway.bootstrap import Bootstrap, Control
from leyden.gateway.discovery import DiscoveryGateway
from leyden.gateway.envoy import Listening
from leyden.gateway.local import LocalGateway
from leyden.gateway.routes import Door
from leyden.gateway.supervisor import Supervisor
from leyden.lnd.options import check_origins
from leyden.settings import Settings

_USUAL_PORTS = {"http": 80, "https": 443}


def gateway(given: Settings) -> LocalGateway:
    """Give the gateway of this machine."""
    return LocalGateway(
        given.home_path / "gateway",
        listening(given),
        Bootstrap(connections=given.gateway_connections),
        envoy=supervisor.program(given.envoy),
        workers=given.gateway_workers,
    )


def far_gateway(given: Settings) -> DiscoveryGateway | None:
    """Give what gateways on other machines are told, if any may ask."""
    if not given.gateway_token:
        return None
    try:
        return DiscoveryGateway(listening(given), token=given.gateway_token)
    except ValueError as error:
        raise SetupError(f"gateway_token: {error}") from None


def far_envoy(given: Settings) -> Supervisor:
    """Give the gateway of this machine, where the platform is on another one."""
    if not given.gateway_control or not given.gateway_token:
        raise SetupError(
            "gateway_control, gateway_token: a gateway needs the URL of the API, and "
            "the token by which the API knows it"
        )
    ca = given.gateway_control_ca
    control = Control(
        url=given.gateway_control,
        token=given.gateway_token,
        ca_path=ca and str(Path(ca).absolute()),
    )
    bootstrap = Bootstrap(connections=given.gateway_connections, control=control)
    try:
        return Supervisor(
            given.home_path / "gateway",
            bootstrap,
            envoy=supervisor.program(given.envoy),
            workers=given.gateway_workers,
        )
    except ValueError as error:
        raise SetupError(f"gateway_control: {error}") from None


def listening(given: Settings) -> Listening:
    """Say where the doors are and what they let be done to them."""
    try:
        return Listening(
            host=given.gateway_host,
            ports={
                Door.REST: given.gateway_rest_port,
                Door.GRPC: given.gateway_grpc_port,
            },
            balancers=words(given.gateway_balancers),
            connections_per_source=given.gateway_connections_per_source,
            connections_per_node=given.gateway_connections_per_node,
            hello_timeout_s=given.gateway_hello_timeout_s,
            idle_timeout_s=given.gateway_idle_timeout_s,
        )
    except ValueError as error:
        raise SetupError(f"gateway_balancers: {error}") from None


def origins(given: Settings) -> tuple[str, ...]:
    """Give the origins whose pages may talk to nodes: the dashboard's above all.

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
    scheme = "https" if given.api_tls_certificate or given.acme_api_name else "http"
    port = "" if given.api_port == _USUAL_PORTS[scheme] else f":{given.api_port}"
    hosts = (given.acme_api_name,) if given.acme_api_name else _names(given.api_host)
    return tuple(f"{scheme}://{host}{port}" for host in hosts)


def _names(host: str) -> tuple[str, ...]:
    """Give the names by which somebody on this machine calls an address of it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host.lower(),)
    shown = f"[{address}]" if ":" in host else str(address)
    if address.is_unspecified:
        return ("localhost", "127.0.0.1", "[::1]")
    return (shown, "localhost") if address.is_loopback else (shown,)
