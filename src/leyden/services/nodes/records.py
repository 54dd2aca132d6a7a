"""All that a cached response may be computed from.

It has no clock, no I/O but reads, and nothing to write with: a function that gets only
this returns the same until the next commit. So the responses of an endpoint or a page
that takes a `ReadRequest`, which holds this, can be cached.
"""

from leyden.services.nodes.fleet import Fleet, FleetSettings
from leyden.storage.secrets import Sealer
from leyden.storage.stores import Stores
from leyden.values import Struct


class Records(Struct, frozen=True):
    """The stored rows, the sealer that opens secrets in them, and the fleet's rules."""

    rows: Stores
    sealer: Sealer
    rules: FleetSettings | None  # where no nodes are run

    @classmethod
    def of(cls, fleet: Fleet) -> "Records":
        """Return the records of a fleet."""
        return cls(fleet.database.reader, fleet.sealer, fleet.rules)
