"""All that an answer may be made of that is kept.

There is no clock in it, no way out of the program, and nothing to write with: whoever
is given this and no more answers the same until somebody commits. So an endpoint or a
page that takes a `Look`, which holds this, is one whose answers are kept.
"""

from leyden.services.nodes.fleet import Fleet, FleetSettings
from leyden.storage.secrets import Sealer
from leyden.storage.stores import Stores
from leyden.values import Struct


class Records(Struct, frozen=True):
    """The rows, what opens those that are sealed, and the rules of the house."""

    rows: Stores
    sealer: Sealer
    rules: FleetSettings | None  # where no nodes are run

    @classmethod
    def of(cls, fleet: Fleet) -> "Records":
        """Return those that are about nodes."""
        return cls(fleet.database.reader, fleet.sealer, fleet.rules)
