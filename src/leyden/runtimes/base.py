"""Where nodes run: what is asked of whoever runs them.

A runtime keeps at most one lnd per node, whatever happens to the program that asks; it
knows nothing of owners, orders or databases. What it does twice has been done once.

Where a node's lnd cannot be seen (its machine is lost, say, and may be running it
still) nothing is known of it: `observe` says so, and `start`, `stop` and `remove` raise
NodeAway instead of guessing. Whoever asked asks again.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Final, Protocol

from leyden.domain.node_settings import NodeSettings
from leyden.domain.nodes import Node
from leyden.domain.observations import Observation
from leyden.domain.starts import NEVER, Start
from leyden.lnd.home import Tls
from leyden.lnd.tail import News, Place
from leyden.values import Struct, hiding

Tell = Callable[[str, Observation], None]


class LaunchSpec(Struct, frozen=True, kw_only=True):
    """The launch spec of an lnd: everything beside the node's own row."""

    settings: NodeSettings  # whole, secrets included
    tls: Tls
    peer_address: str = ""  # HOST:PORT, public; "" keeps peers out
    onion_address: str = ""  # HOST:PORT by Tor, if it has one as well
    last_start: Start = NEVER  # as far as the database knows

    __repr__ = hiding("settings")

    @property
    def announced(self) -> tuple[str, ...]:
        """The addresses at which peers are told they can find the node."""
        return tuple(each for each in (self.peer_address, self.onion_address) if each)


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The progress of a start, to be saved before the next step."""

    host: str  # where its lnd is going to serve
    process: str = ""  # what runs now; "" is nothing yet
    revision: int = 0  # the node's revision it was started with
    start: Start = NEVER  # which one it is, where they are counted


class Runtime(Protocol):
    """A place where nodes run."""

    def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Start the node's lnd, and yield how far it is after each step.

        Left at any step and begun again it comes to the same end. An lnd that runs
        already is given as it is, with the revision it was started with. SetupError
        where the node has a wallet and nothing of it is here, or an old copy; and where
        a process that was yielded never came to run, after its end.
        """
        ...

    async def stop(self, node: Node) -> None:
        """Stop the node's lnd gracefully, and wait until it has ended."""
        ...

    async def remove(self, node: Node) -> None:
        """Delete everything stored for the node, whose lnd has ended."""
        ...

    async def observe(self, node: Node) -> Observation:
        """Return what is known of the process that the node names, unknown included.

        Unknown is a node of which nothing is here: that it has ended was not seen.

        From then on `watch` hears what becomes of it: this is how processes are
        adopted that an earlier run of ours has started.
        """
        ...

    def watch(self, tell: Tell) -> None:
        """Call `tell` with a node's id for each observation from now on.

        An lnd that can be seen again, or asked to end, is told of, though nothing is
        new: what was asked of it meanwhile was refused, and can be done.
        """
        ...

    def forget(self, node_id: str) -> None:
        """Stop watching a node, which keeps running: another process watches it."""
        ...

    def is_outdated(self, node: Node) -> bool:
        """Return whether a node's lnd runs with options that are set otherwise now.

        Of the installation's options, not the node's own; restarted it has the new
        ones. May read a file: a thousand nodes are asked about in a thread.
        """
        ...

    async def run(self) -> None:
        """Keep up what nodes need around them, until cancelled: an egress policy, say.

        Returns at once where there is nothing of that kind.
        """
        ...

    def close(self) -> None:
        """Stop watching all nodes, and release what that took; the nodes go on."""
        ...


class Found(Struct, frozen=True, kw_only=True):
    """The news in a node's folder since the last look."""

    channel_backup: bytes | None = None  # None: it is the one from before
    log: News | None = None  # what its log says; None: nothing new


NOTHING_NEW = Found()


class Usage(Struct, frozen=True, kw_only=True):
    """A node's use of its machine, and its progress on its chain.

    None is not known, and is never shown as 0. Processor time is counted on a machine
    of ours; a cluster says how much of it is used now.
    """

    memory: int | None = None  # bytes in RAM
    cpu_s: float | None = None  # since its lnd was started
    cpu_cores: float | None = None  # 0.5 is half of one processor
    disk: int | None = None  # bytes
    height: int = 0  # of the last block it told of; 0 is not known


STOPPED: Final = Usage(memory=0, cpu_s=0.0, cpu_cores=0.0)


class Reports(Protocol):
    """What was reported of homes that cannot be read from here."""

    async def usage(self, node_id: str) -> Usage:
        """Return what a node was last said to use."""
        ...

    async def heights(self) -> Mapping[str, int]:
        """Return the last height that each node was said to have, by id."""
        ...

    async def channel_backup(self, node_id: str) -> bytes | None:
        """Return the last backup of channels that was reported, if any was."""
        ...

    async def log_tail(self, node_id: str) -> bytes:
        """Return the end of lnd's log as last reported; empty if it never was."""
        ...


class Homes(Protocol):
    """The files that lnd leaves in a node's folder.

    Nothing in the folder is changed, except that macaroons are deleted.
    """

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines of lnd's log."""
        ...

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return lnd's own backup of its channels, if it has written one."""
        ...

    async def public_key(self, node: Node) -> str:
        """Return the public key that lnd wrote down; "" before its first unlocking."""
        ...

    def look(self, node: Node, place: Place) -> Found:
        """Return what is new; cheap enough to be asked of every node all the time.

        The log is read on from this place. When it went on for long without us it is
        not read, but said to be behind, for `catch_up`.
        """
        ...

    async def catch_up(self, node: Node, place: Place) -> News:
        """Read the rest of a node's log, however much there is."""
        ...

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete plaintext macaroons and return their names."""
        ...

    async def usage(self, node: Node) -> Usage:
        """Return what the node takes."""
        ...

    async def usages(self, nodes: Iterable[Node]) -> Mapping[str, Usage]:
        """Return what each takes apart from its disk, by id; cheap for thousands."""
        ...
