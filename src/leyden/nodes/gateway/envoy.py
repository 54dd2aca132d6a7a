"""Envoy's configuration of routes: listeners, and their filter chains.

Envoy reads the name from the ClientHello, picks the chain by name and source address
before a byte reaches a node, and passes the bytes through. The document is the same in
a file, as protobuf, and in the answer to `POST /v3/discovery:listeners`, as JSON.

When it changes, Envoy drops the chains that are gone or different, with their
connections, and keeps the others: so an unchanged chain must be rendered to the same
bytes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final

import msgspec

from leyden.nodes.gateway import protobuf
from leyden.nodes.gateway.filters import TYPE, Filters, listener_filter, network_filter
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.routes import (
    FilterChain,
    Listener,
    PeerPort,
    Route,
    filter_chains,
    table,
)
from leyden.values import Struct

LISTENER: Final = TYPE + "envoy.config.listener.v3.Listener"
NOWHERE: Final = "nowhere"  # the cluster that has no addresses

# SO_KEEPALIVE after a minute, given up two minutes later: peers that vanish without a
# word would fill a node's cap otherwise.
KEEPALIVE: Final = {
    "keepalive_time": 60,
    "keepalive_interval": 30,
    "keepalive_probes": 4,
}


class Document(Struct, frozen=True):
    """Envoy's document; equal content has an equal version on every replica."""

    version: str
    content: bytes


def as_json(_message: str, value: object) -> msgspec.Raw:
    """Encode a message or a value in it, for a gateway that polls over HTTP."""
    return msgspec.Raw(msgspec.json.encode(value))


def as_protobuf(message: str, value: object) -> msgspec.Raw:
    """Encode a message for a gateway that reads a file, which is faster."""
    return protobuf.encode(message, value)


Form = Callable[[str, object], msgspec.Raw]


class _Part(Struct, frozen=True):
    """What follows from one route."""

    chains: Mapping[Listener, list[msgspec.Raw]]
    peers: msgspec.Raw | None  # a listener of its own


class Documents:
    """A builder of documents; caches each route's part, since few change."""

    def __init__(self, options: ListenerOptions, form: Form = as_json) -> None:
        self._options = options
        self._filters = Filters(options)
        self._form = form
        self._parts: dict[Route, _Part] = {}

    def document(self, routes: Iterable[Route]) -> Document:
        """Return Envoy's document for exactly these routes."""
        ordered = table(routes)
        known = self._parts
        self._parts = {
            route: known.get(route) or self._part(route) for route in ordered
        }
        listeners = [
            self._form(
                "Any",
                {
                    **self._listener(listener),
                    "filter_chains": list(self._chains(listener)),
                },
            )
            for listener in Listener
        ]
        listeners += [part.peers for part in self._parts.values() if part.peers]
        version = hashlib.sha256(b"\n".join(listeners)).hexdigest()[:32]
        content = {
            "version_info": version,
            "type_url": LISTENER,
            "nonce": version,
            "resources": listeners,
        }
        return Document(version, bytes(self._form("DiscoveryResponse", content)))

    def _chains(self, listener: Listener) -> Iterator[object]:
        # Envoy refuses a listener without any chain: this one is never chosen.
        yield {
            "name": "nobody",
            "filter_chain_match": {"server_names": ["nobody.invalid"]},
            "filters": [
                # Here too, so that the filter's machines outlast the last node: made
                # anew for the next one they take 10 ms of processor, just when its lnd
                # starts.
                self._filters.limits(),
                network_filter("tcp_proxy", stat_prefix="nobody", cluster=NOWHERE),
            ],
        }
        for part in self._parts.values():
            yield from part.chains[listener]

    def _part(self, route: Route) -> _Part:
        peers = route.peers and self._peers(route.node_id, route.peers)
        return _Part(
            chains={
                listener: [
                    self._form("FilterChain", self._chain(chain))
                    for chain in filter_chains(route, listener)
                ]
                for listener in Listener
            },
            peers=self._form("Any", peers) if peers else None,
        )

    def _peers(self, node_id: str, peers: PeerPort) -> dict[str, Any]:
        """Return the peer listener of one node, with limits: anybody may connect."""
        through = self._filters.through(f"node.{node_id}", peers.to)
        node_limit = network_filter(
            "connection_limit",
            stat_prefix=f"peers.{node_id}",
            max_connections=self._options.peer_connections_per_node,
        )
        own = [_range(address) for address in self._options.own_addresses]
        # Envoy's own limit first: it counts down at the end of those, too, that another
        # filter has refused before it. So whoever is refused by the next one takes a
        # place of the node for that moment: no more of them than Envoy has threads.
        # What a source may not do takes nothing of what a node takes of them all.
        limits = [node_limit, self._filters.limits(peers=True), self._filters.pace()]
        chains = [
            ("peers", {}, [*limits, *through]),
            ("own peers", {"source_prefix_ranges": own}, [node_limit, *through]),
        ]
        return {
            **self._listening(peers.listener(node_id), peers.port),
            "stat_prefix": "peers",
            "listener_filters": self._filters.preamble(),
            "filter_chains": [
                {
                    "name": f"{node_id} {label}",
                    "filter_chain_match": {**match, **self._behind_balancers()},
                    "filters": filters,
                }
                for label, match, filters in chains
            ],
        }

    def _listener(self, listener: Listener) -> dict[str, Any]:
        return {
            **self._listening(listener.value, self._options.ports[listener]),
            "stat_prefix": listener.value,
            "listener_filters": [
                *self._filters.preamble(),
                listener_filter("tls_inspector", "TlsInspector"),
            ],
        }

    def _listening(self, name: str, port: int) -> dict[str, Any]:
        return {
            "@type": LISTENER,
            "name": name,
            "address": {
                "socket_address": {
                    "address": self._options.host,
                    "port_value": port,
                    "ipv4_compat": self._options.host == "::",
                }
            },
            # Else a second Envoy on the same port would take half of the connections,
            # by a whitelist of its own.
            "enable_reuse_port": False,
            # Connections that have not sent a name by then are closed.
            "listener_filters_timeout": f"{self._options.hello_timeout_s}s",
            "per_connection_buffer_limit_bytes": 64 * 1024,
            "tcp_keepalive": KEEPALIVE,
        }

    def _behind_balancers(self) -> dict[str, Any]:
        """Match whose preamble it was: its address is worth what its sender is."""
        if not self._options.balancers:
            return {}
        ranges = [_range(balancer) for balancer in self._options.balancers]
        return {"direct_source_prefix_ranges": ranges}

    def _chain(self, chain: FilterChain) -> dict[str, Any]:
        match: dict[str, Any] = {
            "server_names": chain.names,
            "source_prefix_ranges": [_range(source) for source in chain.sources],
        }
        return {
            "name": f"{chain.node_id} {chain.label}",
            "filter_chain_match": {**match, **self._behind_balancers()},
            "filters": [
                self._filters.limits(),
                *self._filters.through(f"node.{chain.node_id}", chain.to),
            ],
        }


def _range(network: str) -> dict[str, Any]:
    parsed = ip_network(network)
    return {
        "address_prefix": str(parsed.network_address),
        "prefix_len": parsed.prefixlen,
    }
