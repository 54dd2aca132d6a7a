"""Everything needed to sell channels, wired by wiring/channels.py."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Final, Protocol

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.http.limits import RateLimit
from leyden.base.rules.times import Clock
from leyden.base.rules.units import Sats
from leyden.base.settings import Settings
from leyden.channels.direct.base import Lsps, Payer, Purse, Seller
from leyden.channels.direct.dialing import Dialing
from leyden.channels.direct.messages import Messages
from leyden.channels.direct.rules.fundings import FundingRules
from leyden.channels.payments.base import Payments, TreasuryFunds
from leyden.channels.rules.orders import Order
from leyden.channels.rules.payments import Confirmations
from leyden.channels.rules.pricing import Channel, ChannelKind, Quote, Terms
from leyden.channels.rules.sources import ALL_SOURCES, Source
from leyden.channels.tickets.base import AuctionDeposit, Market
from leyden.people.quotas import limits
from leyden.people.rules.quotas import Limits
from leyden.values import Struct, field

_QUOTES_PER_MINUTE: Final = 10  # of an organization, at other LSPs


class Upkeep(Struct, frozen=True, kw_only=True):
    """Settings for maintaining the Pool account."""

    low: Sats = Sats(1_000_000)  # below this, the operator gets an alarm
    renew_before_blocks: int = 2_016
    lives_blocks: int = 12_960
    fee_sat_per_kw: int = 2_500
    every: timedelta = timedelta(minutes=1)


class Lsps1Settings(Struct, frozen=True, kw_only=True):
    """Settings of the public sale over LSPS1."""

    organization: str  # id or name of the operator's, which these orders belong to
    lives: timedelta = timedelta(minutes=20)  # of an unpaid order
    orders_per_peer: int = 5  # unpaid ones, for each transport
    orders_per_address: int = 20  # unpaid ones over HTTP
    most_reserved: Sats = Sats(25_000_000)  # coins of all unpaid ones
    messages_per_minute: int = 60  # of a peer, or an address
    extends: bool = False  # leases, over LSPS7


class JitSettings(Struct, frozen=True, kw_only=True):
    """Settings of just-in-time channels."""

    fee_base: Sats = Sats(1_000)  # beside the funding transaction's estimate
    fee_ppm: int = 10_000
    highest_sat_per_vb: int = 100
    smallest: Sats = Sats(20_000)  # payments
    largest: Sats = Sats(1_000_000)
    spare: Sats = Sats(100_000)  # capacity beyond the payment
    lives: timedelta = timedelta(hours=2)  # of an offer, and so of an unpaid order
    orders_per_peer: int = 5  # unpaid ones
    most_per_hour: Sats = Sats(10_000_000)
    most_unpaid: Sats = Sats(5_000_000)  # whose payment nobody took, in a week
    messages_per_minute: int = 60  # of a peer, or an address
    wraps_invoices: bool = False
    client_trusts_lsp: bool = False  # nodes that never paid for a channel do


class BuyingSettings(Struct, frozen=True, kw_only=True):
    """Settings of channels that are bought from other LSPs."""

    most: Sats = Sats(200_000)  # for one channel, with routing
    most_per_hour: Sats = Sats(1_000_000)
    routing_ppm: int = 5_000


class ChannelSettings(Struct, frozen=True, kw_only=True):
    """Settings of channel sales."""

    sources: tuple[Source, ...] = ALL_SOURCES  # what is sold
    terms: Terms = field(default_factory=Terms)
    treasury: str = ""  # the public key of its lnd; empty: the first one seen
    confirmations: Confirmations = field(default_factory=Confirmations)
    quote_holds: timedelta = timedelta(minutes=10)
    order_lives: timedelta = timedelta(minutes=60)
    # A payment with too few confirmations delays an order's expiry by at most this; one
    # with none does not.
    confirming_waits: timedelta = timedelta(days=3)
    # Confirmations after which a payment counts as final.
    buried: int = 100
    # How long to retry while the auction does not respond and the buyer's money is
    # held. Far below the time lock of a held payment.
    ticket_patience: timedelta = timedelta(minutes=30)
    tickets_every: timedelta = timedelta(seconds=1)
    # A buyer who has just paid registers the ticket soon, and watches the order. Until
    # then such a ticket is polled more often, first at this interval.
    tickets_new_for: timedelta = timedelta(minutes=10)
    tickets_pause: timedelta = timedelta(milliseconds=5)
    tickets_polls: int = 1  # before the task is written again
    sweep_every: timedelta = timedelta(minutes=1)
    upkeep: Upkeep = field(default_factory=Upkeep)
    # Direct channels.
    seller: str = ""  # the public key of its lnd; empty: the first one seen
    seller_most_per_hour: Sats = Sats(51_000_000)  # three of the largest channels
    seller_most_per_peer: Sats = Sats(50_000_000)
    seller_low: Sats = Sats(5_000_000)  # below this, the operator gets an alarm
    # How long a paid order waits for its node to connect. With a held Lightning payment
    # not long, because that also locks money of the nodes that forwarded it.
    peer_patience_held: timedelta = timedelta(minutes=15)
    peer_patience: timedelta = timedelta(days=1)
    peer_every: timedelta = timedelta(seconds=2)
    opening_every: timedelta = timedelta(seconds=1)
    fundings: FundingRules = field(default_factory=FundingRules)
    channels_every: timedelta = timedelta(minutes=1)  # checks of all direct channels
    # With fewer blocks left until a held payment expires, no channel is opened for it.
    lock_left: int = 40
    lsps1: Lsps1Settings | None = None  # None: nothing is sold over LSPS1
    jit: JitSettings | None = None  # None: no just-in-time channels are sold
    buying: BuyingSettings = field(default_factory=BuyingSettings)
    # How long a response waits for the ticket of an order that is already paid.
    answer_waits: timedelta = timedelta(seconds=5)
    quotas: Limits = field(default_factory=lambda: limits(Settings()))


# Reserves what a source prepared for an order, in the order's own transaction; raises
# if that is no longer free.
Reserve = Callable[[Stores, Order], Awaitable[None]]


class ChannelSource(Protocol):
    """A source of channels: what differs between orders of one kind and another."""

    task: str  # due once an order is paid

    async def price(
        self, channels: "ChannelServices", channel: Channel, *, whose: str
    ) -> Quote:
        """Return the channel's price; raise Malformed for an impossible field.

        `whose` is the organization that asks.
        """
        ...

    async def prepare(self, channels: "ChannelServices", order: Order) -> Reserve:
        """Check, before a payment is requested, that the channel is available.

        Raise SoldOut if it is not.
        """
        ...


Sources = Mapping[ChannelKind, ChannelSource]


class ChannelServices(Struct, frozen=True, kw_only=True):
    """The services that sell channels."""

    database: Database
    sealer: Sealer
    payments: Payments
    sources: Sources
    market: Market
    clock: Clock
    seller: Seller | None = None  # None: no direct channels are sold
    messages: Messages | None = None  # of the seller's peers
    purse: Purse | None = None  # None: no just-in-time channels are sold
    lsps: Lsps = field(default_factory=Lsps)  # that channels are bought from
    payer: Payer | None = None  # None: none are bought
    # Asking for a price makes each LSP store an order.
    quoting: RateLimit = field(default_factory=lambda: RateLimit(_QUOTES_PER_MINUTE))
    dialing: Dialing = field(default_factory=Dialing)
    account: AuctionDeposit | None = None  # the auction account, if the market has one
    treasury: TreasuryFunds | None = None  # for the operator
    rules: ChannelSettings = field(default_factory=ChannelSettings)


# Kinds of tasks. The key is the order's id, or EVERYTHING.
EXPIRY = "order expiry"
TICKET = "ticket"
OPENING = "channel opening"
EXTENSION = "lease extension"
DIRECT_CHANNELS = "direct channels"
RETIRED = ("leases", "fundings")
LSPS1 = "lsps1 messages"
JIT = "just-in-time channels"
CLOSING = "invoice closing"
PRUNING = "order pruning"
WITHDRAWAL = "ticket withdrawal"
TICKETS = "tickets"
SWEEP = "payments sweep"
UPKEEP = "auction account"
EVERYTHING = "all"


def ticket_purpose(order_id: str) -> str:
    """Return the purpose that a ticket is sealed for."""
    return f"ticket of {order_id}"
