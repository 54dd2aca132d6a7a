"""The operator's Tor, from the settings."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.onions.control import ControlPort, TorControl
from leyden.nodes.wiring import peer_addresses

_ADDRESS = re.compile(
    r"unix:/.+|(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(?P<port>[0-9]{1,5})"
)
_HIGHEST = 65_535


def make_tor(settings: Settings) -> TorControl | None:
    """Return the configured Tor, if any."""
    if not settings.tor_control:
        return None
    match = _ADDRESS.fullmatch(settings.tor_control)
    if not match or not 0 < int(match["port"] or 1) <= _HIGHEST:
        raise SetupError(
            f"tor_control: {settings.tor_control!r} is not HOST:PORT or unix:/PATH"
        )
    if settings.tor_password and settings.tor_cookie_file:
        raise SetupError("tor_password, tor_cookie_file: set one of them")
    file = Path(settings.tor_cookie_file) if settings.tor_cookie_file else None
    return TorControl(
        ControlPort(
            address=settings.tor_control,
            password=settings.tor_password,
            cookie_file=file,
        )
    )


def target(settings: Settings) -> str:
    """Return the address at which Tor reaches peer ports; "" without Tor.

    An address and no name, which Tor would look up once and for all.
    """
    if not settings.tor_control:
        return ""
    if settings.runs_in_cluster:
        raise SetupError(
            "tor_control: needs runtime = local; nodes in a cluster have no onion "
            "addresses"
        )
    if not peer_addresses.ports(settings):
        raise SetupError("tor_control: needs peer_ports, which onion addresses lead to")
    if not settings.tor_target and not settings.gateway_here:
        raise SetupError(
            "tor_target: must be set, since gateway_here is false: the address of a "
            "gateway"
        )
    if not settings.tor_target and settings.gateway_balancers:
        raise SetupError(
            "tor_target: must be set, since gateway_balancers is: Tor sends no PROXY "
            "header, so it must connect through a load balancer"
        )
    name = "tor_target" if settings.tor_target else "gateway_host"
    try:
        address = ip_address(getattr(settings, name).strip("[]"))
    except ValueError:
        raise SetupError(
            f"{name}: {getattr(settings, name)!r} is not an IP address; Tor needs one, "
            "so set tor_target"
        ) from None
    return str(_reachable(address))


def socks(settings: Settings) -> str:
    """Return Tor's SOCKS port for nodes, as lnd takes it; "" if they have none."""
    if not settings.tor_socks:
        return ""
    if settings.runs_in_cluster:
        raise SetupError(
            "tor_socks: needs runtime = local; nodes in a cluster can't use Tor"
        )
    match = _ADDRESS.fullmatch(settings.tor_socks)
    port = int((match and match["port"]) or 0)
    try:
        address = ip_address(settings.tor_socks.rpartition(":")[0].strip("[]"))
    except ValueError:
        address = None
    if address is None or address.is_unspecified or not 0 < port <= _HIGHEST:
        # The egress policy opens it to nodes: a name could become another address.
        raise SetupError(f"tor_socks: {settings.tor_socks!r} is not IP:PORT")
    return settings.tor_socks


def _reachable(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return this machine's address for a listener on all addresses."""
    if not address.is_unspecified:
        return address
    return ip_address("127.0.0.1" if address.version == 4 else "::1")  # noqa: PLR2004
