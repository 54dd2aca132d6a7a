"""Routes, as Envoy is told of them: listeners, and the filter chains of each.

Envoy reads the name from the ClientHello, picks the chain by name and source address
before a byte reaches a node, and passes the bytes through. The document says the same
whether it lies in a file, as protobuf, or answers `POST /v3/discovery:listeners`, as
JSON.

When it changes, Envoy drops the chains that are gone or different, with their
connections, and keeps the others: so a chain must come out byte for byte the same as
long as its chain does.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final

import msgspec

from leyden.gateway import protobuf
from leyden.gateway.routes import (
    Address,
    FilterChain,
    Listener,
    PeerPort,
    Route,
    filter_chains,
    table,
)
from leyden.values import Struct

TYPE: Final = "type.googleapis.com/"
LISTENER: Final = TYPE + "envoy.config.listener.v3.Listener"
NODES: Final = "nodes"  # the cluster whose address each chain gives itself
NOWHERE: Final = "nowhere"  # the cluster that has no addresses
LIMITS: Final = "connection_limits.wasm"  # in the folder that Envoy runs in
# Where the kernel has a program call from that calls this machine and binds nothing.
OWN_ADDRESSES: Final = ("127.0.0.1/32", "::1/128")
_FILTERS: Final = TYPE + "envoy.extensions.filters."
_HIGHEST: Final = 2**31 - 1
_AHEAD_S: Final = 10  # so many seconds' worth may come at once, as of one source

# SO_KEEPALIVE after a minute, given up two minutes later: peers that vanish without a
# word would fill a node's cap otherwise.
KEEPALIVE: Final = {
    "keepalive_time": 60,
    "keepalive_interval": 30,
    "keepalive_probes": 4,
}


class ListenerOptions(Struct, frozen=True, kw_only=True):
    """Where the listeners are and what they allow."""

    host: str = "127.0.0.1"
    ports: Mapping[Listener, int]
    # Load balancers that tell the caller's address by a PROXY preamble. With any, all
    # connections must come through one of them.
    balancers: tuple[str, ...] = ()
    connections_per_source: int = 200  # to all nodes together
    connections_per_node: int = 1_000  # through both listeners together
    peer_connections_per_node: int = 500
    peer_connections_per_source: int = 10  # to one node
    peer_arrivals_per_source: int = 20  # a second, to all nodes together
    peer_arrivals_per_node: int = 50  # a second, of those that each source may make
    # Peers at these addresses count for no source: they are our nodes, all behind one.
    own_addresses: tuple[str, ...] = OWN_ADDRESSES
    # A ClientHello of a slow phone may take two round trips, each lost once.
    hello_timeout_s: int = 3
    # A subscription to a quiet node says nothing for hours; keepalive finds dead peers.
    idle_timeout_s: int = 86_400

    def __post_init__(self) -> None:
        """Raise what Envoy would refuse later, and PROXY headers from anybody."""
        if set(self.ports) != set(Listener):
            raise ValueError("each listener needs a port")
        for cap in (
            self.connections_per_source,
            self.connections_per_node,
            self.peer_connections_per_node,
            self.peer_connections_per_source,
            self.peer_arrivals_per_source,
            self.peer_arrivals_per_node,
        ):
            if not 1 <= cap <= _HIGHEST:
                raise ValueError(f"{cap} is no number of connections to allow")
        for balancer in self.balancers:
            if ip_network(balancer).prefixlen == 0:
                raise ValueError("any address may not be a load balancer")


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
                self._limits(),
                _filter("tcp_proxy", stat_prefix="nobody", cluster=NOWHERE),
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
        """Return a listener of one node for anybody: strangers, so it is limited."""
        through = self._through(f"node.{node_id}", peers.to)
        limit = _filter(
            "connection_limit",
            stat_prefix=f"peers.{node_id}",
            max_connections=self._options.peer_connections_per_node,
        )
        own = [_range(address) for address in self._options.own_addresses]
        chains = [
            # Envoy's own first: it counts down at the end of those, too, that another
            # filter has refused before it.
            # What a source may not do takes nothing of what a node takes of them all.
            ("peers", {}, [limit, self._limits(peers=True), self._pace(), *through]),
            ("own peers", {"source_prefix_ranges": own}, [limit, *through]),
        ]
        return {
            **self._listening(peers.listener(node_id), peers.port),
            "stat_prefix": "peers",
            "listener_filters": self._preamble(),
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
                *self._preamble(),
                _listener_filter("tls_inspector", "TlsInspector"),
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
            # Whoever has not told a name by then is closed.
            "listener_filters_timeout": f"{self._options.hello_timeout_s}s",
            "per_connection_buffer_limit_bytes": 64 * 1024,
            "tcp_keepalive": KEEPALIVE,
        }

    def _preamble(self) -> list[dict[str, Any]]:
        if not self._options.balancers:
            return []
        return [_listener_filter("proxy_protocol", "ProxyProtocol")]

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
                self._limits(),
                *self._through(f"node.{chain.node_id}", chain.to),
            ],
        }

    def _through(self, stat_prefix: str, address: Address) -> list[dict[str, Any]]:
        to = {
            "object_key": "envoy.network.transport_socket.original_dst_address",
            "format_string": {"text_format_source": {"inline_string": str(address)}},
            "shared_with_upstream": "ONCE",
        }
        return [
            _filter("set_filter_state", "Config", on_new_connection=[to]),
            _filter(
                "tcp_proxy",
                stat_prefix=stat_prefix,
                cluster=NODES,
                idle_timeout=f"{self._options.idle_timeout_s}s",
            ),
        ]

    def _pace(self) -> dict[str, Any]:
        """Return the filter that lets so many strangers begin in a second."""
        arrivals = self._options.peer_arrivals_per_node
        return _filter(
            "local_ratelimit",
            "LocalRateLimit",
            stat_prefix="peers",
            token_bucket={
                "max_tokens": min(arrivals * _AHEAD_S, _HIGHEST),
                "tokens_per_fill": arrivals,
                "fill_interval": "1s",
            },
        )

    def _limits(self, *, peers: bool = False) -> dict[str, Any]:
        """Return the filter that counts by source, and by the node that is named.

        Peers name none, and of each source few are let in to one node: a filter of
        Envoy's own counts all of a node's.
        """
        options = self._options
        if peers:
            name, to_one = "peer limits", options.peer_connections_per_source
            arrivals = options.peer_arrivals_per_source
        else:
            name, to_one = "connection limits", options.connections_per_node
            arrivals = 0  # a whitelist has let them in
        numbers = (options.connections_per_source, to_one, arrivals)
        packed = b"".join(number.to_bytes(4, "little") for number in numbers)
        return _filter(
            "wasm",
            config={
                "name": name,
                # Were it ever to fail, nobody gets in until it has been loaded anew.
                "failure_policy": "FAIL_RELOAD",
                "vm_config": {
                    "vm_id": name,
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": LIMITS}},
                    "configuration": {
                        "@type": TYPE + "google.protobuf.BytesValue",
                        "value": b64encode(packed).decode(),
                    },
                },
            },
        )


def _filter(kind: str, message: str = "", **config: object) -> dict[str, Any]:
    message = message or kind.title().replace("_", "")
    return {
        "name": f"envoy.filters.network.{kind}",
        "typed_config": {"@type": f"{_FILTERS}network.{kind}.v3.{message}", **config},
    }


def _listener_filter(kind: str, message: str) -> dict[str, Any]:
    return {
        "name": f"envoy.filters.listener.{kind}",
        "typed_config": {"@type": f"{_FILTERS}listener.{kind}.v3.{message}"},
    }


def _range(network: str) -> dict[str, Any]:
    parsed = ip_network(network)
    return {
        "address_prefix": str(parsed.network_address),
        "prefix_len": parsed.prefixlen,
    }
