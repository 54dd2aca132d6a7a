"""A node: one real lnd, with its owner, its place and its state.

Desired and actual state are two columns; node_moves.py defines how they
change.
"""

import re
from datetime import datetime
from enum import StrEnum, auto

from leyden.errors import Malformed
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.versions import Version
from leyden.values import Struct, replace

# The data that a view of a node depends on: equal stamps mean equal views.
Stamp = tuple[str | int | bytes | None, ...]

_NAME = re.compile(r"[A-Za-z0-9 _.-]{1,50}")


class NodeStatus(StrEnum):
    """The status of a node, in the API's values."""

    PROVISIONING = auto()  # its data directory is being created
    STARTING = auto()  # lnd is starting, or about to
    WAITING_INIT = auto()  # lnd has no wallet: the owner must create one
    WAITING_UNLOCK = auto()  # lnd's wallet is locked: the owner must unlock it
    RUNNING = auto()  # lnd's whole API works
    STOPPING = auto()  # lnd was told to stop, and still runs
    STOPPED = auto()  # stopped as wanted; or lnd crashed and will be restarted
    RESTARTING = auto()  # lnd is being stopped, and will be started again
    UPDATING = auto()  # the same, with a newer version
    FAILED = auto()  # it could not be started; the start is retried
    DELETING = auto()  # lnd is being stopped for good


class DesiredState(StrEnum):
    """The desired state of a node."""

    RUNNING = auto()
    STOPPED = auto()
    DELETED = auto()


class Action(StrEnum):
    """An owner's command, as `command_history` shows it."""

    CREATE = auto()
    START = auto()
    STOP = auto()
    RESTART = auto()
    UPDATE = auto()
    SETTINGS = auto()
    DELETE = auto()
    RESTORE = auto()


class ObservedEvent(StrEnum):
    """An observation of a node's lnd and its process."""

    LAUNCHED = auto()  # the process exists
    OPENING = auto()  # lnd is starting, or opening its wallet
    UNINITIALIZED = auto()
    LOCKED = auto()
    SERVING = auto()
    ENDED = auto()  # the process has ended
    BROKE = auto()  # no process could be started


class Cause(StrEnum):
    """Why a node's lnd ended unasked, or could not be started."""

    NOT_STARTED = auto()  # no process could be started, or it never ran
    OUT_OF_MEMORY = auto()  # the kernel killed it: it needed more than its share
    KILLED = auto()  # by a signal
    EXITED = auto()  # by itself
    INTERRUPTED = auto()  # its machine was emptied or shut down, or its pod deleted
    UNEXPLAINED = auto()  # nobody saw it end


class Trouble(Struct, frozen=True, kw_only=True):
    """Why a node's lnd does not run, or the last one ended, until that is over."""

    cause: Cause
    reason: str  # for the node's owner
    why: str  # for the operator: with paths, and what the system said
    times: int = 1  # in a row


class Unknown(Struct, frozen=True, kw_only=True):
    """Since when, and why, it is unknown whether a node's lnd runs."""

    since: datetime
    why: str


class Network(StrEnum):
    """The network of a node in the API's words; settings choose the chain."""

    MAINNET = auto()
    TESTNET = auto()


class RuntimeName(StrEnum):
    """The runtimes that may have a node."""

    LOCAL = auto()
    KUBERNETES = auto()


class NodeType(StrEnum):
    """The resource classes."""

    STANDARD = auto()
    PROFESSIONAL = auto()


class PurchasedType(StrEnum):
    """The way in which a node is paid for."""

    PAID = auto()
    ONDEMAND = auto()
    TRIAL = auto()


class PurchaseStatus(StrEnum):
    """Whether a node is paid for."""

    ACTIVE = auto()
    PAST_DUE = auto()
    SUSPENDED = auto()


class Node(Struct, frozen=True, kw_only=True):
    """A node's stored row."""

    id: str
    organization_id: str
    name: str
    network: Network
    type: NodeType
    version: Version  # the lnd version to run
    settings: NodeSettings  # without secrets, which are stored sealed
    api_endpoint: str
    slot: int  # its number on this installation: address and uid follow from it
    created: datetime
    status: NodeStatus = NodeStatus.PROVISIONING
    wanted: DesiredState = DesiredState.RUNNING
    revision: int = 1  # rises with each change that needs a restart of lnd
    process: str = ""  # the runtime's id of the process; "" is none
    launched_revision: int = 0  # the revision that the process was started with
    host: str = ""  # the address of its lnd, once it has one
    launched_at: datetime | None = None
    crashes: int = 0  # in a row
    due: datetime  # the earliest time of the next step
    purchased_type: PurchasedType = PurchasedType.ONDEMAND
    purchase_status: PurchaseStatus = PurchaseStatus.ACTIVE
    expires: datetime | None = None  # None is never
    edition: int = 1  # rises with every change; an older copy is stale
    has_wallet: bool = False  # its lnd once reported one, so it must exist
    peer_port: int = 0  # the public port for peers; 0 is none
    peer_port_released: datetime | None = None  # when it stopped using that port
    onion: str = ""  # the host of its onion service; it never changes
    runtime: RuntimeName = RuntimeName.LOCAL  # where the node's data is
    moves_to: RuntimeName | None = None  # while set, the node is not started
    trouble: Trouble | None = None
    unknown: Unknown | None = None  # set while its lnd can't be observed

    @property
    def has_process(self) -> bool:
        """Whether the node has an lnd process, as far as we know."""
        return self.process != ""

    def uptime_s(self, now: datetime) -> int:
        """Return how many seconds its lnd has been running; 0 if it is not running."""
        if self.launched_at is None:
            return 0
        return max(0, int((now - self.launched_at).total_seconds()))

    @property
    def is_outdated(self) -> bool:
        """Whether the running lnd must be replaced."""
        return self.has_process and self.launched_revision < self.revision

    @property
    def needs_drills(self) -> bool:
        """Whether its wallet has a seed to back up; otherwise, its signer has it."""
        return self.has_wallet and not self.settings.remotesigning

    @property
    def open_peer_port(self) -> int:
        """The port at which peers can reach the node; 0 if they can't."""
        return self.peer_port if self.peer_port_released is None else 0

    def without_peers(self, now: datetime) -> "Node":
        """Return the node with its peer port released; it may be taken back."""
        if not self.open_peer_port:
            return self
        return replace(self, peer_port_released=now)

    @property
    def is_gone(self) -> bool:
        """Whether the node is no longer visible to its owner."""
        return self.wanted is DesiredState.DELETED and not self.has_process

    @property
    def is_destroyed(self) -> bool:
        """Whether the removal of a deleted node's data has begun, or is done."""
        return self.wanted is DesiredState.DELETED and self.due <= self.created


class NodeListing(Struct, frozen=True, kw_only=True):
    """A node as lists show it, with stored texts as they are, for speed."""

    id: str
    name: str
    status: str
    expires: datetime | None
    created: datetime
    type: str
    purchased_type: str
    purchase_status: str
    api_endpoint: str
    network: str
    version: str
    peer_port: int  # 0 if peers can't reach it
    onion: str  # "" if it never had an onion service
    reason: str = ""  # why it does not run, or its last lnd ended, for its owner
    unknown_since: datetime | None = None  # set while its lnd can't be observed

    @classmethod
    def of(cls, node: Node) -> "NodeListing":
        """Build the listed form of a node."""
        return cls(
            id=node.id,
            name=node.name,
            status=node.status,
            expires=node.expires,
            created=node.created,
            type=node.type,
            purchased_type=node.purchased_type,
            purchase_status=node.purchase_status,
            api_endpoint=node.api_endpoint,
            network=node.network,
            version=str(node.version),
            peer_port=node.open_peer_port,
            onion=node.onion,
            reason=reason_of(node.status, node.trouble),
            unknown_since=node.unknown.since if node.unknown else None,
        )


def reason_of(status: str, trouble: Trouble | None) -> str:
    """Return why a node does not run, or its last lnd ended; "" if all is well."""
    if trouble is None or status == NodeStatus.RUNNING:
        return ""
    if trouble.times == 1 or trouble.cause is Cause.NOT_STARTED:
        return trouble.reason
    return f"{trouble.reason} This happened {trouble.times} times in a row."


def check_name(name: str) -> str:
    """Return the name; raise Malformed if it is not valid."""
    if not _NAME.fullmatch(name):
        raise Malformed(
            "name: must have 1 to 50 characters of A-Z a-z 0-9 space _ . and -"
        )
    if name != name.strip():
        raise Malformed("name: must not begin or end with a space")
    return name
