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
from leyden.nodes.rules.nodes import Action, DesiredState, Node, ObservedEvent, Status
from leyden.values import replace

# An lnd that crashed is started again after 1 s, 2 s, 4 s ... 5 minutes.
FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)

# A deleted node can be restored for this long.
KEPT = timedelta(days=7)


class Step(StrEnum):
    """The next step for a node."""

    START = auto()
    STOP = auto()
    REMOVE = auto()  # the data, once the node can no longer be restored
    WAIT = auto()  # until `due`
    NOTHING = auto()


_UP = frozenset(
    {
        Status.STARTING,
        Status.WAITING_INIT,
        Status.WAITING_UNLOCK,
        Status.RUNNING,
    }
)
# In these statuses lnd's own state becomes the status. Stopped is one of them: after
# a crash a node shows `stopped` until the next lnd reports its first state.
_FOLLOWS_LND = _UP | {Status.RESTARTING, Status.UPDATING, Status.STOPPED}

Cause = Action | ObservedEvent

MOVES: Mapping[tuple[Status, Cause], Status] = {
    (Status.STOPPED, Action.START): Status.STARTING,
    (Status.FAILED, Action.START): Status.STARTING,
    **{(status, Action.STOP): Status.STOPPING for status in _UP},
    (Status.PROVISIONING, Action.STOP): Status.STOPPING,
    (Status.RESTARTING, Action.STOP): Status.STOPPING,
    (Status.UPDATING, Action.STOP): Status.STOPPING,
    (Status.FAILED, Action.STOP): Status.STOPPED,
    (Status.STOPPED, Action.STOP): Status.STOPPED,  # no more restarts after a crash
    **{(status, Action.RESTART): Status.RESTARTING for status in _UP},
    **{(status, Action.UPDATE): Status.UPDATING for status in _UP},
    (Status.RESTARTING, Action.UPDATE): Status.UPDATING,
    (Status.FAILED, Action.UPDATE): Status.UPDATING,
    (Status.STOPPED, Action.UPDATE): Status.STOPPED,
    **{(status, Action.SETTINGS): Status.RESTARTING for status in _UP},
    **{
        (status, Action.SETTINGS): status
        for status in Status
        if status not in _UP | {Status.DELETING}
    },
    **{
        (status, Action.DELETE): Status.DELETING
        for status in Status
        if status is not Status.DELETING
    },
    (Status.DELETING, Action.RESTORE): Status.STOPPING,
    (Status.PROVISIONING, ObservedEvent.LAUNCHED): Status.STARTING,
    (Status.FAILED, ObservedEvent.LAUNCHED): Status.STARTING,
    **{(status, ObservedEvent.OPENING): Status.STARTING for status in _FOLLOWS_LND},
    **{
        (status, ObservedEvent.UNINITIALIZED): Status.WAITING_INIT
        for status in _FOLLOWS_LND
    },
    **{
        (status, ObservedEvent.LOCKED): Status.WAITING_UNLOCK for status in _FOLLOWS_LND
    },
    **{(status, ObservedEvent.SERVING): Status.RUNNING for status in _FOLLOWS_LND},
    **{(status, ObservedEvent.ENDED): Status.STOPPED for status in _FOLLOWS_LND},
    (Status.STOPPING, ObservedEvent.ENDED): Status.STOPPED,
    **{
        (status, ObservedEvent.BROKE): Status.FAILED
        for status in _FOLLOWS_LND | {Status.PROVISIONING, Status.FAILED}
    },
}


def is_allowed(node: Node, action: Action) -> bool:
    """Return whether a command is allowed now."""
    asked = node.wanted is DesiredState.RUNNING or action is not Action.STOP
    return asked and (node.status, action) in MOVES


def apply_command(
    node: Node, action: Action, *, now: datetime, kept: timedelta = KEPT
) -> Node:
    """Return the node after an owner's command, or raise NotAllowed.

    A command takes effect at once and clears the crash count and its cause: an owner
    who retries after fixing something need not wait for the pause after a crash.
    Only the data of a deleted node stays, for `kept`.
    """
    if not is_allowed(node, action):
        raise NotAllowed(f"a node that is {node.status} cannot {_IN_WORDS[action]}")
    after = replace(
        node,
        status=MOVES[node.status, action],
        wanted=_WANTED.get(action, node.wanted),
        crashes=0,
        trouble=None,
        due=now + kept if action is Action.DELETE else now,
    )
    if action in _REPLACES:
        after = replace(after, revision=node.revision + 1)
    if after.status is Status.STOPPING and not after.has_process:
        after = replace(after, status=Status.STOPPED)
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
    return node.wanted is DesiredState.DELETED and plan(node, now) is not Step.REMOVE


def give_up(node: Node) -> Node:
    """Return a deleted node that can no longer be restored, whatever the clock says."""
    return replace(node, due=node.created)


def plan(node: Node, now: datetime) -> Step:
    """Return the next step; the same step until it has been done."""
    if node.moves_to is not None:
        return Step.STOP if node.has_process else Step.NOTHING
    if node.has_process:
        stays = node.wanted is DesiredState.RUNNING and not node.is_outdated
        return Step.NOTHING if stays else Step.STOP
    match node.wanted:
        case DesiredState.STOPPED:
            return Step.NOTHING
        case DesiredState.DELETED:
            return Step.WAIT if now < node.due else Step.REMOVE
        case DesiredState.RUNNING:
            # If the clock is set back, a pause of seconds must not become hours.
            waits = now < node.due <= now + LONGEST_PAUSE
            return Step.WAIT if waits else Step.START
