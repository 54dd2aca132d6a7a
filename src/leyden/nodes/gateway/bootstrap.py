"""Envoy's bootstrap configuration; the rest follows while it runs."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from leyden.nodes.gateway.envoy import KEEPALIVE, NOWHERE
from leyden.nodes.gateway.filters import NODES, TYPE
from leyden.values import Struct

ROUTES: Final = "routes.pb"
ADMIN: Final = "admin.sock"
# All nodes share one cluster: what it allows must not be what limits one of them.
_NO_LIMIT: Final = 2**32 - 1
_STATS: Final = ("listener_manager.", "server.", "listener.", "wasmcustom.")
_TRAFFIC: Final = r"tcp\.node\..*\.downstream_cx_(total|rx_bytes_total|tx_bytes_total)"


class Control(Struct, frozen=True, kw_only=True):
    """The control plane where a gateway on another machine gets its routes."""

    url: str  # of our API
    token: str  # tells the API that it is a gateway that asks
    ca_path: str = ""  # PEM; empty is plain HTTP, for networks that nobody else is in
    name: str = ""  # in the certificate; empty is the URL's host

    # The API answers when there is something new, or after a while: so a change takes
    # as long as the network does, and this is only the pause before asking again.
    pause_s: float = 0.05
    patience_s: float = 30

    def __post_init__(self) -> None:
        """Refuse a URL without a host, https without a CA, and http with one."""
        url = urlsplit(self.url)
        if url.hostname is None or (url.scheme == "https") != bool(self.ca_path):
            raise ValueError(f"{self.url}: https needs a CA file, http has none")


class Bootstrap(Struct, frozen=True, kw_only=True):
    """The startup configuration of one Envoy."""

    node_id: str = "gateway"
    connections: int = 10_000  # all together, those that have not told a name included
    connect_timeout_s: float = 3
    limits_digest: str = ""  # so that a new connection_limits.wasm means a new Envoy
    control: Control | None = None  # None: routes are in a file beside this one

    def render(self) -> bytes:
        """Render the file that Envoy reads; paths are relative to its folder."""
        metadata = {"connection limits": self.limits_digest}
        if self.control is not None:
            # In the body, since Envoy cannot be told a header for it.
            metadata["token"] = self.control.token
        document = {
            "node": {
                "id": self.node_id,
                "cluster": "leyden",
                "metadata": metadata,
            },
            # A socket, not a port: nodes run on this machine and can reach every port.
            "admin": {"address": {"pipe": {"path": ADMIN, "mode": 0o600}}},
            "dynamic_resources": {"lds_config": self._source()},
            "static_resources": {"clusters": self._clusters()},
            "overload_manager": {
                "resource_monitors": [
                    {
                        "name": "envoy.resource_monitors."
                        "global_downstream_max_connections",
                        "typed_config": {
                            "@type": TYPE + "envoy.extensions.resource_monitors."
                            "downstream_connections.v3.DownstreamConnectionsConfig",
                            "max_active_downstream_connections": self.connections,
                        },
                    }
                ]
            },
            # An Envoy that is stuck ends itself, and is started anew.
            "watchdogs": {
                "main_thread_watchdog": {"kill_timeout": "120s"},
                "worker_watchdog": {"kill_timeout": "30s"},
            },
            "stats_config": {
                "stats_matcher": {
                    "inclusion_list": {
                        "patterns": [
                            *({"prefix": prefix} for prefix in _STATS),
                            {"safe_regex": {"regex": _TRAFFIC}},
                        ]
                    }
                }
            },
        }
        return msgspec.json.format(msgspec.json.encode(document), indent=1)

    def _source(self) -> dict[str, Any]:
        if self.control is None:
            return {
                "resource_api_version": "V3",
                "path_config_source": {
                    "path": ROUTES,
                    "watched_directory": {"path": "."},
                },
            }
        return {
            "resource_api_version": "V3",
            "api_config_source": {
                "api_type": "REST",
                "transport_api_version": "V3",
                "cluster_names": ["control"],
                "refresh_delay": f"{self.control.pause_s}s",
                "request_timeout": f"{self.control.patience_s}s",
            },
        }

    def _clusters(self) -> list[dict[str, Any]]:
        limits = ("max_connections", "max_pending_requests", "max_requests")
        clusters: list[dict[str, Any]] = [
            {
                "name": NODES,
                "type": "ORIGINAL_DST",
                "lb_policy": "CLUSTER_PROVIDED",
                "connect_timeout": f"{self.connect_timeout_s}s",
                "per_connection_buffer_limit_bytes": 64 * 1024,
                "circuit_breakers": {"thresholds": [dict.fromkeys(limits, _NO_LIMIT)]},
            },
            {"name": NOWHERE, "type": "STATIC"},
        ]
        if self.control is not None:
            # Only there: a machine of nodes can vanish without a word, ours cannot.
            clusters[0]["upstream_connection_options"] = {"tcp_keepalive": KEEPALIVE}
            clusters.append(_control(self.control))
        return clusters


def flags(bootstrap: Path, *, workers: int) -> tuple[str, ...]:
    """Return the words after `envoy`.

    A drain time of nothing is what cuts connections at once when their chain goes.
    """
    return (
        "--config-path",
        str(bootstrap),
        "--concurrency",
        str(workers),
        "--drain-time-s",
        "0",
        "--drain-strategy",
        "immediate",
        "--parent-shutdown-time-s",
        "1",
        "--disable-hot-restart",
        "--log-level",
        "warning",
    )


def _control(control: Control) -> dict[str, Any]:
    url = urlsplit(control.url)
    port = url.port or (443 if control.ca_path else 80)
    address = {"socket_address": {"address": url.hostname, "port_value": port}}
    cluster: dict[str, Any] = {
        "name": "control",
        "type": "STRICT_DNS",
        "connect_timeout": "2s",
        "load_assignment": {
            "cluster_name": "control",
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    }
    if control.ca_path:
        name = control.name or url.hostname
        trusted = {
            "trusted_ca": {"filename": control.ca_path},
            "match_typed_subject_alt_names": [
                {"san_type": "DNS", "matcher": {"exact": name}}
            ],
        }
        cluster["transport_socket"] = {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": TYPE
                + "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                "sni": name,
                "common_tls_context": {"validation_context": trusted},
            },
        }
    return cluster
