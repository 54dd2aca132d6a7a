"""What a node is: real lnd, somebody's, somewhere, in some state.

What is wanted and what is are two columns; how they move, node_moves.py says.
"""

import re
from datetime import datetime
from enum import StrEnum, auto

from leyden.domain.node_settings import NodeSettings
from leyden.domain.versions import Version
from leyden.errors import Malformed
from leyden.values import Struct

# What a view of a node is made of: where stamps are equal, so are the views.
Stamp = tuple[str | int | bytes | None, ...]

_NAME = re.compile(r"[A-Za-z0-9 _.-]{1,50}")


class Status(StrEnum):
    """Where a node stands; the values are the ones the API shows."""

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


class Wanted(StrEnum):
    """What should be."""

    RUNNING = auto()
    STOPPED = auto()
    DELETED = auto()


class Action(StrEnum):
    """What an owner can ask for; the words of `command_history`."""

    CREATE = auto()
    START = auto()
    STOP = auto()
    RESTART = auto()
    UPDATE = auto()
    SETTINGS = auto()
    DELETE = auto()


class Seen(StrEnum):
    """What is seen of a node's lnd and its process."""

    LAUNCHED = auto()  # there is a process
    OPENING = auto()  # lnd is on its way: to its first word, or to serving
    UNINITIALIZED = auto()
    LOCKED = auto()
    SERVING = auto()
    ENDED = auto()  # there was a process
    BROKE = auto()  # no process could be made


class Network(StrEnum):
    """Which chain a node is on, by the API's words; settings say which one that is."""

    MAINNET = auto()
    TESTNET = auto()


class Type(StrEnum):
    """The resource classes."""

    STANDARD = auto()
    PROFESSIONAL = auto()


class PurchasedType(StrEnum):
    """How a node is paid for."""

    PAID = auto()
    ONDEMAND = auto()
    TRIAL = auto()


class PurchaseStatus(StrEnum):
    """Whether it is."""

    ACTIVE = auto()
    PAST_DUE = auto()
    SUSPENDED = auto()


class Node(Struct, frozen=True, kw_only=True):
    """One hosted lnd, as it is remembered."""

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
    wanted: Wanted = Wanted.RUNNING
    revision: int = 1  # rises whenever an lnd that runs has to be started anew
    process: str = ""  # which process it is, in the runtime's words; "" is none
    launched: int = 0  # the revision that process was started with
    host: str = ""  # the address its lnd serves on, as soon as it has one
    launched_at: datetime | None = None
    crashes: int = 0  # in a row
    due: datetime  # nothing is to be done before
    purchased_type: PurchasedType = PurchasedType.ONDEMAND
    purchase_status: PurchaseStatus = PurchaseStatus.ACTIVE
    expires: datetime | None = None  # None is never
    edition: int = 1  # rises with every change; who holds an older one is stale
    has_wallet: bool = False  # its lnd was seen with one, so there has to be one

    @property
    def has_process(self) -> bool:
        """Whether there is an lnd, as far as we know."""
        return self.process != ""

    @property
    def is_outdated(self) -> bool:
        """Whether the lnd that runs has to make way for another."""
        return self.has_process and self.launched < self.revision

    @property
    def is_gone(self) -> bool:
        """Whether its owner sees nothing of it any more."""
        return self.wanted is Wanted.DELETED and not self.has_process


class Listed(Struct, frozen=True, kw_only=True):
    """A node as lists show it: words as they are kept, for speed."""

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

    @property
    def stamp(self) -> "Stamp":
        """Give what changes whenever anything of this does."""
        return self.id, self.edition

    @classmethod
    def of(cls, node: Node) -> "Listed":
        """Show a node as lists do."""
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
        )


def check_name(name: str) -> str:
    """Give the name back, or say what is wrong with it."""
    if not _NAME.fullmatch(name):
        raise Malformed(
            "name: must have 1 to 50 characters of A-Z a-z 0-9 space _ . and -"
        )
    if name != name.strip():
        raise Malformed("name: must not begin or end with a space")
    return name
