"""The life of a node.

    provisioning ─> starting ─> waiting_init | waiting_unlock ─> starting ─> running
                        ^                                                       │
       start ── stopped <┼── stopping <── stop ──────────────────────────────────┤
                failed <─┘        restarting, updating <── restart, update, settings

What is wanted and what is are two columns. A command changes what is wanted and tells
the owner so by the status; `plan` says what has to be done about the difference; what
lnd and its process are seen to do (observations.py) moves the status on.

An lnd that has to go because another should take its place is one whose revision is
older than the node's: restarts, updates and settings all raise the revision.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto

from leyden.domain.nodes import Action, Node, Seen, Status, Wanted
from leyden.errors import NotAllowed
from leyden.values import replace

# An lnd that ends by itself is started again after 1 s, 2 s, 4 s ... 5 minutes.
FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)

# So long the data of a deleted node can be brought back.
KEPT = timedelta(days=7)


class Step(StrEnum):
    """What has to be done next for a node."""

    START = auto()
    STOP = auto()
    REMOVE = auto()  # the data, once the time to regret is over
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
# Where what lnd says of itself is what the owner is told. A stopped node is among
# them: after a crash it shows `stopped` until the next lnd says its first word.
_HEARD = _UP | {Status.RESTARTING, Status.UPDATING, Status.STOPPED}

Cause = Action | Seen

MOVES: Mapping[tuple[Status, Cause], Status] = {
    (Status.STOPPED, Action.START): Status.STARTING,
    (Status.FAILED, Action.START): Status.STARTING,
    **{(status, Action.STOP): Status.STOPPING for status in _UP},
    (Status.PROVISIONING, Action.STOP): Status.STOPPING,
    (Status.RESTARTING, Action.STOP): Status.STOPPING,
    (Status.UPDATING, Action.STOP): Status.STOPPING,
    (Status.FAILED, Action.STOP): Status.STOPPED,
    (Status.STOPPED, Action.STOP): Status.STOPPED,  # no more tries after a crash
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
    (Status.PROVISIONING, Seen.LAUNCHED): Status.STARTING,
    (Status.FAILED, Seen.LAUNCHED): Status.STARTING,
    **{(status, Seen.OPENING): Status.STARTING for status in _HEARD},
    **{(status, Seen.UNINITIALIZED): Status.WAITING_INIT for status in _HEARD},
    **{(status, Seen.LOCKED): Status.WAITING_UNLOCK for status in _HEARD},
    **{(status, Seen.SERVING): Status.RUNNING for status in _HEARD},
    **{(status, Seen.ENDED): Status.STOPPED for status in _HEARD},
    (Status.STOPPING, Seen.ENDED): Status.STOPPED,
    **{
        (status, Seen.BROKE): Status.FAILED
        for status in _HEARD | {Status.PROVISIONING, Status.FAILED}
    },
}


def command(
    node: Node, action: Action, *, now: datetime, kept: timedelta = KEPT
) -> Node:
    """Give the node as it is once the owner has asked for this, or refuse.

    Whatever is asked for is begun at once, and with a clean record: an owner who asks
    again after mending something need not wait for the pause after a crash. Only the
    data of a deleted node stays, `kept` so long.
    """
    asked = node.wanted is Wanted.RUNNING or action is not Action.STOP
    if (node.status, action) not in MOVES or not asked:
        raise NotAllowed(f"a node that is {node.status} cannot {_IN_WORDS[action]}")
    after = replace(
        node,
        status=MOVES[node.status, action],
        wanted=_WANTED.get(action, node.wanted),
        crashes=0,
        due=now + kept if action is Action.DELETE else now,
    )
    if action in _REPLACES:
        after = replace(after, revision=node.revision + 1)
    if after.status is Status.STOPPING and not after.has_process:
        after = replace(after, status=Status.STOPPED)
    return after


_WANTED: Mapping[Action, Wanted] = {
    Action.START: Wanted.RUNNING,
    Action.STOP: Wanted.STOPPED,
    Action.DELETE: Wanted.DELETED,
}
_REPLACES = frozenset({Action.RESTART, Action.UPDATE, Action.SETTINGS})


_IN_WORDS: Mapping[Action, str] = {
    Action.CREATE: "be created",
    Action.START: "be started",
    Action.STOP: "be stopped",
    Action.RESTART: "be restarted",
    Action.UPDATE: "be updated",
    Action.SETTINGS: "be given settings",
    Action.DELETE: "be deleted",
}


def plan(node: Node, now: datetime) -> Step:
    """Say what has to be done next; the same until it has been done."""
    if node.has_process:
        stays = node.wanted is Wanted.RUNNING and not node.is_outdated
        return Step.NOTHING if stays else Step.STOP
    match node.wanted:
        case Wanted.STOPPED:
            return Step.NOTHING
        case Wanted.DELETED:
            return Step.WAIT if now < node.due else Step.REMOVE
        case Wanted.RUNNING:
            # A clock that was set back must not make hours of a pause of seconds.
            waits = now < node.due <= now + LONGEST_PAUSE
            return Step.WAIT if waits else Step.START
