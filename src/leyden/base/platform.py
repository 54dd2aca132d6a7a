"""Everything that a request or task may need; the app builds it."""

from contextlib import AsyncExitStack

from leyden.base.chain_controls import ChainControls
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.prices import Prices
from leyden.base.rules.times import Clock
from leyden.base.settings import Settings
from leyden.channels import sources
from leyden.channels.services import ChannelServices
from leyden.events.dispatchers import Dispatcher
from leyden.events.emailing import Emailing
from leyden.events.tails import Tails
from leyden.nodes.fleet import Fleet
from leyden.nodes.issuance import Issuance
from leyden.nodes.samples import Samples
from leyden.values import Struct, field


class Platform(Struct, frozen=True, kw_only=True):
    """A running installation: all its services."""

    settings: Settings
    database: Database
    sealer: Sealer
    clock: Clock
    channels: ChannelServices | None = None  # None: no channels are sold
    fleet: Fleet | None = None  # None: no nodes are run
    dispatcher: Dispatcher | None = None  # None: nothing is delivered
    issuance: Issuance | None = None  # None: only our own authority issues certificates
    emailing: Emailing | None = None  # None: no emails are sent
    tails: Tails | None = None  # where nobody waits for events
    private_chain: ChainControls | None = None  # None: the chain is not `leyden up`'s
    samples: Samples = field(default_factory=Samples)
    prices: Prices = field(default_factory=Prices)
    # What ends once the database is closed.
    afterwards: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def sells_direct(self) -> bool:
        """Whether channels are sold to a node that the order names."""
        return self.channels is not None and sources.sells_direct(self.channels)

    @property
    def wraps_invoices(self) -> bool:
        """Whether a payment to a node can open its channel."""
        channels = self.channels
        if channels is None or channels.purse is None or channels.rules.jit is None:
            return False
        return channels.rules.jit.wraps_invoices
