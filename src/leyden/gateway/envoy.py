"""Routes, as Envoy is told of them: one listener a door, one filter chain a passage.

Envoy reads the name from the ClientHello, picks the chain by name and source address
before a byte reaches a node, and passes the bytes through. The document says the same
whether it lies in a file, as protobuf, or answers `POST /v3/discovery:listeners`, as
JSON.

When it changes, Envoy drops the chains that are gone or different, with their
connections, and keeps the others: so a chain must come out byte for byte the same as
long as its passage does.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final

import msgspec

from leyden.gateway import protobuf
from leyden.gateway.routes import Door, Passage, Route, passages, table
from leyden.values import Struct

TYPE: Final = "type.googleapis.com/"
LISTENER: Final = TYPE + "envoy.config.listener.v3.Listener"
NODES: Final = "nodes"  # the cluster whose address each chain gives itself
NOWHERE: Final = "nowhere"  # the cluster that has no addresses
CAPS: Final = "caps.wasm"  # in the folder that Envoy runs in
_FILTERS: Final = TYPE + "envoy.extensions.filters."
_HIGHEST: Final = 2**31 - 1

# SO_KEEPALIVE after a minute, given up two minutes later: peers that vanish without a
# word would fill a node's cap otherwise.
KEEPALIVE: Final = {
    "keepalive_time": 60,
    "keepalive_interval": 30,
    "keepalive_probes": 4,
}


class Listening(Struct, frozen=True, kw_only=True):
    """Where the doors are and what they let be done to them."""

    host: str = "127.0.0.1"
    ports: Mapping[Door, int]
    # Load balancers that tell the caller's address by a PROXY preamble. With any, all
    # connections must come through one of them.
    balancers: tuple[str, ...] = ()
    connections_per_source: int = 200  # to all nodes together
    connections_per_node: int = 1_000  # through both doors together
    # A ClientHello of a slow phone may take two round trips, each lost once.
    hello_timeout_s: int = 3
    # A subscription to a quiet node says nothing for hours; keepalive finds dead peers.
    idle_timeout_s: int = 86_400

    def __post_init__(self) -> None:
        """Refuse what Envoy would refuse later, and a preamble from just anybody."""
        if set(self.ports) != set(Door):
            raise ValueError("each door needs a port")
        for cap in (self.connections_per_source, self.connections_per_node):
            if not 1 <= cap <= _HIGHEST:
                raise ValueError(f"{cap} is no number of connections to allow")
        for balancer in self.balancers:
            if ip_network(balancer).prefixlen == 0:
                raise ValueError("any address may not be a load balancer")


class Document(Struct, frozen=True):
    """What Envoy is told; equal content has an equal version, on every replica."""

    version: str
    content: bytes


def as_json(_message: str, value: object) -> msgspec.Raw:
    """Write a message, or a value in it, for a gateway that asks over HTTP."""
    return msgspec.Raw(msgspec.json.encode(value))


def as_protobuf(message: str, value: object) -> msgspec.Raw:
    """Write a message for a gateway that reads a file: it is sooner done with it."""
    return protobuf.encode(message, value)


Form = Callable[[str, object], msgspec.Raw]


class Listeners:
    """Writes documents; remembers each route's part, since few change at a time."""

    def __init__(self, listening: Listening, form: Form = as_json) -> None:
        self._listening = listening
        self._form = form
        self._parts: dict[Route, dict[Door, list[msgspec.Raw]]] = {}

    def document(self, routes: Iterable[Route]) -> Document:
        """Write what Envoy has to know for exactly these routes."""
        ordered = table(routes)
        known = self._parts
        self._parts = {
            route: known.get(route) or self._part(route) for route in ordered
        }
        listeners = [
            self._form(
                "Any",
                {**self._listener(door), "filter_chains": list(self._chains(door))},
            )
            for door in Door
        ]
        version = hashlib.sha256(b"\n".join(listeners)).hexdigest()[:32]
        content = {
            "version_info": version,
            "type_url": LISTENER,
            "nonce": version,
            "resources": listeners,
        }
        return Document(version, bytes(self._form("DiscoveryResponse", content)))

    def _chains(self, door: Door) -> Iterator[object]:
        # Envoy refuses a listener without any chain: this one is never chosen.
        yield {
            "name": "nobody",
            "filter_chain_match": {"server_names": ["nobody.invalid"]},
            "filters": [
                # Here too, so that the filter's machines outlast the last node: made
                # anew for the next one they take 10 ms of processor, just when its lnd
                # starts.
                self._caps(),
                _filter("tcp_proxy", stat_prefix="nobody", cluster=NOWHERE),
            ],
        }
        for part in self._parts.values():
            yield from part[door]

    def _part(self, route: Route) -> dict[Door, list[msgspec.Raw]]:
        return {
            door: [
                self._form("FilterChain", self._chain(passage))
                for passage in passages(route, door)
            ]
            for door in Door
        }

    def _listener(self, door: Door) -> dict[str, Any]:
        preamble = [_listener_filter("proxy_protocol", "ProxyProtocol")]
        return {
            "@type": LISTENER,
            "name": door.value,
            "stat_prefix": door.value,
            "address": {
                "socket_address": {
                    "address": self._listening.host,
                    "port_value": self._listening.ports[door],
                    "ipv4_compat": self._listening.host == "::",
                }
            },
            # Else a second Envoy on the same port would take half of the connections,
            # by a whitelist of its own.
            "enable_reuse_port": False,
            "listener_filters": [
                *(preamble if self._listening.balancers else ()),
                _listener_filter("tls_inspector", "TlsInspector"),
            ],
            # Whoever has not told a name by then is closed.
            "listener_filters_timeout": f"{self._listening.hello_timeout_s}s",
            "per_connection_buffer_limit_bytes": 64 * 1024,
            "tcp_keepalive": KEEPALIVE,
        }

    def _chain(self, passage: Passage) -> dict[str, Any]:
        match: dict[str, Any] = {
            "server_names": passage.names,
            "source_prefix_ranges": [_range(source) for source in passage.sources],
        }
        if self._listening.balancers:
            # Whose preamble it was: the address in it is worth what its sender is.
            match["direct_source_prefix_ranges"] = [
                _range(balancer) for balancer in self._listening.balancers
            ]
        to = {
            "object_key": "envoy.network.transport_socket.original_dst_address",
            "format_string": {"text_format_source": {"inline_string": str(passage.to)}},
            "shared_with_upstream": "ONCE",
        }
        return {
            "name": f"{passage.node_id} {passage.label}",
            "filter_chain_match": match,
            "filters": [
                self._caps(),
                _filter("set_filter_state", "Config", on_new_connection=[to]),
                _filter(
                    "tcp_proxy",
                    stat_prefix=f"node.{passage.node_id}",
                    cluster=NODES,
                    idle_timeout=f"{self._listening.idle_timeout_s}s",
                ),
            ],
        }

    def _caps(self) -> dict[str, Any]:
        numbers = (
            self._listening.connections_per_source,
            self._listening.connections_per_node,
        )
        packed = b"".join(number.to_bytes(4, "little") for number in numbers)
        return _filter(
            "wasm",
            config={
                "name": "caps",
                # Were it ever to fail, nobody gets in until it has been loaded anew.
                "failure_policy": "FAIL_RELOAD",
                "vm_config": {
                    "vm_id": "caps",
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": CAPS}},
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
