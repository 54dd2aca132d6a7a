"""Channels of the seller in memory, with the transactions that fund them."""

import hashlib

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.rules.fundings import WalletTransaction
from leyden.channels.direct.rules.openings import Coin, Opening, OpeningState
from leyden.channels.rules.payments import Outpoint
from leyden.values import Struct

FEE_VBYTES = 154  # one input, a channel, and change


class OpenedChannel(Struct, kw_only=True):
    """A channel that the fake seller opened, or is opening."""

    wanted: WantedOpening
    point: str
    signed: bool  # else the peer has not answered yet
    published: bool = False
    deferred: bool = False  # it is published when we say so
    since: int = 0  # the height at which it was published, or got out of a block
    block: int = 0  # that has it; 0 is none
    child: WalletTransaction | None = None  # that pays for it
    forgotten: bool = False  # by the wallet
    rival: int = 0  # the block of another transaction with its coins; 0 is none

    @property
    def fee(self) -> int:
        """The fee that its transaction pays to miners."""
        return self.wanted.fee_sat_per_vb * FEE_VBYTES

    @property
    def change(self) -> Coin | None:
        """The change that its transaction pays to the wallet."""
        spent = sum(coin.sats for coin in self.wanted.coins)
        left = spent - self.wanted.capacity - self.fee
        if left <= 0:
            return None
        return Coin(sats=Sats(left), outpoint=Outpoint(self.point.partition(":")[0], 1))

    def opening(self, height: int) -> Opening:
        """Return the opening, as the seller reports it."""
        state = OpeningState.UNPUBLISHED
        if self.published:
            state = OpeningState.PUBLISHED
        return Opening(
            state=state,
            channel_point=self.point,
            fee=Sats(self.fee) if self.published or not self.deferred else None,
            height=height,
        )

    def mine(self, height: int, *, least: int) -> None:
        """Put it into the next block if it pays this much for each vbyte."""
        fee, size = self.fee, FEE_VBYTES
        if self.child:
            fee, size = fee + self.child.fee, size + self.child.vbytes
        if not self.block and fee // size >= least and height > self.since:
            self.block = self.since + 1

    def funding(self, height: int, *, proven: bool) -> WalletTransaction:
        """Return its transaction."""
        return WalletTransaction(
            txid=self.point.partition(":")[0],
            confirmations=height - self.block + 1 if self.block else 0,
            fee=Sats(self.fee),
            vbytes=FEE_VBYTES,
            spends=tuple(each.outpoint for each in self.wanted.coins),
            ours=(self.change,) if self.change else (),
            proven=proven,
        )

    def conflict(self, height: int, *, proven: bool) -> WalletTransaction:
        """Return the other transaction that spent its coin."""
        return WalletTransaction(
            txid=hashlib.sha256(f"rival {self.point}".encode()).hexdigest(),
            confirmations=height - self.rival + 1,
            fee=Sats(1_000),
            vbytes=FEE_VBYTES,
            spends=(self.wanted.coins[0].outpoint,),
            proven=proven,
        )
