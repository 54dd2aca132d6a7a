"""The interfaces of runtimes, which run nodes, and of the files of nodes.

A runtime keeps at most one lnd per node, even if the calling program dies. It knows
nothing about owners, orders or databases. Every method may be repeated.

If a node's lnd cannot be observed (for example because its machine is unreachable,
where it may still run), nothing is known about it: `observe` returns an unknown
observation, and `start`, `stop` and `remove` raise NodeAway instead of guessing. The
caller retries.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Final, Protocol

from leyden.nodes.lnd.home import Tls
from leyden.nodes.lnd.tail import NewLines
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.observations import Observation
from leyden.nodes.rules.starts import NEVER, Start
from leyden.values import Struct, hiding

OnObservation = Callable[[str, Observation], None]


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
        """The addresses that the node announces to its peers."""
        return tuple(each for each in (self.peer_address, self.onion_address) if each)


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The progress of a start, to be saved before the next step."""

    host: str  # where its lnd will serve
    process: str = ""  # the process that runs now; "" for none yet
    revision: int = 0  # the node's revision it was started with
    start: Start = NEVER  # its number, in runtimes that count starts


class Runtime(Protocol):
    """A place where nodes run."""

    def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Start the node's lnd, and yield the progress after each step.

        If the caller stops at any step and starts again, the result is the same. If an
        lnd runs already, yield it, with the revision it was started with. Raise
        SetupError if the node has a wallet and its data is missing or an old copy, and
        if a yielded process never ran, after its end.
        """
        ...

    async def stop(self, node: Node) -> None:
        """Stop the node's lnd gracefully, and wait until it has ended.

        If no process is stored for the node, stop the lnd that runs all the same, if
        any: its start was interrupted before its process was saved.
        """
        ...

    async def remove(self, node: Node) -> None:
        """Delete everything stored for the node, whose lnd has ended."""
        ...

    async def observe(self, node: Node) -> Observation:
        """Return the observation of the process in `node.process`, possibly unknown.

        A node without any data here is unknown: its process was not seen to end.

        From then on the callback of `watch` gets observations of it: this is how
        processes that an earlier run of ours started are adopted.
        """
        ...

    def watch(self, on_observation: OnObservation) -> None:
        """Call `on_observation` with a node's id for each observation from now on.

        It is also called, without a change, when an lnd can be observed or stopped
        again: calls that failed meanwhile can be repeated then.
        """
        ...

    def unwatch(self, node_id: str) -> None:
        """Stop watching a node, which keeps running: another process watches it."""
        ...

    def is_outdated(self, node: Node) -> bool:
        """Return whether a node's lnd runs with outdated options of the installation.

        After a restart it has the current ones. Options of the node itself do not
        count. This may read a file: call it in a thread for many nodes.
        """
        ...

    async def run(self) -> None:
        """Maintain what nodes need, such as an egress policy, until cancelled.

        Return at once if there is nothing to maintain.
        """
        ...

    def close(self) -> None:
        """Stop watching all nodes, and release resources; the nodes keep running."""
        ...


class HomeChanges(Struct, frozen=True, kw_only=True):
    """The changes in a node's folder since the last read."""

    channel_backup: bytes | None = None  # None: unchanged
    log: NewLines | None = None  # the new lines of its log; None: none


NO_CHANGES = HomeChanges()


class Usage(Struct, frozen=True, kw_only=True):
    """A node's use of its machine, and its progress on its chain.

    None means unknown, and is never shown as 0. A machine of ours counts CPU time; a
    cluster reports how many CPUs are used now.
    """

    memory: int | None = None  # bytes in RAM
    cpu_s: float | None = None  # since its lnd was started
    cpu_cores: float | None = None  # used now; 0.5 is half of one CPU
    disk: int | None = None  # bytes
    height: int = 0  # of the last block it mentioned; 0: unknown


STOPPED: Final = Usage(memory=0, cpu_s=0.0, cpu_cores=0.0)


class Reports(Protocol):
    """Reports about homes that cannot be read from here."""

    async def usage(self, node_id: str) -> Usage:
        """Return the last reported usage of a node."""
        ...

    async def heights(self) -> Mapping[str, int]:
        """Return the last reported height of each node, by id."""
        ...

    async def channel_backup(self, node_id: str) -> bytes | None:
        """Return the last reported backup of channels, if any."""
        ...

    async def log_tail(self, node_id: str) -> bytes:
        """Return the last reported end of lnd's log; empty if none was reported."""
        ...


class NodeFiles(Protocol):
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

    def read_changes(self, node: Node, position: LogPosition) -> HomeChanges:
        """Return the changes; cheap enough to be called for every node all the time.

        The log is read from this position on. If it has grown too much since, it is not
        read but marked as `behind`: call `catch_up`.
        """
        ...

    async def catch_up(self, node: Node, position: LogPosition) -> NewLines:
        """Read the rest of a node's log, however much there is."""
        ...

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete plaintext macaroons and return their names."""
        ...

    async def usage(self, node: Node) -> Usage:
        """Return the node's usage."""
        ...

    async def usages(self, nodes: Iterable[Node]) -> Mapping[str, Usage]:
        """Return each node's usage without its disk, by id; cheap for thousands."""
        ...
