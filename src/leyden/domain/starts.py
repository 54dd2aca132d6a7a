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
            f"node {node_id}: its folder is from start {found.number}, but the node "
            f"was started {known.number} times: an lnd with old channel states loses "
            "its money. Bring the newest folder back. If you lost it, move this "
            "folder away and see `leyden home adopt --start-empty`; the owner then "
            "restores the node",
            reason=(
                "The node's folder is an old copy, which would lose your money. The "
                "operator must bring the newest folder back."
            ),
        )
    if found.number == known.number and known.copy not in {"", found.copy}:
        raise CannotStart(
            f"node {node_id}: its folder is a copy. If lnd has not run in the "
            f"original folder since the copy was made: `leyden home accept {node_id}`",
            reason=(
                "The node's folder is a copy. The operator must confirm that it is the "
                "newest."
            ),
        )
