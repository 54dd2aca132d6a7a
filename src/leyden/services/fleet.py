"""The fleet: what running nodes takes, wired by app.py and handed down."""

from datetime import timedelta

from leyden.domain.node_moves import KEPT
from leyden.domain.node_settings import PUBLIC, Calls
from leyden.domain.nodes import Network
from leyden.domain.quotas import Limits
from leyden.domain.times import Clock
from leyden.domain.versions import OFFERED, Catalogue
from leyden.domain.webhook_urls import USUAL, Allowed
from leyden.gateway.base import Gateway
from leyden.gateway.certificates import Authority
from leyden.gateway.roots import Roots
from leyden.runtimes.base import Homes, Runtime
from leyden.services.quotas import limits
from leyden.services.roll import Roll
from leyden.services.starts import Starts
from leyden.services.uploads import Uploads
from leyden.settings import Settings
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.values import Struct, field


class Doors(Struct, frozen=True, kw_only=True):
    """Where the outside finds nodes, and where the gateway finds them."""

    host: str = "127.0.0.1"  # the gateway's own address, for people's hosts files
    rest: int = 8080
    grpc: int = 10_009
    node_rest: int = 18_080  # what each lnd listens on, at an address of its own
    node_grpc: int = 18_009


class Rules(Struct, frozen=True, kw_only=True):
    """How the fleet is run."""

    service_version: str = "0.1.0"
    domain: str = "nodes.localhost"  # a node's endpoint is a name below it
    networks: frozenset[Network] = frozenset({Network.TESTNET})
    slots: int = 65_000
    doors: Doors = field(default_factory=Doors)
    catalogue: Catalogue = OFFERED
    webhooks: Allowed = USUAL
    calls: Calls = PUBLIC
    data_kept: timedelta = KEPT
    look_every: timedelta = timedelta(seconds=10)
    quotas: Limits = field(default_factory=lambda: limits(Settings()))
    issued: bool = False  # whether an authority of others vouches for nodes


class Fleet(Struct, frozen=True, kw_only=True):
    """All nodes of an installation, and what keeps them."""

    database: Database
    sealer: Sealer
    runtime: Runtime
    homes: Homes
    gateway: Gateway
    authority: Authority
    clock: Clock
    starts: Starts
    rules: Rules = field(default_factory=Rules)
    roots: Roots = field(default_factory=Roots)
    roll: Roll = field(default_factory=Roll)
    uploads: Uploads = field(default_factory=Uploads)


# Kinds of tasks. The key is the node's id, or EVERYTHING.
NODE = "node"
WATCH = "watch"  # the key is a shard's number
ROUTES = "routes"
HOUSEKEEPING = "housekeeping"
CERTIFICATES = "certificates"
EVERYTHING = "all"
