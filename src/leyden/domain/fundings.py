"""The funding transactions of direct channels, until no reorganisation undoes them.

    unconfirmed ──> confirmed ──> buried
        │    └<─ reorganised ─┘
        └──> lost: another transaction with one of its coins is buried

What is to be done about one is decided here, from the transactions of the seller's
wallet alone. Nothing here does I/O.
"""

from collections.abc import Sequence
from enum import StrEnum, auto
from typing import Final

from leyden.domain.openings import Coin
from leyden.domain.payments import Outpoint
from leyden.domain.units import Sats
from leyden.values import Struct

# A transaction that spends one coin of ours to one address of ours; both taproot.
CHILD_VBYTES: Final = 111
# What the child has to leave: nodes relay no smaller output.
_DUST: Final = 1_000
_STEP: Final = 4  # a bump pays at least a quarter more than what is paid now


class FundingState(StrEnum):
    """Where a funding transaction stands on the chain."""

    UNCONFIRMED = auto()
    CONFIRMED = auto()  # and may still be reorganised out of the chain
    BURIED = auto()
    LOST = auto()  # it can never be confirmed any more


class Obstacle(StrEnum):
    """Why an unconfirmed funding transaction needs the operator."""

    NONE = ""
    CAPPED = auto()  # it pays the highest fee rate that the operator allows
    NO_CHANGE = auto()  # it has no output of ours that could pay for it
    FORBIDDEN = auto()  # our macaroon may not bump
    REFUSED = auto()  # the seller's lnd would not
    CONFLICT = auto()  # a transaction with its coin is confirmed, not for good yet
    VANISHED = auto()  # the wallet has lost it, and nothing else spends its coins


_PASSING: Final = frozenset({Obstacle.CONFLICT, Obstacle.VANISHED})


class WalletTransaction(Struct, frozen=True, kw_only=True):
    """A transaction of the seller's wallet."""

    txid: str
    confirmations: int
    fee: Sats
    vbytes: int
    spends: tuple[Outpoint, ...]
    ours: tuple[Coin, ...] = ()  # outputs that are the wallet's
    proven: bool = False  # the chain has the block that the wallet says has it


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
    bumped: int = 0  # the block at the last one

    @property
    def txid(self) -> str:
        """The id of the transaction."""
        return self.channel_point.partition(":")[0]


class FundingRules(Struct, frozen=True, kw_only=True):
    """When a funding transaction is bumped, and when it is given up."""

    bump_after: int = 12  # blocks
    bump_again: int = 6  # blocks between two bumps
    highest_sat_per_vb: int = 200  # of transaction and child together
    lost_after: int = 6  # confirmations of a conflict
    buried_after: int = 100  # confirmations


class Bump(Struct, frozen=True, kw_only=True):
    """A child that pays for its parent."""

    outpoint: Outpoint
    sat_per_vb: int  # of both together
    fee: Sats  # of the child


class Chain(Struct, frozen=True, kw_only=True):
    """The chain as the seller's lnd has it."""

    height: int
    sat_per_vb: int  # its estimate
    transactions: Sequence[WalletTransaction]

    def find(self, txid: str) -> WalletTransaction | None:
        """Return a transaction; that in the chain if the wallet has it twice."""
        found = [each for each in self.transactions if each.txid == txid]
        return max(found, key=lambda each: each.confirmations, default=None)


def follow(
    funding: Funding, chain: Chain, rules: FundingRules
) -> tuple[FundingState, Obstacle | Bump]:
    """Return the state of a funding transaction, and an obstacle or a bump to make."""
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
    chain: Chain,
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


def _rival(funding: Funding, chain: Chain) -> WalletTransaction | None:
    """Return the confirmed transaction that spends one of the coins instead."""
    coins = set(funding.coins)
    for each in chain.transactions:
        is_another = each.confirmations > 0 and each.txid != funding.txid
        if is_another and not coins.isdisjoint(each.spends):
            return each
    return None


def _bump(
    parent: WalletTransaction, chain: Chain, rules: FundingRules
) -> Obstacle | Bump:
    change = max(parent.ours, default=None)
    if change is None:
        return Obstacle.NO_CHANGE
    # lnd's wallet keeps a child that another has replaced: the highest fee won.
    children = [each for each in chain.transactions if change.outpoint in each.spends]
    child = max(children, key=lambda each: each.fee, default=None)
    paid = parent.fee // parent.vbytes
    if child is not None:
        paid = (parent.fee + child.fee) // (parent.vbytes + child.vbytes)
    least = paid + max(1, paid // _STEP)
    rate = min(rules.highest_sat_per_vb, max(chain.sat_per_vb, least))
    more = rate * (parent.vbytes + CHILD_VBYTES) - parent.fee
    # Nodes relay a child in place of another for a satoshi more per vbyte of its own,
    # and lnd pays a little less than its budget.
    if rate <= paid or (child is not None and more < child.fee + CHILD_VBYTES):
        return Obstacle.CAPPED
    if more > change.sats - _DUST:
        return Obstacle.NO_CHANGE
    return Bump(outpoint=change.outpoint, sat_per_vb=rate, fee=Sats(more))
