"""The egress policy of local nodes, from settings."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from leyden.base.rules.addresses import Reach
from leyden.base.settings import Settings, words
from leyden.errors import SetupError
from leyden.events.wiring.dispatcher import networks, reach
from leyden.nodes.rules import nodes as domain
from leyden.nodes.runtimes.local.egress_policy import AllowedDestination, EgressPolicy
from leyden.nodes.runtimes.local.layout import Ground
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.wiring import hosts, onions, peer_addresses

_RESOLVERS: Final = Path("/etc/resolv.conf")
_DNS: Final = 53
_POSTGRES: Final = 5432
_OPENING = re.compile(
    r"(?:\[([0-9A-Fa-f:.]+(?:/[0-9]+)?)\]|([0-9.]+(?:/[0-9]+)?)):([0-9]{1,5})"
)
_MAX_PORT: Final = 65_535

Grounds = Mapping[domain.Network, Ground]


def make_policy(
    settings: Settings, placement: Placement, grounds: Grounds
) -> EgressPolicy:
    """Return the configured egress policy."""
    openings = {
        *_openings(settings),
        *_to_backends(grounds),
        *_to_resolvers(),
        *_to_peers(settings),
        *_to_tor(settings),
    }
    return EgressPolicy(
        home=settings.home_path,
        placement=placement,
        openings=tuple(sorted(openings, key=str)),
        closed=tuple(networks("nodes_may_not_reach", settings.nodes_may_not_reach)),
        locked=tuple(_locked(settings)),
        arrivals=peer_addresses.arrivals(settings),
    )


def signers(settings: Settings) -> Reach:
    """Return the addresses allowed as a node's remote signer.

    Internal networks that webhooks may be sent to are allowed as well.
    """
    openings = list(_openings(settings))
    return Reach(
        exceptions=(
            *(each.network for each in openings if each.port is None),
            *reach(settings).exceptions,
        ),
        openings=tuple(
            (each.network, each.port) for each in openings if each.port is not None
        ),
        forbidden=tuple(networks("nodes_may_not_reach", settings.nodes_may_not_reach)),
    )


def _openings(settings: Settings) -> Iterator[AllowedDestination]:
    for word in words(settings.nodes_may_reach):
        match = _OPENING.fullmatch(word)
        where, port = (match[1] or match[2], int(match[3])) if match else (word, None)
        if port is not None and not 1 <= port <= _MAX_PORT:
            raise SetupError(f"nodes_may_reach: {port} must be a port")
        (network,) = networks("nodes_may_reach", where)
        yield AllowedDestination(network, port)


def _to_backends(grounds: Grounds) -> Iterator[AllowedDestination]:
    for ground in grounds.values():
        for where in ground.backend.hosts:
            host, port = _host_and_port(where)
            if port is None:  # which must never mean all of them
                raise SetupError(
                    f"{where}: must be HOST:PORT, with the port: the egress policy "
                    "allows nodes only this port"
                )
            for network in hosts.resolved(host):
                yield AllowedDestination(network, port)


def _to_peers(settings: Settings) -> Iterator[AllowedDestination]:
    """Allow other nodes of the installation: through the gateway, as strangers."""
    for network in hosts.resolved(peer_addresses.host(settings)):
        for first, last in peer_addresses.ports(settings).ranges:
            yield AllowedDestination(network, first, last_port=last)


def _to_tor(settings: Settings) -> Iterator[AllowedDestination]:
    """Allow Tor's SOCKS port; Tor itself refuses to connect to internal addresses."""
    if address := onions.socks(settings):
        host, port = _host_and_port(address)
        for network in hosts.resolved(host):
            yield AllowedDestination(network, port)


def _to_resolvers() -> Iterator[AllowedDestination]:
    """Allow the resolvers, which lnd needs for peers and its owner's signer."""
    try:
        lines = _RESOLVERS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        match line.split():
            case ["nameserver", address, *_]:
                for network in hosts.resolved(address.partition("%")[0]):
                    for protocol in ("tcp", "udp"):
                        yield AllowedDestination(network, _DNS, protocol)


def _locked(settings: Settings) -> Iterator[AllowedDestination]:
    """Yield the platform's own services, which stay closed to nodes.

    This matters if they have public addresses. Only their ports are closed: nodes
    connect to the seller as a peer, and maybe to one on the treasury's host.
    """
    url = urlsplit(settings.database_url)
    database = (url.hostname or "", url.port or _POSTGRES)
    ours = (settings.treasury_host, settings.pool_host, settings.seller_host)
    for host, port in (database, *map(_host_and_port, ours)):
        for network in hosts.resolved(host):
            yield AllowedDestination(network, port)


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Parse HOST, HOST:PORT or [HOST]:PORT."""
    parts = urlsplit(f"//{text}")
    try:
        return parts.hostname or "", parts.port
    except ValueError:
        return parts.hostname or "", None
