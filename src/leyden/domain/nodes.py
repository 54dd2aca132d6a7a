"""A node: one real lnd, with its owner, its place and its state.

Desired and actual state are two columns; node_moves.py defines how they
change.
"""

import re
from datetime import datetime
from enum import StrEnum, auto

from leyden.domain.node_settings import NodeSettings
from leyden.domain.versions import Version
from leyden.errors import Malformed
from leyden.values import Struct, replace

# What a view of a node is made of: where stamps are equal, so are the views.
Stamp = tuple[str | int | bytes | None, ...]

_NAME = re.compile(r"[A-Za-z0-9 _.-]{1,50}")


class Status(StrEnum):
    """The status of a node, in the API's values."""

    PROVISIONING = auto()  # its home is being made
    STARTING = auto()  # lnd is there, or about to be, and busy opening
    WAITING_INIT = auto()  # lnd has no wallet: the owner has to make one
    WAITING_UNLOCK = auto()  # lnd's wallet is locked: the owner has to unlock it
    RUNNING = auto()  # lnd serves all its calls
    STOPPING = auto()  # lnd was asked to end and has not yet
    STOPPED = auto()  # no lnd, as wanted; or it crashed and the next is to come
    RESTARTING = auto()  # lnd is being ended to be started again
    UPDATING = auto()  # the same, and the next one is of a newer version
    FAILED = auto()  # it could not be started; this is tried again
    DELETING = auto()  # lnd is being ended for good


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

    LAUNCHED = auto()  # there is a process
    OPENING = auto()  # lnd is on its way: to its first word, or to serving
    UNINITIALIZED = auto()
    LOCKED = auto()
    SERVING = auto()
    ENDED = auto()  # there was a process
    BROKE = auto()  # no process could be made


class Network(StrEnum):
    """The network of a node in the API's words; settings choose the chain."""

    MAINNET = auto()
    TESTNET = auto()


class RuntimeName(StrEnum):
    """The runtimes that may have a node."""

    LOCAL = auto()
    KUBERNETES = auto()


class Type(StrEnum):
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
    type: Type
    version: Version  # the one to run
    settings: NodeSettings  # without its secrets, which are kept sealed
    api_endpoint: str
    slot: int  # its number on this installation: address and uid follow from it
    created: datetime
    status: Status = Status.PROVISIONING
    wanted: DesiredState = DesiredState.RUNNING
    revision: int = 1  # rises whenever an lnd that runs has to be started anew
    process: str = ""  # which process it is, in the runtime's words; "" is none
    launched_revision: int = 0  # the revision that process was started with
    host: str = ""  # the address its lnd serves on, as soon as it has one
    launched_at: datetime | None = None
    crashes: int = 0  # in a row
    due: datetime  # nothing is to be done before
    purchased_type: PurchasedType = PurchasedType.ONDEMAND
    purchase_status: PurchaseStatus = PurchaseStatus.ACTIVE
    expires: datetime | None = None  # None is never
    edition: int = 1  # rises with every change; who holds an older one is stale
    has_wallet: bool = False  # its lnd was seen with one, so there has to be one
    peer_port: int = 0  # the public one, at which peers reach it; 0 is none
    peer_port_released: datetime | None = None  # since when it does not use that port
    onion: str = ""  # the host of its onion service; kept for its life
    runtime: RuntimeName = RuntimeName.LOCAL  # which has the node's data
    moves_to: RuntimeName | None = None  # while set, nobody starts the node

    @property
    def has_process(self) -> bool:
        """Whether the node has an lnd process, as far as we know."""
        return self.process != ""

    def uptime_s(self, now: datetime) -> int:
        """Return for how many seconds its lnd has run; 0 where none does."""
        if self.launched_at is None:
            return 0
        return max(0, int((now - self.launched_at).total_seconds()))

    @property
    def is_outdated(self) -> bool:
        """Whether the running lnd has to be replaced."""
        return self.has_process and self.launched_revision < self.revision

    @property
    def open_peer_port(self) -> int:
        """The port at which peers may reach the node; 0 if they may not."""
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


class Listed(Struct, frozen=True, kw_only=True):
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
    edition: int
    peer_port: int  # 0 if peers may not reach it
    onion: str  # "" if it never had an onion service

    @property
    def stamp(self) -> "Stamp":
        """The stamp, which changes whenever anything shown here changes."""
        return self.id, self.edition

    @classmethod
    def of(cls, node: Node) -> "Listed":
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
            edition=node.edition,
            peer_port=node.open_peer_port,
            onion=node.onion,
        )


def check_name(name: str) -> str:
    """Return the name, or raise what is wrong with it."""
    if not _NAME.fullmatch(name):
        raise Malformed(
            "name: must have 1 to 50 characters of A-Z a-z 0-9 space _ . and -"
        )
    if name != name.strip():
        raise Malformed("name: must not begin or end with a space")
    return name
