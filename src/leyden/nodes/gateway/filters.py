"""Envoy's filters of a connection: limits, and forwarding."""

from base64 import b64encode
from typing import Any, Final

from leyden.nodes.gateway.listener_options import HIGHEST, ListenerOptions
from leyden.nodes.gateway.routes import UpstreamAddress

TYPE: Final = "type.googleapis.com/"
NODES: Final = "nodes"  # the cluster whose address each chain gives itself
LIMITS: Final = "connection_limits.wasm"  # in the folder that Envoy runs in
_FILTERS: Final = TYPE + "envoy.extensions.filters."
_AHEAD_S: Final = 10  # a burst is this many seconds' worth, as for one source


class Filters:
    """The filters of connections, with the limits that the options set."""

    def __init__(self, options: ListenerOptions) -> None:
        self._options = options

    def preamble(self) -> list[dict[str, Any]]:
        """Return the filters that read the caller's address from a preamble."""
        if not self._options.balancers:
            return []
        return [listener_filter("proxy_protocol", "ProxyProtocol")]

    def through(
        self, stat_prefix: str, address: UpstreamAddress
    ) -> list[dict[str, Any]]:
        """Return the filters that forward a connection to an address."""
        to = {
            "object_key": "envoy.network.transport_socket.original_dst_address",
            "format_string": {"text_format_source": {"inline_string": str(address)}},
            "shared_with_upstream": "ONCE",
        }
        return [
            network_filter("set_filter_state", "Config", on_new_connection=[to]),
            network_filter(
                "tcp_proxy",
                stat_prefix=stat_prefix,
                cluster=NODES,
                idle_timeout=f"{self._options.idle_timeout_s}s",
            ),
        ]

    def pace(self) -> dict[str, Any]:
        """Return the filter that limits new connections of peers per second."""
        arrivals = self._options.peer_arrivals_per_node
        return network_filter(
            "local_ratelimit",
            "LocalRateLimit",
            stat_prefix="peers",
            token_bucket={
                "max_tokens": min(arrivals * _AHEAD_S, HIGHEST),
                "tokens_per_fill": arrivals,
                "fill_interval": "1s",
            },
        )

    def limits(self, *, peers: bool = False) -> dict[str, Any]:
        """Return the filter that counts connections by source, and by named node.

        Peers name no node, and each source gets few connections to one node: a filter
        of Envoy's own counts all of a node's.
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
        return network_filter(
            "wasm",
            config={
                "name": name,
                # If it ever fails, nobody is admitted until it has been loaded again.
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


def network_filter(kind: str, message: str = "", **config: object) -> dict[str, Any]:
    """Return a network filter, which runs after a chain was chosen."""
    message = message or kind.title().replace("_", "")
    return {
        "name": f"envoy.filters.network.{kind}",
        "typed_config": {"@type": f"{_FILTERS}network.{kind}.v3.{message}", **config},
    }


def listener_filter(kind: str, message: str) -> dict[str, Any]:
    """Return a listener filter, which runs before a chain is chosen."""
    return {
        "name": f"envoy.filters.listener.{kind}",
        "typed_config": {"@type": f"{_FILTERS}listener.{kind}.v3.{message}"},
    }
