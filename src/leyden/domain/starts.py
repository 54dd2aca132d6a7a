"""How often a node was started, counted in its folder and in the database.

An lnd that goes back in time publishes states that its peers punish: it loses its
money. A folder that counts less than the database is an old copy, and never started.
One that counts as much, and is not where it was, may have been copied before its last
channel updates: only an operator can know that it is the newest.
"""

from leyden.errors import CannotStart
from leyden.values import Struct


class Start(Struct, frozen=True):
    """The last start of a node: its number, and which folder it was in."""

    number: int
    copy: str  # of the counter's file: another one has another; "" is any


NEVER = Start(number=0, copy="")


def next_number(known: Start, found: Start) -> int:
    """Return the number of the next start."""
    return max(known.number, found.number) + 1


def refuse_old_copy(node_id: str, known: Start, found: Start) -> None:
    """Raise CannotStart where a folder with a wallet is not the newest there was."""
    if found.number < known.number:
        raise CannotStart(
            f"node {node_id}: its folder is of start {found.number}, and the node was "
            f"started {known.number} times: an lnd that goes back in time loses its "
            "money. Bring the newest folder back. If it is lost, move this one away, "
            "see `leyden home adopt --start-empty`, and the owner restores the node",
            reason="The node's folder is an old copy, with which it would lose money. "
            "The operator must bring the newest one back.",
        )
    if found.number == known.number and known.copy not in {"", found.copy}:
        raise CannotStart(
            f"node {node_id}: its folder is a copy. If no other lnd of it has run "
            f"since the copy was made: `leyden home accept {node_id}`",
            reason="The node's folder was copied. The operator must confirm that it is "
            "the newest one.",
        )
