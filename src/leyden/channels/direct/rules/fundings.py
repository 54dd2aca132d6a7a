"""The funding transactions of direct channels, until a reorganisation can't undo them.

    unconfirmed ──> confirmed ──> buried
        │    └<─ reorganised ─┘
        └──> lost: another transaction with one of its coins is buried

This module decides what to do about a funding transaction, from the transactions of the
seller's wallet. It does no I/O.
"""

from collections.abc import Sequence
from enum import StrEnum, auto
from typing import Final

from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint
from leyden.values import Struct

# A transaction with one input and one output, both ours and taproot.
CHILD_VBYTES: Final = 111
# The smallest output of the child: nodes do not relay smaller ones.
_DUST: Final = 1_000
_STEP: Final = 4  # a bump pays at least a quarter more than now


class FundingState(StrEnum):
    """The state of a funding transaction on the chain."""

    UNCONFIRMED = auto()
    CONFIRMED = auto()  # a reorganisation may still remove it
    BURIED = auto()
    LOST = auto()  # it can never be confirmed


class Obstacle(StrEnum):
    """Why an unconfirmed funding transaction needs the operator."""

    NONE = ""
    CAPPED = auto()  # its fee rate is the highest that the operator allows
    NO_CHANGE = auto()  # it has no output of ours that could pay for a child
    FORBIDDEN = auto()  # our macaroon lacks the permission to bump
    REFUSED = auto()  # the seller's lnd refused to bump
    CONFLICT = auto()  # another transaction with its coin is confirmed, but not final
    VANISHED = auto()  # the wallet lost it, and nothing else spends its coins


_PASSING: Final = frozenset({Obstacle.CONFLICT, Obstacle.VANISHED})


class WalletTransaction(Struct, frozen=True, kw_only=True):
    """A transaction of the seller's wallet."""

    txid: str
    confirmations: int
    fee: Sats
    vbytes: int
    spends: tuple[Outpoint, ...]
    ours: tuple[Coin, ...] = ()  # outputs of the wallet
    proven: bool = False  # the best chain has the block that the wallet names for it


class Funding(Struct, frozen=True, kw_only=True):
    """A funding transaction, as it is stored."""

    order_id: str
    organization_id: str
    channel_point: str
    peer: str  # the public key of the seller that published it
    coins: tuple[Outpoint, ...]  # that it spends
    since: int  # the block at which it was published, or reorganised
    state: FundingState = FundingState.UNCONFIRMED
    obstacle: Obstacle = Obstacle.NONE
    bumps: int = 0
    bumped: int = 0  # the block of the last bump

    @property
    def txid(self) -> str:
        """The id of the transaction."""
        return self.channel_point.partition(":")[0]


class FundingRules(Struct, frozen=True, kw_only=True):
    """When a funding transaction is bumped, buried, or lost."""

    bump_after: int = 12  # blocks
    bump_again: int = 6  # blocks between two bumps
    highest_sat_per_vb: int = 200  # of transaction and child together
    lost_after: int = 6  # confirmations of a conflict
    buried_after: int = 100  # confirmations


class Bump(Struct, frozen=True, kw_only=True):
    """A child transaction that pays for its parent."""

    outpoint: Outpoint
    sat_per_vb: int  # of both together
    fee: Sats  # of the child


class ChainView(Struct, frozen=True, kw_only=True):
    """The chain according to the seller's lnd."""

    height: int
    sat_per_vb: int  # lnd's fee estimate
    transactions: Sequence[WalletTransaction]

    def find(self, txid: str) -> WalletTransaction | None:
        """Return a transaction; the confirmed one if the wallet lists it twice."""
        found = [each for each in self.transactions if each.txid == txid]
        return max(found, key=lambda each: each.confirmations, default=None)


def follow(
    funding: Funding, chain: ChainView, rules: FundingRules
) -> tuple[FundingState, Obstacle | Bump]:
    """Return the new state of a funding transaction, and an obstacle or a bump."""
    found = chain.find(funding.txid)
    if found is not None and found.confirmations > 0:
        # If not proven, its block may not be in the chain: keep watching.
        buried = found.proven and found.confirmations >= rules.buried_after
        state = FundingState.BURIED if buried else FundingState.CONFIRMED
        return state, Obstacle.NONE
    if rival := _rival(funding, chain):
        # If not proven, its block may not be in the chain: nothing is certain yet.
        if rival.proven and rival.confirmations >= rules.lost_after:
            return FundingState.LOST, Obstacle.NONE
        return FundingState.UNCONFIRMED, Obstacle.CONFLICT
    return FundingState.UNCONFIRMED, _needed(funding, found, chain, rules)


def _needed(
    funding: Funding,
    found: WalletTransaction | None,
    chain: ChainView,
    rules: FundingRules,
) -> Obstacle | Bump:
    if found is None:
        return Obstacle.VANISHED
    if funding.state is FundingState.CONFIRMED:  # reorganised just now
        return Obstacle.NONE
    waited = chain.height - funding.since >= rules.bump_after
    again = not funding.bumps or chain.height - funding.bumped >= rules.bump_again
    if waited and again:
        return _bump(found, chain, rules)
    return Obstacle.NONE if funding.obstacle in _PASSING else funding.obstacle


def _rival(funding: Funding, chain: ChainView) -> WalletTransaction | None:
    """Return the confirmed transaction that spends one of the coins instead."""
    coins = set(funding.coins)
    for each in chain.transactions:
        is_another = each.confirmations > 0 and each.txid != funding.txid
        if is_another and not coins.isdisjoint(each.spends):
            return each
    return None


def _bump(
    parent: WalletTransaction, chain: ChainView, rules: FundingRules
) -> Obstacle | Bump:
    change = max(parent.ours, default=None)
    if change is None:
        return Obstacle.NO_CHANGE
    # lnd's wallet still lists replaced children: the one with the highest fee won.
    children = [each for each in chain.transactions if change.outpoint in each.spends]
    child = max(children, key=lambda each: each.fee, default=None)
    paid = parent.fee // parent.vbytes
    if child is not None:
        paid = (parent.fee + child.fee) // (parent.vbytes + child.vbytes)
    least = paid + max(1, paid // _STEP)
    rate = min(rules.highest_sat_per_vb, max(chain.sat_per_vb, least))
    more = rate * (parent.vbytes + CHILD_VBYTES) - parent.fee
    # To replace a child, the new one must pay a satoshi more for each of its vbytes,
    # and lnd pays a little less than its budget.
    if rate <= paid or (child is not None and more < child.fee + CHILD_VBYTES):
        return Obstacle.CAPPED
    if more > change.sats - _DUST:
        return Obstacle.NO_CHANGE
    return Bump(outpoint=change.outpoint, sat_per_vb=rate, fee=Sats(more))
