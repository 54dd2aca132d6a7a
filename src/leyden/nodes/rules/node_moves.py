"""The life cycle of a node.

    provisioning ─> starting ─> waiting_init | waiting_unlock ─> starting ─> running
                        ^                                                       │
       start ── stopped <┼── stopping <── stop ──────────────────────────────────┤
                failed <─┘        restarting, updating <── restart, update, settings
       deleting ── restore ──> stopped, as long as the data is kept

Desired and actual state are two columns. A command changes the desired
state and shows it to the owner in the status; `plan` returns the next step
towards it; observations of lnd and its process (observations.py) change the
status.

An lnd must be replaced if its revision is older than the node's: restarts,
updates and settings all raise the node's revision.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto

from leyden.errors import NotAllowed
from leyden.nodes.rules.nodes import (
    Action,
    DesiredState,
    Node,
    NodeStatus,
    ObservedEvent,
)
from leyden.values import replace

# An lnd that crashed is started again after 1 s, 2 s, 4 s ... 5 minutes.
FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)

# A deleted node can be restored for this long.
KEEP_DATA_FOR = timedelta(days=7)


class NodeStep(StrEnum):
    """The next step for a node."""

    START = auto()
    STOP = auto()
    REMOVE = auto()  # the data, once the node can no longer be restored
    WAIT = auto()  # until `due`
    NOTHING = auto()


_UP = frozenset(
    {
        NodeStatus.STARTING,
        NodeStatus.WAITING_INIT,
        NodeStatus.WAITING_UNLOCK,
        NodeStatus.RUNNING,
    }
)
# In these statuses lnd's own state becomes the status. Stopped is one of them: after
# a crash a node shows `stopped` until the next lnd reports its first state.
_FOLLOWS_LND = _UP | {NodeStatus.RESTARTING, NodeStatus.UPDATING, NodeStatus.STOPPED}

Cause = Action | ObservedEvent

MOVES: Mapping[tuple[NodeStatus, Cause], NodeStatus] = {
    (NodeStatus.STOPPED, Action.START): NodeStatus.STARTING,
    (NodeStatus.FAILED, Action.START): NodeStatus.STARTING,
    **{(status, Action.STOP): NodeStatus.STOPPING for status in _UP},
    (NodeStatus.PROVISIONING, Action.STOP): NodeStatus.STOPPING,
    (NodeStatus.RESTARTING, Action.STOP): NodeStatus.STOPPING,
    (NodeStatus.UPDATING, Action.STOP): NodeStatus.STOPPING,
    (NodeStatus.FAILED, Action.STOP): NodeStatus.STOPPED,
    (
        NodeStatus.STOPPED,
        Action.STOP,
    ): NodeStatus.STOPPED,  # no more restarts after a crash
    **{(status, Action.RESTART): NodeStatus.RESTARTING for status in _UP},
    **{(status, Action.UPDATE): NodeStatus.UPDATING for status in _UP},
    (NodeStatus.RESTARTING, Action.UPDATE): NodeStatus.UPDATING,
    (NodeStatus.FAILED, Action.UPDATE): NodeStatus.UPDATING,
    (NodeStatus.STOPPED, Action.UPDATE): NodeStatus.STOPPED,
    **{(status, Action.SETTINGS): NodeStatus.RESTARTING for status in _UP},
    **{
        (status, Action.SETTINGS): status
        for status in NodeStatus
        if status not in _UP | {NodeStatus.DELETING}
    },
    **{
        (status, Action.DELETE): NodeStatus.DELETING
        for status in NodeStatus
        if status is not NodeStatus.DELETING
    },
    (NodeStatus.DELETING, Action.RESTORE): NodeStatus.STOPPING,
    (NodeStatus.PROVISIONING, ObservedEvent.LAUNCHED): NodeStatus.STARTING,
    (NodeStatus.FAILED, ObservedEvent.LAUNCHED): NodeStatus.STARTING,
    **{(status, ObservedEvent.OPENING): NodeStatus.STARTING for status in _FOLLOWS_LND},
    **{
        (status, ObservedEvent.UNINITIALIZED): NodeStatus.WAITING_INIT
        for status in _FOLLOWS_LND
    },
    **{
        (status, ObservedEvent.LOCKED): NodeStatus.WAITING_UNLOCK
        for status in _FOLLOWS_LND
    },
    **{(status, ObservedEvent.SERVING): NodeStatus.RUNNING for status in _FOLLOWS_LND},
    **{(status, ObservedEvent.ENDED): NodeStatus.STOPPED for status in _FOLLOWS_LND},
    (NodeStatus.STOPPING, ObservedEvent.ENDED): NodeStatus.STOPPED,
    **{
        (status, ObservedEvent.BROKE): NodeStatus.FAILED
        for status in _FOLLOWS_LND | {NodeStatus.PROVISIONING, NodeStatus.FAILED}
    },
}


def is_allowed(node: Node, action: Action) -> bool:
    """Return whether a command is allowed now."""
    is_wanted = node.wanted is DesiredState.RUNNING or action is not Action.STOP
    return is_wanted and (node.status, action) in MOVES


def apply_command(
    node: Node,
    action: Action,
    *,
    now: datetime,
    keep_data_for: timedelta = KEEP_DATA_FOR,
) -> Node:
    """Return the node after an owner's command, or raise NotAllowed.

    A command takes effect at once and clears the crash count and its cause: an owner
    who retries after fixing something need not wait for the pause after a crash.
    Only the data of a deleted node stays, for `keep_data_for`.
    """
    if not is_allowed(node, action):
        raise NotAllowed(f"a node that is {node.status} cannot {_IN_WORDS[action]}")
    after = replace(
        node,
        status=MOVES[node.status, action],
        wanted=_WANTED.get(action, node.wanted),
        crashes=0,
        trouble=None,
        due=now + keep_data_for if action is Action.DELETE else now,
    )
    if action in _REPLACES:
        after = replace(after, revision=node.revision + 1)
    if after.status is NodeStatus.STOPPING and not after.has_process:
        after = replace(after, status=NodeStatus.STOPPED)
    if action is Action.DELETE:
        after = after.without_peers(now)
    return after


_WANTED: Mapping[Action, DesiredState] = {
    Action.START: DesiredState.RUNNING,
    Action.STOP: DesiredState.STOPPED,
    Action.DELETE: DesiredState.DELETED,
    Action.RESTORE: DesiredState.STOPPED,
}
_REPLACES = frozenset({Action.RESTART, Action.UPDATE, Action.SETTINGS})


_IN_WORDS: Mapping[Action, str] = {
    Action.CREATE: "be created",
    Action.START: "be started",
    Action.STOP: "be stopped",
    Action.RESTART: "be restarted",
    Action.UPDATE: "be updated",
    Action.SETTINGS: "change settings",
    Action.DELETE: "be deleted",
    Action.RESTORE: "be restored: it is not deleted",
}


def is_restorable(node: Node, now: datetime) -> bool:
    """Return whether a deleted node's data is still kept."""
    return (
        node.wanted is DesiredState.DELETED and plan(node, now) is not NodeStep.REMOVE
    )


def give_up(node: Node) -> Node:
    """Return a deleted node that can no longer be restored, whatever the clock says."""
    return replace(node, due=node.created)


def plan(node: Node, now: datetime) -> NodeStep:
    """Return the next step; the same step until it has been done."""
    if node.moves_to is not None:
        return NodeStep.STOP if node.has_process else NodeStep.NOTHING
    if node.has_process:
        stays = node.wanted is DesiredState.RUNNING and not node.is_outdated
        return NodeStep.NOTHING if stays else NodeStep.STOP
    match node.wanted:
        case DesiredState.STOPPED:
            return NodeStep.NOTHING
        case DesiredState.DELETED:
            return NodeStep.WAIT if now < node.due else NodeStep.REMOVE
        case DesiredState.RUNNING:
            # If the clock is set back, a pause of seconds must not become hours.
            waits = now < node.due <= now + LONGEST_PAUSE
            return NodeStep.WAIT if waits else NodeStep.START
