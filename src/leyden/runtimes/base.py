"""Where nodes run: what is asked of whoever runs them.

A runtime keeps at most one lnd per node, whatever happens to the program that asks; it
knows nothing of owners, orders or databases. What it does twice has been done once.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from leyden.domain.node_settings import NodeSettings
from leyden.domain.nodes import Node
from leyden.domain.observations import Observation
from leyden.lnd.home import Tls
from leyden.lnd.tail import News, Place
from leyden.values import Struct, hiding

Tell = Callable[[str, Observation], None]


class Outfit(Struct, frozen=True, kw_only=True):
    """What an lnd is started with beside what the node itself says."""

    settings: NodeSettings  # whole, secrets included
    tls: Tls

    __repr__ = hiding("settings")


class Checkpoint(Struct, frozen=True, kw_only=True):
    """How far a start has come: to save before going on."""

    host: str  # where its lnd is going to serve
    process: str = ""  # what runs now; "" is nothing yet
    revision: int = 0  # the node's revision it was started with


class Runtime(Protocol):
    """Runs nodes."""

    def start(self, node: Node, outfit: Outfit) -> AsyncGenerator[Checkpoint, None]:
        """Start the node's lnd, and say how far it is after each step.

        Left at any step and begun again it comes to the same end. An lnd that runs
        already is given as it is, with the revision it was started with. SetupError
        where the node has a wallet and nothing of it is here.
        """
        ...

    async def stop(self, node: Node) -> None:
        """End the node's lnd gracefully, and wait until it has ended."""
        ...

    async def remove(self, node: Node) -> None:
        """Remove everything that is kept for the node; its lnd has ended before."""
        ...

    async def observe(self, node: Node) -> Observation:
        """Say what is known of the process that the node names, or that it is unknown.

        Unknown is a node of which nothing is here: that it has ended was not seen.

        From then on `watch` hears what becomes of it: this is how processes are
        adopted that an earlier run of ours has started.
        """
        ...

    def watch(self, tell: Tell) -> None:
        """Call `tell` with a node's id for each thing that is seen from now on."""
        ...

    def forget(self, node_id: str) -> None:
        """Stop watching a node, which goes on: somebody else watches it."""
        ...


class Found(Struct, frozen=True, kw_only=True):
    """What is new in a node's folder since the last look."""

    channel_backup: bytes | None = None  # None: it is the one from before
    log: News | None = None  # what its log says; None: nothing new


NOTHING_NEW = Found()


class Usage(Struct, frozen=True, kw_only=True):
    """What a node takes of its machine, and how far it has come on its chain."""

    memory: int = 0  # bytes in RAM
    cpu_s: float = 0.0  # since its lnd was started
    disk: int = 0  # bytes
    height: int = 0  # of the last block it told of; 0 is not known


class Homes(Protocol):
    """What lnd leaves in a node's folder; nothing here is changed but macaroons."""

    async def log(self, node: Node, lines: int) -> list[str]:
        """Give the last lines of lnd's log."""
        ...

    async def channel_backup(self, node: Node) -> bytes | None:
        """Give lnd's own backup of its channels, if it has written one."""
        ...

    def look(self, node: Node, place: Place) -> Found:
        """Say what is new; cheap enough to be asked of every node all the time.

        The log is read on from this place. When it went on for long without us it is
        not read, but said to be behind, for `catch_up`.
        """
        ...

    async def catch_up(self, node: Node, place: Place) -> News:
        """Read on in the log of a node, however much there is."""
        ...

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Remove macaroons that lie about in clear, and name them."""
        ...

    async def usage(self, node: Node, *, disk: bool = True) -> Usage:
        """Say what the node takes; of the disk only if asked, for that is slower."""
        ...
