"""Relocations: moves of a node from one runtime to another.

    stopping ─> copying ─> switching ─> cleaning ─> done
                   └─────> returning ──────┘

While a node is moved, it is not started, and its owner sees it restarting. It belongs
to its origin until `switching` is over, and then to its target: that is a single write.
The data on the other side is deleted afterwards.
"""

from datetime import datetime
from enum import StrEnum, auto

from leyden.errors import NotAllowed
from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus, RuntimeName
from leyden.values import Struct, replace


class RelocationStep(StrEnum):
    """The step that a move is at."""

    STOPPING = auto()  # its lnd is being stopped at the origin
    COPYING = auto()  # sealed at the origin; being copied and compared
    SWITCHING = auto()  # the copy is complete: the target gets the node
    RETURNING = auto()  # the move failed: the origin gets the node back
    CLEANING = auto()  # the node is started; the other side's data is deleted
    DONE = auto()


class Relocation(Struct, frozen=True, kw_only=True):
    """A move of a node."""

    node_id: str
    origin: RuntimeName
    target: RuntimeName
    step: RelocationStep = RelocationStep.STOPPING
    copy: str = ""
    size: int = 0
    failures: int = 0
    why: str = ""
    at: datetime

    @property
    def failed(self) -> bool:
        """Whether the move has ended with the node at its origin."""
        return (
            self.step in {RelocationStep.CLEANING, RelocationStep.DONE}
            and not self.copy
        )


def begin(node: Node, target: RuntimeName) -> Node:
    """Return the node marked as moving; raise NotAllowed if it can't be moved."""
    if node.is_destroyed:
        raise NotAllowed(f"node {node.id} is deleted, and so is its data")
    if node.moves_to is not None:
        raise NotAllowed(f"node {node.id} is already being moved")
    if node.runtime is target:
        raise NotAllowed(f"node {node.id} is already in {target}")
    if node.wanted is not DesiredState.RUNNING:
        return replace(node, moves_to=target)
    # Its owner sees a restart: the end of this lnd is intended, and not a crash.
    status = NodeStatus.RESTARTING if node.status in _UP else node.status
    return replace(node, moves_to=target, status=status, revision=node.revision + 1)


def switch(node: Node, *, now: datetime) -> Node:
    """Return the node at its target, ready to be started there."""
    target = node.moves_to or node.runtime
    return replace(stay(node, now=now), runtime=target, host="")


def stay(node: Node, *, now: datetime) -> Node:
    """Return the node at its origin, ready to be started there."""
    due = now if node.wanted is DesiredState.RUNNING else node.due
    return replace(node, moves_to=None, crashes=0, due=due)


_UP = frozenset(
    {
        NodeStatus.STARTING,
        NodeStatus.WAITING_INIT,
        NodeStatus.WAITING_UNLOCK,
        NodeStatus.RUNNING,
    }
)
