"""All that a request or a task may need, wired by app.py and handed down."""

from datetime import datetime

import msgspec

from leyden.domain.times import Clock
from leyden.services.courier import Courier
from leyden.services.fleet import Fleet
from leyden.services.issuance import Issuance
from leyden.services.remembered import Remembered
from leyden.services.samples import Samples
from leyden.services.shop import Shop
from leyden.settings import Settings
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.values import Struct, field


class Platform(Struct, frozen=True, kw_only=True):
    """One running installation, seen from inside."""

    settings: Settings
    database: Database
    sealer: Sealer
    clock: Clock
    shop: Shop | None = None  # where no channels are sold
    fleet: Fleet | None = None  # where no nodes are run
    courier: Courier | None = None  # where nobody is told of anything
    issuance: Issuance | None = None  # where we alone vouch for our names
    # Answers as they were last sent, by what they are made of. Rendering a node takes
    # ten times what it takes to see that it has not changed.
    rendered: Remembered[msgspec.Raw] = field(default_factory=Remembered)
    # Quotes as they were last sent, and until when they may be sent again.
    quoted: Remembered[tuple[msgspec.Raw, datetime]] = field(default_factory=Remembered)
    samples: Samples = field(default_factory=Samples)
