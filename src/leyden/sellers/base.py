"""The interface of sellers, who open channels to the nodes that buyers name.

As with payments there are three answers: yes, no, and unknown, which is the exception
SellerAway. Every method may be called any number of times; of openings for one order
at most one ever confirms, because all of them spend the same coins.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from leyden.domain.fundings import WalletTransaction
from leyden.domain.openings import (
    ClosedChannel,
    Coin,
    Opening,
    OpeningRefused,
    SellerWallet,
)
from leyden.domain.payments import Outpoint
from leyden.domain.units import Sats
from leyden.values import Struct


class WantedOpening(Struct, frozen=True, kw_only=True):
    """A channel to be opened. The order's id is its memo, by which it is found."""

    order_id: str
    pubkey: str  # of the peer
    capacity: Sats
    announce: bool
    coins: tuple[Coin, ...]  # all that may be spent for it
    fee_sat_per_vb: int
    zero_conf: bool = False  # usable before its transaction is confirmed; private only


class BumpRefused(Struct, frozen=True):
    """The refusal to bump, by the seller's lnd."""

    why: str
    forbidden: bool = False  # by our macaroon


class Seller(Protocol):
    """An lnd with a wallet of its own, from which channels are opened."""

    async def wallet(self) -> SellerWallet:
        """Return the seller's keys, coins and chain."""
        ...

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        """Return whether the peer is connected; try these HOST:PORT until it is."""
        ...

    async def features(self, pubkey: str) -> frozenset[int] | None:
        """Return the feature bits of a connected peer; None while nobody knows them."""
        ...

    async def find(self, order_id: str, coins: Sequence[Coin]) -> Opening:
        """Return what became of the opening for an order that reserved these coins."""
        ...

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        """Open a channel to a connected peer; return once both have signed it.

        A refusal may be of this call alone, for an earlier one is under way: `find`
        tells. After SellerAway the channel may come all the same.
        """
        ...

    async def closed(self) -> list[ClosedChannel]:
        """List channels that are closed, or being closed."""
        ...

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        """List transactions that spend these coins, and those that spend their change.

        Unconfirmed ones, and those of blocks since then. One that another has replaced
        may be among them, until that one is confirmed.
        """
        ...

    async def bump(self, outpoint: Outpoint, fee: Sats) -> BumpRefused | None:
        """Spend an unconfirmed output of the wallet's to itself, with that fee.

        Asked again with a higher fee, the transaction of before is replaced.
        """
        ...

    async def denied(self) -> list[str]:
        """List what our macaroon may not do, of what bumps and conflicts need."""
        ...

    async def address(self) -> str:
        """Return a new address of the wallet, to fill it."""
        ...

    async def close(self) -> None:
        """Release the connections; whatever is asked next opens them again."""
        ...
