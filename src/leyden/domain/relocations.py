"""Relocations: moves of a node from one runtime to another.

    stopping ─> copying ─> switching ─> cleaning ─> done
                   └─────> returning ──────┘

While a node is moved nobody starts it, and its owner sees it restarting. Until
`switching` is over it is at its origin, from then on at its target: that is one write.
What is left at the other side is deleted afterwards.
"""

from datetime import datetime
from enum import StrEnum, auto

from leyden.domain.nodes import DesiredState, Node, RuntimeName, Status
from leyden.errors import NotAllowed
from leyden.values import Struct, replace


class Step(StrEnum):
    """How far a move is."""

    STOPPING = auto()  # its lnd is being ended at the origin
    COPYING = auto()  # sealed there, copied, and the copy compared
    SWITCHING = auto()  # the copy is whole: the target is to have the node
    RETURNING = auto()  # it failed: the origin is to have it again
    CLEANING = auto()  # the node is started, and deleted at the other side
    DONE = auto()


class Relocation(Struct, frozen=True, kw_only=True):
    """A move of a node."""

    node_id: str
    origin: RuntimeName
    target: RuntimeName
    step: Step = Step.STOPPING
    copy: str = ""
    size: int = 0
    failures: int = 0
    why: str = ""
    at: datetime

    @property
    def failed(self) -> bool:
        """Whether the node is where it was, although the move has ended."""
        return self.step in {Step.CLEANING, Step.DONE} and not self.copy


def begin(node: Node, target: RuntimeName) -> Node:
    """Return the node as it is while it moves, or raise NotAllowed."""
    if node.is_destroyed:
        raise NotAllowed(f"node {node.id} is deleted, and so is its data")
    if node.moves_to is not None:
        raise NotAllowed(f"node {node.id} is being moved already")
    if node.runtime is target:
        raise NotAllowed(f"node {node.id} is in {target} already")
    if node.wanted is not DesiredState.RUNNING:
        return replace(node, moves_to=target)
    # To its owner it is a restart: what ends now was asked to, and has not crashed.
    status = Status.RESTARTING if node.status in _UP else node.status
    return replace(node, moves_to=target, status=status, revision=node.revision + 1)


def switch(node: Node, *, now: datetime) -> Node:
    """Return the node at its target, from where it is started."""
    target = node.moves_to or node.runtime
    return replace(stay(node, now=now), runtime=target, host="")


def stay(node: Node, *, now: datetime) -> Node:
    """Return the node where it is, from where it is started."""
    due = now if node.wanted is DesiredState.RUNNING else node.due
    return replace(node, moves_to=None, crashes=0, due=due)


_UP = frozenset(
    {Status.STARTING, Status.WAITING_INIT, Status.WAITING_UNLOCK, Status.RUNNING}
)
