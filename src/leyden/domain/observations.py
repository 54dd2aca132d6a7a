"""What is seen of a node's lnd, and what that makes of the node.

lnd itself is the truth: it says on its state stream where it stands, and the end of
its process needs no words. What an earlier lnd said is not believed of a later one.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from leyden.domain.node_moves import FIRST_PAUSE, LONGEST_PAUSE, MOVES
from leyden.domain.nodes import Node, Seen, Wanted
from leyden.values import Struct, replace

# Who has lived this long and then crashes has not crashed "again".
_LONG_LIFE = timedelta(minutes=10)


class State(StrEnum):
    """Where lnd stands, in its own words."""

    WAITING_TO_START = "WAITING_TO_START"
    NON_EXISTING = "NON_EXISTING"
    LOCKED = "LOCKED"
    UNLOCKED = "UNLOCKED"
    RPC_ACTIVE = "RPC_ACTIVE"
    SERVER_ACTIVE = "SERVER_ACTIVE"


# WAITING_TO_START comes before lnd knows whether it has a wallet: it is never
# waiting_init, which would invite a stranger to make one.
_MEANS: Mapping[State, Seen] = {
    State.WAITING_TO_START: Seen.OPENING,
    State.NON_EXISTING: Seen.UNINITIALIZED,
    State.LOCKED: Seen.LOCKED,
    State.UNLOCKED: Seen.OPENING,
    State.RPC_ACTIVE: Seen.OPENING,
    State.SERVER_ACTIVE: Seen.SERVING,
}


# Who has come so far has a wallet, for good.
_HAVE_WALLET = frozenset(
    {State.LOCKED, State.UNLOCKED, State.RPC_ACTIVE, State.SERVER_ACTIVE}
)


class Observation(Struct, frozen=True, kw_only=True):
    """What is known at this moment of one process."""

    process: str
    known: bool = True  # False: whoever was asked cannot see it; nothing follows
    alive: bool = True
    state: State | None = None  # None: it has not said a word yet
    asked: bool = False  # it ended because its owner told it to


def housed(node: Node, *, host: str) -> Node:
    """Note where its lnd is going to serve."""
    return replace(node, host=host)


def launched(node: Node, *, process: str, revision: int, now: datetime) -> Node:
    """Note that there is a process now, and with which settings it was started."""
    after = replace(node, process=process, launched=revision, launched_at=now)
    return _moved(after, Seen.LAUNCHED)


def broke(node: Node, *, now: datetime) -> Node:
    """Note that no process could be made; it is tried again, later each time."""
    crashes = node.crashes + 1
    after = replace(node, crashes=crashes, due=now + pause(crashes))
    return _moved(after, Seen.BROKE)


def observe(node: Node, seen: Observation, now: datetime) -> Node:
    """Give the node as it is in the light of what was seen.

    The second time nothing changes.
    """
    if seen.process != node.process:
        return node
    if not seen.known:
        return node
    if seen.state in _HAVE_WALLET and not node.has_wallet:
        node = replace(node, has_wallet=True)
    if not seen.alive:
        return _ended(node, asked=seen.asked, now=now)
    if seen.state is None or node.is_outdated or node.wanted is not Wanted.RUNNING:
        return node  # nothing was said, or it no longer matters
    return _moved(node, _MEANS[seen.state])


def pause(crashes: int) -> timedelta:
    """Wait twice as long after each crash: 1 s, 2 s, 4 s ... 5 minutes."""
    wait = FIRST_PAUSE
    for _ in range(crashes - 1):
        if wait >= LONGEST_PAUSE:
            break
        wait *= 2
    return min(wait, LONGEST_PAUSE)


def _ended(node: Node, *, asked: bool, now: datetime) -> Node:
    after = replace(node, process="", launched=0, launched_at=None)
    if node.wanted is not Wanted.RUNNING:
        return _moved(after, Seen.ENDED)
    if node.is_outdated:
        return replace(after, due=now)  # as we wanted: another takes its place
    if asked:
        return _moved(replace(after, wanted=Wanted.STOPPED), Seen.ENDED)
    crashes = 1 if _lived_long(node, now) else node.crashes + 1
    after = replace(after, crashes=crashes, due=now + pause(crashes))
    return _moved(after, Seen.ENDED)


def _lived_long(node: Node, now: datetime) -> bool:
    return node.launched_at is not None and now - node.launched_at >= _LONG_LIFE


def _moved(node: Node, seen: Seen) -> Node:
    return replace(node, status=MOVES.get((node.status, seen), node.status))
