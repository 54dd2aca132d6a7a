"""The price of a channel in whole satoshis, computed from the terms only.

    total_fee  = service_fee + pool_fee + self_chan_balance_fee
    pool_fee   = premium + execution fee + chain fee at the highest rate
    amount_due = total_fee - credit_used

`pool_fee` is the most that the auction may take. The part that it does not take is
credited when the order is filled, unless the terms say otherwise.

Divisions that the auction also does (the rate, the premium) are rounded down as it
does; our own are rounded up. No fee is off by a whole satoshi.
"""

from enum import StrEnum, auto

from leyden.base.rules.units import Sats, part_per_million, rounded_up
from leyden.errors import Malformed
from leyden.values import Struct, replace

# The auction's lease durations in blocks: two weeks, four, six ... a year.
LEASES = (2016, 4032, 6048, 8064, 12096, 16128, 24192, 52416)
USUAL_LEASE = LEASES[0]

_BPS = 10_000  # hundredths of a percent in a whole
_PPB = 1_000_000_000  # the auction's unit of rate: parts per billion per block
_HIGHEST_BPS = _BPS

# Weight units that one channel adds to a batch, by the auction's own estimate: the
# account's input and output, half of the channel's output, and the heaviest witness
# (an account of version 0). The taker pays for them.
_CHAIN_WEIGHT = (43 + 41 + (43 + 1) // 2) * 4 + 229

# A funding transaction of a direct channel: two inputs, the channel, and the change.
FUNDING_VBYTES = 240
_INPUTS, _INPUT_VBYTES = 2, 68


def funding_vbytes(inputs: int) -> int:
    """Return the size of a funding transaction with so many inputs."""
    return FUNDING_VBYTES + max(0, inputs - _INPUTS) * _INPUT_VBYTES


class ChannelKind(StrEnum):
    """How a channel gets to its node; an order's life depends on it."""

    TICKET = auto()  # the node that registers a ticket in the auction gets it
    DIRECT = auto()  # the operator's seller opens it to a node that the order names


class NodeTier(StrEnum):
    """The required quality of the seller's node."""

    ANY = auto()  # any seller
    BEST = auto()  # rated by the auction


class Channel(Struct, frozen=True, kw_only=True):
    """The channel that a customer asks for."""

    capacity: Sats
    self_chan_balance: Sats = Sats(0)
    lease_duration_blocks: int = USUAL_LEASE
    node_tier: NodeTier = NodeTier.BEST
    bps: int | None = None  # the buyer's own offer; None uses the terms' rate
    # Of a direct channel:
    node_key: str = ""  # the public key of the node that gets it, in lower case
    node_host: str = ""  # HOST:PORT to dial; "": the node must connect to the seller
    node_id: str = ""  # if it is a hosted node of the customer
    announce: bool = False  # a public channel, else a private one
    zero_conf: bool = False  # usable before its transaction is confirmed

    @property
    def kind(self) -> ChannelKind:
        """How the channel gets to its node."""
        return ChannelKind.DIRECT if self.node_key else ChannelKind.TICKET


class AuctionTerms(Struct, frozen=True, kw_only=True):
    """The auction's fees and lease durations."""

    leases: tuple[int, ...] = LEASES
    execution_fee_base: Sats = Sats(1)
    execution_fee_ppm: int = 1_000


class Terms(Struct, frozen=True, kw_only=True):
    """The operator's prices and limits."""

    capacity_unit: Sats = Sats(100_000)
    smallest_capacity: Sats = Sats(100_000)
    largest_capacity: Sats = Sats(16_700_000)
    rate_bps: int = 50  # for the usual lease; longer ones cost proportionally more
    service_fee_base: Sats = Sats(1_000)
    service_fee_ppm: int = 1_000
    self_chan_balance_ppm: int = 2_000
    chain_fee_sat_per_kw: int = 12_500  # 50 sat/vB: the limit for joining a batch
    keeps_unused_fee: bool = False  # else it is credited to the buyer
    # Direct channels, from the operator's own seller.
    seller_fee_sat_per_vb: int = 50  # the limit for opening a channel
    seller_largest: Sats = Sats(16_700_000)


class Quote(Struct, frozen=True, kw_only=True):
    """The price of a channel."""

    channel: Channel
    rate_bps: int
    rate_fixed: int
    service_fee: Sats
    pool_fee: Sats
    self_chan_balance_fee: Sats
    keeps_unused_fee: bool = False  # the unused part of pool_fee is ours
    # The LSP that it is bought from; "": a ticket, or the operator's own seller.
    source: str = ""

    @property
    def premium(self) -> Sats:
        """What a direct channel costs at its rate."""
        channel = self.channel
        return premium(channel.capacity, self.rate_fixed, channel.lease_duration_blocks)

    @property
    def highest_funding_fee(self) -> Sats:
        """The most that the price has for a direct channel's transaction."""
        return Sats(self.pool_fee - self.premium)

    @property
    def highest_fee_sat_per_vb(self) -> int:
        """The highest fee rate that it covers, with up to two coins."""
        return self.highest_funding_fee // FUNDING_VBYTES

    @property
    def auction_share(self) -> Sats:
        """The most that the auction may take of the price."""
        return Sats(self.pool_fee + self.channel.self_chan_balance)

    @property
    def total_fee(self) -> Sats:
        """The whole price, before any credit."""
        return Sats(self.service_fee + self.pool_fee + self.self_chan_balance_fee)


def direct_quote(channel: Channel, terms: Terms) -> Quote:
    """Return the price of a direct channel; raise Malformed for an impossible field.

    The premium is the same as for tickets. The fee of the funding transaction is
    charged at the highest rate; the unused part is credited.
    """
    check_direct(channel, terms)
    return _direct_price(channel, terms)


def quote_in_full(channel: Channel, terms: Terms) -> Quote:
    """Return the price of a direct channel; the caller has checked size and lease.

    The buyer has no account here, so we keep the unused part of the transaction fee.
    """
    return replace(_direct_price(channel, terms), keeps_unused_fee=True)


def extension_price(channel: Channel, blocks: int, terms: Terms) -> tuple[Sats, Sats]:
    """Return premium and service fee for so many more blocks of a direct channel.

    Both are those of a new channel. There is no transaction to pay for.
    """
    _, rate_fixed = _rate(blocks, terms)
    return (
        premium(channel.capacity, rate_fixed, blocks),
        _service_fee(channel, terms),
    )


def _rate(blocks: int, terms: Terms) -> tuple[int, int]:
    """Return the terms' rate for a lease: in bps, and in parts per billion a block."""
    rate_bps = rounded_up(terms.rate_bps * blocks, USUAL_LEASE)
    return rate_bps, rate_bps * _PPB // (_BPS * blocks)


def _direct_price(channel: Channel, terms: Terms) -> Quote:
    blocks = channel.lease_duration_blocks
    rate_bps, rate_fixed = _rate(blocks, terms)
    return Quote(
        channel=channel,
        rate_bps=rate_bps,
        rate_fixed=rate_fixed,
        service_fee=_service_fee(channel, terms),
        pool_fee=Sats(
            premium(channel.capacity, rate_fixed, blocks)
            + terms.seller_fee_sat_per_vb * FUNDING_VBYTES
        ),
        self_chan_balance_fee=Sats(0),
    )


def fees_of(
    channel: Channel, terms: Terms, *, rate_bps: int, at_most: Sats, source: str
) -> Quote:
    """Return the price of a direct channel that costs us so much at most."""
    return Quote(
        channel=channel,
        rate_bps=rate_bps,
        rate_fixed=rate_bps * _PPB // (_BPS * channel.lease_duration_blocks),
        service_fee=_service_fee(channel, terms),
        pool_fee=at_most,
        self_chan_balance_fee=Sats(0),
        keeps_unused_fee=terms.keeps_unused_fee,
        source=source,
    )


def check_direct(channel: Channel, terms: Terms) -> None:
    """Raise Malformed with the wrong field if no such direct channel is sold."""
    check(channel, terms, AuctionTerms())
    if channel.capacity > terms.seller_largest:
        raise Malformed(
            f"capacity: must be at most {terms.seller_largest:,} for a channel to a "
            "named node"
        )
    if channel.self_chan_balance:
        raise Malformed("self_chan_balance: must be 0 with node or node_id")
    if channel.bps is not None:
        raise Malformed(
            "bps: must not be set with node or node_id, whose channel is not from the "
            "auction"
        )
    if channel.node_tier is not NodeTier.BEST:
        raise Malformed(
            "node_tier: must not be set with node or node_id, whose channel is not "
            "from the auction"
        )


def _service_fee(channel: Channel, terms: Terms) -> Sats:
    return Sats(
        terms.service_fee_base
        + part_per_million(channel.capacity, terms.service_fee_ppm)
    )


def quote(channel: Channel, terms: Terms, auction: AuctionTerms) -> Quote:
    """Return the channel's price; raise Malformed for an impossible field."""
    check(channel, terms, auction)
    blocks = channel.lease_duration_blocks
    rate_bps = channel.bps or rounded_up(terms.rate_bps * blocks, USUAL_LEASE)
    rate_fixed = rate_bps * _PPB // (_BPS * blocks)
    return Quote(
        channel=channel,
        rate_bps=rate_bps,
        rate_fixed=rate_fixed,
        service_fee=_service_fee(channel, terms),
        pool_fee=Sats(
            premium(channel.capacity, rate_fixed, blocks)
            + auction.execution_fee_base
            + part_per_million(channel.capacity, auction.execution_fee_ppm)
            + rounded_up(terms.chain_fee_sat_per_kw * _CHAIN_WEIGHT, 1_000)
        ),
        self_chan_balance_fee=Sats(
            channel.self_chan_balance
            + part_per_million(channel.self_chan_balance, terms.self_chan_balance_ppm)
        ),
        keeps_unused_fee=terms.keeps_unused_fee,
    )


def premium(capacity: Sats, rate_fixed: int, blocks: int) -> Sats:
    """Return the seller's premium, computed as the auction does."""
    return Sats(capacity * rate_fixed * blocks // _PPB)


def check(channel: Channel, terms: Terms, auction: AuctionTerms) -> None:
    """Raise Malformed with the wrong field if no such channel is sold."""
    low, high, unit = (
        terms.smallest_capacity,
        terms.largest_capacity,
        terms.capacity_unit,
    )
    if not low <= channel.capacity <= high or channel.capacity % unit:
        raise Malformed(
            f"capacity: must be a multiple of {unit:,} from {low:,} to {high:,}"
        )
    if not 0 <= channel.self_chan_balance <= channel.capacity:
        raise Malformed("self_chan_balance: must be from 0 to the capacity")
    if channel.lease_duration_blocks not in auction.leases:
        offered = ", ".join(str(blocks) for blocks in auction.leases)
        raise Malformed(f"lease_duration_blocks: must be one of {offered}")
    if channel.bps is not None and not 1 <= channel.bps <= _HIGHEST_BPS:
        raise Malformed(f"bps: must be from 1 to {_HIGHEST_BPS}")
