"""The fleet: everything needed to run nodes; nodes/wiring/fleet.py builds it."""

from collections.abc import Mapping
from datetime import timedelta

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import Clock
from leyden.base.settings import Settings
from leyden.events.rules.webhook_urls import USUAL, Allowed
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.certificates.roots import Roots
from leyden.nodes.gateway.base import Gateway
from leyden.nodes.lnd.chains import Backend
from leyden.nodes.node_cache import NodeCache
from leyden.nodes.onions.base import Tor
from leyden.nodes.rules import onions
from leyden.nodes.rules.node_moves import KEEP_DATA_FOR
from leyden.nodes.rules.node_settings import PUBLIC, AllowedCalls
from leyden.nodes.rules.nodes import Network, RuntimeName
from leyden.nodes.rules.peer_ports import PeerPorts, host_port
from leyden.nodes.rules.versions import OFFERED, Catalogue
from leyden.nodes.runtimes.base import NodeFiles, Runtime
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.nodes.start_limits import StartLimit
from leyden.people.quotas import limits
from leyden.people.rules.quotas import Limits
from leyden.values import Struct, field


class GatewayPorts(Struct, frozen=True, kw_only=True):
    """The addresses and ports of the gateway, and of nodes behind it."""

    host: str = "127.0.0.1"  # the gateway's own address, for people's hosts files
    rest: int = 8080
    grpc: int = 10_009
    node_rest: int = 18_080  # what each lnd listens on, at an address of its own
    node_grpc: int = 18_009
    node_peer: int = 18_735
    peer_host: str = ""  # the public host at which peers reach nodes; empty: nowhere
    tor_target: str = ""  # the address at which Tor reaches peer ports; empty: no Tor


class FleetSettings(Struct, frozen=True, kw_only=True):
    """Settings of the fleet."""

    service_version: str = "0.1.0"
    domain: str = "nodes.localhost"  # a node's endpoint is a name below it
    networks: frozenset[Network] = frozenset({Network.TESTNET})
    slots: int = 65_000
    ports: GatewayPorts = field(default_factory=GatewayPorts)
    catalogue: Catalogue = OFFERED
    webhooks: Allowed = USUAL
    calls: AllowedCalls = PUBLIC
    data_kept: timedelta = KEEP_DATA_FOR
    look_every: timedelta = timedelta(seconds=10)  # at what lnds leave at home
    peer_ports: PeerPorts = PeerPorts()
    quotas: Limits = field(default_factory=lambda: limits(Settings()))
    runtime: RuntimeName = RuntimeName.LOCAL  # of new nodes
    issued: bool = False  # whether an authority of others vouches for nodes

    def peer_address(self, port: int) -> str:
        """Return HOST:PORT, at which peers reach a node with this port; "" for none."""
        return host_port(self.ports.peer_host, port) if port else ""

    def onion_address(self, onion: str, port: int) -> str:
        """Return HOST:PORT, at which peers reach a node by Tor; "" for none."""
        return host_port(onion, onions.PORT) if port and self.ports.tor_target else ""


class Fleet(Struct, frozen=True, kw_only=True):
    """All nodes of an installation, and the services that run them."""

    database: Database
    sealer: Sealer
    runtime: Runtime
    node_files: NodeFiles
    gateway: Gateway
    backends: Mapping[Network, Backend] = field(default_factory=dict)  # of nodes here
    tor: Tor | None = None  # if the operator runs one
    authority: Authority
    clock: Clock
    sides: Mapping[RuntimeName, MoveEndpoint] = field(default_factory=dict)
    starts: StartLimit
    rules: FleetSettings = field(default_factory=FleetSettings)
    roots: Roots = field(default_factory=Roots)
    node_cache: NodeCache = field(default_factory=NodeCache)


# Kinds of tasks. The key is the node's id, or EVERYTHING.
NODE = "node"
RELOCATION = "relocation"
WATCH = "watcher"  # in the one process that watches all nodes
ROUTES = "routes"
HOUSEKEEPING = "housekeeping"
ONIONS = "onions"
CERTIFICATES = "certificates"
EVERYTHING = "all"
# What only a process of the home does, and loses when the nodes move to another one.
OF_THE_HOME = (NODE, RELOCATION, WATCH, ROUTES, HOUSEKEEPING, ONIONS)
