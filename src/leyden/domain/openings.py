"""The seller's wallet, and the openings of channels that it was asked for."""

from collections.abc import Collection
from enum import StrEnum, auto
from typing import Final

from leyden.domain.payments import Outpoint
from leyden.domain.units import Sats
from leyden.values import Struct

# Feature bits: channels that are usable at once (BOLT 9), and LSPS (bLIP-50).
SCID_ALIAS: Final = 47
ZERO_CONF: Final = 51
LSPS: Final = 729


def takes_zero_conf(features: Collection[int]) -> bool:
    """Return whether these feature bits include channels without confirmations.

    Each feature has an even bit as well, which peers set that require it.
    """
    return all(
        bit in features or bit - 1 in features for bit in (SCID_ALIAS, ZERO_CONF)
    )


class Coin(Struct, frozen=True, order=True):
    """A confirmed coin of the seller's wallet."""

    sats: Sats
    outpoint: Outpoint


class SellerWallet(Struct, frozen=True, kw_only=True):
    """The seller's lnd at one moment."""

    pubkey: str
    uri: str  # PUBKEY@HOST:PORT, where buyers connect to; the key alone if not known
    height: int
    synced: bool  # with its chain
    coins: tuple[Coin, ...]  # confirmed, and not locked by an opening
    unconfirmed: Sats
    locked: Sats  # by openings under way
    fee_sat_per_vb: int  # for a transaction within some blocks
    features: frozenset[int] = frozenset()  # the bits that it announces


class OpeningState(StrEnum):
    """The state of the opening of an order's channel."""

    NONE = auto()  # none is under way, and no channel has the order's id
    UNDECIDED = auto()  # its coins are locked: the peer has not answered yet
    UNPUBLISHED = auto()  # signed by both, but its transaction was not seen
    PUBLISHED = auto()  # the seller's wallet has its transaction


class Opening(Struct, frozen=True, kw_only=True):
    """The opening of an order's channel."""

    state: OpeningState
    channel_point: str = ""  # txid:output, once both have signed
    fee: Sats | None = None  # of its transaction, if that is known
    height: int = 0  # of the chain when this was seen


class OpeningRefused(Struct, frozen=True):
    """The refusal to open a channel, by the seller's lnd or the peer."""

    why: str
    offline: bool = False  # the peer is not connected, but may connect later


class ClosedChannel(Struct, frozen=True, kw_only=True):
    """A channel of the seller's that is closed, or being closed."""

    point: str
    by_seller: bool  # else by the peer, or nobody can tell
    height: int  # 0 while no block has the closing transaction
