"""Count the starts of a node, in its folder and in the database.

An lnd with old data publishes old channel states, which its peers punish: it loses
money. A folder with a lower count than the database is an old copy, and is never
started. A folder with the same count that is a copy may have been made before the last
channel updates: only an operator can know whether it is the newest.
"""

from leyden.errors import CannotStart
from leyden.values import Struct


class Start(Struct, frozen=True):
    """The last start of a node: its number, and the folder that it used."""

    number: int
    copy: str  # the identity of the counter's file; a copy has another; "" is any


NEVER = Start(number=0, copy="")


def next_number(known: Start, found: Start) -> int:
    """Return the number of the next start."""
    return max(known.number, found.number) + 1


def refuse_old_copy(node_id: str, known: Start, found: Start) -> None:
    """Raise CannotStart if a folder with a wallet may not be the newest copy."""
    if found.number < known.number:
        raise CannotStart(
            f"node {node_id}: its folder is from start {found.number}, but the node "
            f"was started {known.number} times: an lnd with old channel states loses "
            "its money. Bring the newest folder back. If you lost it, move this "
            "folder away and see `leyden data-dir adopt --start-empty`; the owner then "
            "restores the node",
            reason=(
                "The node's folder is an old copy, which would lose your money. The "
                "operator must bring the newest folder back."
            ),
        )
    if found.number == known.number and known.copy not in {"", found.copy}:
        raise CannotStart(
            f"node {node_id}: its folder is a copy. If lnd has not run in the "
            "original folder since the copy was made: "
            f"`leyden data-dir accept-copy {node_id}`",
            reason=(
                "The node's folder is a copy. The operator must confirm that it is the "
                "newest."
            ),
        )
