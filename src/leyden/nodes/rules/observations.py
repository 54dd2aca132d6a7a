"""Observations of a node's lnd, and their effect on the node.

lnd itself is the source of truth: its state stream reports its state, and
the end of its process is seen directly. A report by an earlier lnd does not
count for a later one.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from leyden.nodes.rules.node_moves import FIRST_PAUSE, LONGEST_PAUSE, MOVES
from leyden.nodes.rules.nodes import (
    Cause,
    DesiredState,
    Node,
    NodeStatus,
    ObservedEvent,
    Trouble,
    Unknown,
)
from leyden.values import Struct, replace

# After running for this long, a crash counts as the first one again.
LONG_LIFE = timedelta(minutes=10)


class LndState(StrEnum):
    """lnd's state, in lnd's own words."""

    WAITING_TO_START = "WAITING_TO_START"
    NON_EXISTING = "NON_EXISTING"
    LOCKED = "LOCKED"
    UNLOCKED = "UNLOCKED"
    RPC_ACTIVE = "RPC_ACTIVE"
    SERVER_ACTIVE = "SERVER_ACTIVE"


# WAITING_TO_START comes before lnd knows whether it has a wallet. It must not become
# waiting_init, in which anybody who can reach the node can create a wallet.
_MEANS: Mapping[LndState, ObservedEvent] = {
    LndState.WAITING_TO_START: ObservedEvent.OPENING,
    LndState.NON_EXISTING: ObservedEvent.UNINITIALIZED,
    LndState.LOCKED: ObservedEvent.LOCKED,
    LndState.UNLOCKED: ObservedEvent.OPENING,
    LndState.RPC_ACTIVE: ObservedEvent.OPENING,
    LndState.SERVER_ACTIVE: ObservedEvent.SERVING,
}


# An lnd in these states has a wallet, which stays.
_HAVE_WALLET = frozenset(
    {LndState.LOCKED, LndState.UNLOCKED, LndState.RPC_ACTIVE, LndState.SERVER_ACTIVE}
)


class End(Struct, frozen=True, kw_only=True):
    """Why a process ended, as far as its runtime can tell."""

    cause: Cause
    why: str = ""  # in the system's words


UNEXPLAINED = End(cause=Cause.UNEXPLAINED)

# What owners are told.
_REASONS: Mapping[Cause, str] = {
    Cause.NOT_STARTED: "lnd ended before it ran. Ask the operator: the log says why.",
    Cause.OUT_OF_MEMORY: (
        "lnd ran out of memory and was stopped. If it happens again, the node needs a "
        "larger size: ask the operator."
    ),
    Cause.KILLED: "lnd was killed from outside. The operator may know why.",
    Cause.EXITED: "lnd exited by itself. Its log may say why.",
    Cause.INTERRUPTED: (
        "The node's machine was emptied or shut down, so lnd was stopped. It is "
        "started again."
    ),
    Cause.UNEXPLAINED: "lnd has ended, and nobody saw why. Its log may say it.",
}


class Observation(Struct, frozen=True, kw_only=True):
    """The current knowledge about one process."""

    process: str
    known: bool = True  # False: the runtime can't observe it; its status stays
    why: str = ""  # it is unknown
    alive: bool = True
    state: LndState | None = None  # None: it has not reported one yet
    stopped_by_owner: bool = False  # it ended because its owner stopped lnd
    end: End = UNEXPLAINED  # why it ended, if its owner did not stop it


def record_host(node: Node, *, host: str) -> Node:
    """Record the host where the node's lnd will run."""
    return replace(node, host=host)


def record_launch(node: Node, *, process: str, revision: int, now: datetime) -> Node:
    """Record the new process, and the revision it was started with."""
    after = replace(node, process=process, launched_revision=revision, launched_at=now)
    return _moved(after, ObservedEvent.LAUNCHED)


def record_failure(
    node: Node,
    *,
    now: datetime,
    observation: Observation | None = None,
    reason: str = "",
    why: str = "",
) -> Node:
    """Record a failed launch; launches are retried with growing delay.

    If the launch had started a process, `observation` is of it. The end of that
    process is the failure, and is counted once, even if the observation was stored
    before. A process that may still run is not cleared. A node that was stopped or
    deleted meanwhile has not failed.
    """
    trouble = Trouble(cause=Cause.NOT_STARTED, reason=reason, why=why)
    if observation is not None:
        after = observe(node, observation, now)
        if after.has_process or after.wanted is not DesiredState.RUNNING:
            return after
        if after.trouble is not None and after.trouble.cause is Cause.INTERRUPTED:
            # An lnd that ran would be no failure, but this one never did.
            after = _crashed(after, after.crashes + 1, now)
        return _moved(replace(after, trouble=trouble), ObservedEvent.BROKE)
    if node.wanted is not DesiredState.RUNNING:
        return node  # a deleted node's `due` is when its data goes
    after = _crashed(replace(node, trouble=trouble), node.crashes + 1, now)
    return _moved(after, ObservedEvent.BROKE)


def observe(node: Node, observation: Observation, now: datetime) -> Node:
    """Return the node updated by an observation.

    The same observation again changes nothing.
    """
    if observation.process != node.process:
        return node
    if not observation.known:
        since = now if node.unknown is None else node.unknown.since
        return replace(node, unknown=Unknown(since=since, why=observation.why))
    if node.unknown is not None:
        node = replace(node, unknown=None)
    if observation.state in _HAVE_WALLET and not node.has_wallet:
        node = replace(node, has_wallet=True)
    if not observation.alive:
        return _ended(node, observation, now)
    if (
        observation.state is None
        or node.is_outdated
        or node.wanted is not DesiredState.RUNNING
    ):
        return node  # nothing new, or about an earlier process
    after = _moved(node, _MEANS[observation.state])
    return replace(after, trouble=_remaining(after))


def pause(crashes: int) -> timedelta:
    """Return the pause after a crash: 1 s, 2 s, 4 s ... 5 minutes."""
    wait = FIRST_PAUSE
    for _ in range(crashes - 1):
        if wait >= LONGEST_PAUSE:
            break
        wait *= 2
    return min(wait, LONGEST_PAUSE)


def _ended(node: Node, observation: Observation, now: datetime) -> Node:
    after = replace(node, process="", launched_revision=0, launched_at=None)
    if node.wanted is not DesiredState.RUNNING:
        return _moved(after, ObservedEvent.ENDED)
    if node.is_outdated:
        return replace(after, due=now)  # as wanted: start the next one now
    if observation.stopped_by_owner:
        after = replace(after, wanted=DesiredState.STOPPED, trouble=None)
        return _moved(after, ObservedEvent.ENDED)
    after = replace(after, trouble=_caused(node.trouble, observation.end))
    if observation.end.cause is Cause.INTERRUPTED:
        after = replace(after, due=now + FIRST_PAUSE)  # no crash
    else:
        crashes = 1 if _lived_long(node, now) else node.crashes + 1
        after = _crashed(after, crashes, now)
    return _moved(after, ObservedEvent.ENDED)


def _crashed(node: Node, crashes: int, now: datetime) -> Node:
    return replace(node, crashes=crashes, due=now + pause(crashes))


def _caused(before: Trouble | None, end: End) -> Trouble:
    same = before is not None and before.cause is end.cause
    if before is not None and same and end.cause is Cause.NOT_STARTED:
        return before  # which says why it could not be started
    return Trouble(
        cause=end.cause,
        reason=_REASONS[end.cause],
        why=end.why,
        times=before.times + 1 if before is not None and same else 1,
    )


def _remaining(node: Node) -> Trouble | None:
    """Return what is left of a node's trouble, now that its lnd has reported a state.

    What ended an earlier lnd stays until the next command: it may end this one, too.
    """
    if node.trouble is None or node.trouble.cause is Cause.NOT_STARTED:
        return None
    is_over = (
        node.status is NodeStatus.RUNNING and node.trouble.cause is Cause.INTERRUPTED
    )
    return None if is_over else node.trouble


def _lived_long(node: Node, now: datetime) -> bool:
    return node.launched_at is not None and now - node.launched_at >= LONG_LIFE


def _moved(node: Node, observation: ObservedEvent) -> Node:
    return replace(node, status=MOVES.get((node.status, observation), node.status))
