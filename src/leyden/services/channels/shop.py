"""The shop: everything needed to sell channels, wired by app.py."""

from datetime import timedelta

from leyden.domain.fundings import FundingRules
from leyden.domain.payments import Confirmations
from leyden.domain.pricing import Terms
from leyden.domain.quotas import Limits
from leyden.domain.sources import EVERY, Source
from leyden.domain.times import Clock
from leyden.domain.units import Sats
from leyden.market.base import Account, Market
from leyden.payments.base import Payments, TreasuryFunds
from leyden.sellers.base import Seller
from leyden.sellers.messages import Messages
from leyden.services.channels.dialing import Dialing
from leyden.services.shared.quotas import limits
from leyden.settings import Settings
from leyden.storage.database import Database
from leyden.storage.secrets import Sealer
from leyden.values import Struct, field


class Upkeep(Struct, frozen=True, kw_only=True):
    """Settings for maintaining the Pool account."""

    low: Sats = Sats(1_000_000)  # what the operator is told of
    renew_before_blocks: int = 2_016
    lives_blocks: int = 12_960
    fee_sat_per_kw: int = 2_500
    every: timedelta = timedelta(minutes=1)


class Lsps1Settings(Struct, frozen=True, kw_only=True):
    """Settings of the sale to everybody, over LSPS1."""

    organization: str  # the operator's, by its id or name, that these orders belong to
    lives: timedelta = timedelta(minutes=20)  # of an unpaid order
    orders_per_peer: int = 5  # unpaid ones, of each transport
    orders_per_address: int = 20  # unpaid ones over HTTP
    most_reserved: Sats = Sats(25_000_000)  # coins of all unpaid ones
    messages_per_minute: int = 60  # of a peer, or an address


class ShopSettings(Struct, frozen=True, kw_only=True):
    """Settings of the shop."""

    sources: tuple[Source, ...] = EVERY  # that new orders are of
    terms: Terms = field(default_factory=Terms)
    treasury: str = ""  # the key of its lnd; empty is the first one seen
    confirmations: Confirmations = field(default_factory=Confirmations)
    quote_holds: timedelta = timedelta(minutes=10)
    order_lives: timedelta = timedelta(minutes=60)
    # A payment that is seen but not confirmed stops an order's clock, not for ever.
    detected_waits: timedelta = timedelta(days=3)
    # Confirmations after which the chain takes nothing back.
    buried: int = 100
    # How long to go on asking an auction that does not respond, with the buyer's money
    # held. Far below the time lock of a held payment.
    ticket_patience: timedelta = timedelta(minutes=30)
    tickets_every: timedelta = timedelta(seconds=1)
    # Somebody who has just paid registers the ticket soon, and watches: until then
    # looks at such a ticket follow each other sooner, so soon at first.
    tickets_new_for: timedelta = timedelta(minutes=10)
    tickets_pause: timedelta = timedelta(milliseconds=5)
    tickets_looks: int = 1  # before the task is written anew
    sweep_every: timedelta = timedelta(minutes=1)
    upkeep: Upkeep = field(default_factory=Upkeep)
    # Direct channels.
    seller: str = ""  # the key of its lnd; empty is the first one seen
    seller_most_per_hour: Sats = Sats(50_000_000)
    seller_most_per_peer: Sats = Sats(50_000_000)
    seller_low: Sats = Sats(5_000_000)  # what the operator is told of
    # How long a paid order waits for its node to connect: with a payment held on
    # Lightning not long, for whoever carried it holds money too.
    peer_patience_held: timedelta = timedelta(minutes=15)
    peer_patience: timedelta = timedelta(days=1)
    peer_every: timedelta = timedelta(seconds=2)
    opening_every: timedelta = timedelta(seconds=1)
    fundings: FundingRules = field(default_factory=FundingRules)
    channels_every: timedelta = timedelta(minutes=1)  # a look at all direct ones
    # Blocks of a held payment's lock below which nothing is opened for it any more.
    lock_left: int = 40
    lsps1: Lsps1Settings | None = None  # where nothing is sold over LSPS1
    # How long the answer waits for the ticket of an order that is paid for already.
    answer_waits: timedelta = timedelta(seconds=5)
    quotas: Limits = field(default_factory=lambda: limits(Settings()))


class Shop(Struct, frozen=True, kw_only=True):
    """A running shop: all its services."""

    database: Database
    sealer: Sealer
    payments: Payments
    market: Market
    clock: Clock
    seller: Seller | None = None  # where no direct channels are sold
    messages: Messages | None = None  # of the seller's peers
    dialing: Dialing = field(default_factory=Dialing)
    account: Account | None = None  # where the market buys from one
    treasury: TreasuryFunds | None = None  # for whoever runs the shop
    rules: ShopSettings = field(default_factory=ShopSettings)


# Kinds of tasks. The key is the order's id, or EVERYTHING.
EXPIRY = "order expiry"
TICKET = "ticket"
OPENING = "channel opening"
DIRECT_CHANNELS = "direct channels"
RETIRED = ("leases", "fundings")
LSPS1 = "lsps1 messages"
CLOSING = "invoice closing"
WITHDRAWAL = "ticket withdrawal"
TICKETS = "tickets"
SWEEP = "payments sweep"
UPKEEP = "auction account"
EVERYTHING = "all"


def ticket_purpose(order_id: str) -> str:
    """Return the purpose that a ticket is sealed for."""
    return f"ticket of {order_id}"
