"""The seller's wallet, and the channels that it opens."""

from collections.abc import Collection
from enum import StrEnum, auto
from typing import Final

from leyden.base.rules.units import Sats
from leyden.channels.rules.payments import Outpoint
from leyden.values import Struct

# Feature bits: zero-conf channels (BOLT 9), and LSPS (bLIP-50).
SCID_ALIAS: Final = 47
ZERO_CONF: Final = 51
LSPS: Final = 729


def takes_zero_conf(features: Collection[int]) -> bool:
    """Return whether these feature bits include zero-conf channels.

    Each feature also has an even bit, set by peers that require it.
    """
    return all(
        bit in features or bit - 1 in features for bit in (SCID_ALIAS, ZERO_CONF)
    )


class Coin(Struct, frozen=True, order=True):
    """A confirmed coin of the seller's wallet."""

    sats: Sats
    outpoint: Outpoint


class SellerWallet(Struct, frozen=True, kw_only=True):
    """A snapshot of the seller's lnd."""

    pubkey: str
    uri: str  # PUBKEY@HOST:PORT for buyers to connect to; only the key if unknown
    height: int
    synced: bool  # with its chain
    coins: tuple[Coin, ...]  # confirmed, not locked by an opening
    unconfirmed: Sats
    locked: Sats  # by openings in progress
    fee_sat_per_vb: int  # for a transaction within some blocks
    features: frozenset[int] = frozenset()  # the bits that it announces
    peers: frozenset[str] = frozenset()  # connected ones, once their bits are known


class OpeningState(StrEnum):
    """The state of the opening of an order's channel."""

    NONE = auto()  # none in progress, and no channel has the order's id
    UNDECIDED = auto()  # its coins are locked, and the peer has not responded yet
    UNPUBLISHED = auto()  # signed by both, but the wallet lacks its transaction
    PUBLISHED = auto()  # the seller's wallet has its transaction


class Opening(Struct, frozen=True, kw_only=True):
    """The opening of an order's channel."""

    state: OpeningState
    channel_point: str = ""  # txid:output, once both have signed
    fee: Sats | None = None  # of its transaction, if known
    height: int = 0  # of the chain at that moment


class OpeningRefused(Struct, frozen=True):
    """The refusal to open a channel, by the seller's lnd or the peer."""

    why: str
    offline: bool = False  # the peer is not connected, but may connect later


class ClosedChannel(Struct, frozen=True, kw_only=True):
    """A channel of the seller that is closed, or being closed."""

    point: str
    height: int  # of the closing transaction's block; 0 if unconfirmed
