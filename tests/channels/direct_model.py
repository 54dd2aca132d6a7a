"""What should happen to orders that name a node, beside those with tickets.

Each gets one coin, in which its whole channel fits: at once, while its organization's
unpaid ones have a third of them at most, and else when it is paid. There are always
enough, so it never matters who comes first. What the seller was asked for is
in one of four places: nowhere, with a peer that does not respond, signed but published
nowhere, or published. Only the last is ever charged for.
"""

import functools
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.channels.model import Model, Sale

HELD_WAITS = timedelta(minutes=15)
ELSE_WAITS = timedelta(days=1)
LOCKED = timedelta(minutes=9)  # from when it is asked, an opening is seen by its coins
GONE = timedelta(minutes=35)  # and from then on nothing can come of it
SOON = timedelta(seconds=1)
LOCK_LEFT = 40  # blocks below which no channel is opened for a held payment
LOCK = 60  # blocks for which a payment over Lightning is locked
GIVEN_UP = 12  # blocks before its end at which lnd lets a held payment go
VBYTES = 154  # of the funding transaction, as the fake makes it
OVER = frozenset({"expired", "failed", "cancelled", "filled"})


@dataclass
class DirectSale(Sale):
    """An order for a node."""

    peer: str = ""
    has_coin: bool = False
    premium: int = 0
    max_fee: int = 0  # charged for the funding transaction
    opening: str = "none"  # frozen, unpublished, published
    asked_at: datetime | None = None  # first, since it is submitted
    fee: int = 0  # of the funding transaction
    lock_ends: int = 0
    closed: bool = False
    spent: int = 0  # of what was held for it
    loss: int = 0
    to_account: int = 0  # of the charge, lowered again
    extensions: int = 0  # of its lease
    extension_fees: int = 0
    extension_charged: int = 0


@dataclass
class Sellers:
    """The seller and its peers."""

    coins: int
    fee_sat_per_vb: int = 10
    away: bool = False
    refuses: bool = False
    freezes: bool = False
    publishes: bool = True
    online: set[str] = field(default_factory=set)


@dataclass
class DirectModel(Model):
    """Everything there is, with a seller of channels."""

    seller: Sellers = field(default_factory=lambda: Sellers(coins=0))
    closed_early: Counter[str] = field(default_factory=Counter)

    def direct(self) -> dict[str, DirectSale]:
        return {
            name: each
            for name, each in self.sales.items()
            if isinstance(each, DirectSale)
        }

    def coins_for_sale(self) -> int:
        """Count coins that no channel has locked or spent."""
        return self.seller.coins - sum(
            each.opening != "none" for each in self.direct().values()
        )

    def reserved(self) -> int:
        return sum(
            each.has_coin and each.status not in OVER for each in self.direct().values()
        )

    def locks_an_unknown(self) -> bool:
        """Whether an opening has locked the coin of an order that is over."""
        return any(
            each.status in OVER and each.opening in {"frozen", "unpublished"}
            for each in self.direct().values()
        )

    # What customers do.

    def create_direct(
        self, name: str, who: str, peer: str, *, premium: int, max_fee: int, total: int
    ) -> bool:
        if self.seller.away:
            return False
        if any(
            (each.buyer, each.peer) == (who, peer) and each.status not in OVER
            for each in self.direct().values()
        ):
            return False

        held = sum(
            each.buyer == who and each.status == "waiting_payment" and each.has_coin
            for each in self.direct().values()
        )
        is_within_share = 3 * (held + 1) <= self.coins_for_sale()
        covered = min(self.credit[who], total) == total or who in self.most_owed
        sale = functools.partial(
            DirectSale,
            peer=peer,
            has_coin=covered or is_within_share,
            premium=premium,
            max_fee=max_fee,
        )
        return self.add(name, who, total, sale)

    def cancel(self, name: str) -> bool:
        sale = self.sales[name]
        if isinstance(sale, DirectSale) and sale.status == "submitted":
            return False
        return super().cancel(name)

    # What the world does.

    def pay(self, name: str, sats: int) -> None:
        if isinstance(sale := self.sales[name], DirectSale):
            sale.lock_ends = self.height + LOCK
        super().pay(name, sats)

    def lock_is_over(self, sale: DirectSale) -> bool:
        return sale.invoice == "held" and sale.lock_ends - self.height <= GIVEN_UP

    def let_go(self, name: str) -> None:
        """A payment's lock is over: the treasury's lnd cancels it by itself."""
        sale = self.direct()[name]
        if sale.status in {"creating", "created"}:
            self._end(sale, "failed")
        else:
            sale.held -= sale.promised
            sale.promised = 0
            sale.invoice = "cancelled"
        self.settle()

    def thaw(self, *, refuses: bool) -> None:
        self.seller.freezes = False
        signed = "published" if self.seller.publishes else "unpublished"
        for sale in self.direct().values():
            if sale.opening == "frozen":
                sale.opening = "none" if refuses else signed

    def publish(self) -> None:
        for sale in self.direct().values():
            if sale.opening == "unpublished":
                sale.opening = "published"

    def lose(self, name: str) -> None:
        """Another transaction has the coin of a published channel, for good."""
        sale = self.direct()[name]
        sale.status = "failed"
        back = sale.spent + sale.extension_fees
        self.spent -= back + sale.loss
        left = sale.charged + sale.extension_charged - sale.to_account
        to_account = min(left, back, self.owed[sale.buyer])
        self.owed[sale.buyer] -= to_account
        before = self.credit[sale.buyer]
        self._give(sale.buyer, back - to_account)
        sale.refund += self.credit[sale.buyer] - before

    def extend(self, name: str, price: int) -> bool:
        """Extend a lease if credit and corporate account pay for it."""
        sale = self.direct()[name]
        who = sale.buyer
        used = min(self.credit[who], price)
        charged = price - used
        if charged and (
            who not in self.most_owed or self.owed[who] + charged > self.most_owed[who]
        ):
            return False
        self.credit[who] -= used
        self.owed[who] += charged
        sale.extension_charged += charged
        sale.extensions += 1
        sale.extension_fees += price
        self.spent += price
        return True

    def close_channel(self, name: str) -> None:
        sale = self.direct()[name]
        sale.closed = True
        self.closed_early[sale.buyer] += 1

    # What follows.

    def _is_reversible(self, sale: Sale) -> bool:
        waits = isinstance(sale, DirectSale) and sale.status == "created"
        return waits or super()._is_reversible(sale)

    def _try(self, sale: Sale) -> None:
        if not isinstance(sale, DirectSale):
            super()._try(sale)
        elif (
            sale.status in {"creating", "created", "submitted"}
            and sale.try_at is not None
            and self.now >= sale.try_at
        ):
            sale.try_at = self.now + SOON
            self._open(sale)

    def _open(self, sale: DirectSale) -> None:
        assert sale.paid_at is not None
        waits = HELD_WAITS if sale.invoice == "held" else ELSE_WAITS
        waited = self.now - sale.paid_at >= waits
        short = sale.invoice == "held" and sale.lock_ends - self.height < LOCK_LEFT
        if self.seller.away:
            if waited and sale.status != "submitted":
                self._end(sale, "failed")
        elif sale.opening == "published":
            self._fill(sale)
        elif sale.opening == "unpublished":
            if short:
                self._end(sale, "failed")
        elif sale.opening == "none":
            asked_ago = timedelta(0)
            if sale.status == "submitted" and sale.asked_at is not None:
                asked_ago = self.now - sale.asked_at
            may_come = LOCKED <= asked_ago < GONE  # it may be under way all the same
            if sale.held < sale.total or short or (waited and not may_come):
                self._end(sale, "failed")
            elif (
                not may_come
                and self.seller.fee_sat_per_vb * 240 <= sale.max_fee
                and (sale.has_coin or not self.locks_an_unknown())
            ):
                sale.has_coin = True
                self._ask(sale, anew=asked_ago >= GONE)

    def _ask(self, sale: DirectSale, *, anew: bool) -> None:
        if anew or sale.peer not in self.seller.online:
            sale.status = "created"
            return
        if sale.status != "submitted":
            sale.status, sale.asked_at = "submitted", self.now
        if self.seller.refuses:
            self._end(sale, "failed")
            return
        sale.fee = self.seller.fee_sat_per_vb * VBYTES
        if self.seller.freezes:
            sale.opening = "frozen"
        elif self.seller.publishes:
            sale.opening = "published"
            self._fill(sale)
        else:
            sale.opening = "unpublished"

    def _fill(self, sale: DirectSale) -> None:
        sale.status = "filled"
        if sale.promised:
            sale.invoice = "settled"
            self.received += sale.promised
            sale.promised = 0
        surplus = max(0, sale.held - sale.total)
        self._give(sale.buyer, surplus)
        held = sale.held - surplus
        cost = sale.premium + sale.fee
        back = min(sale.max_fee - sale.fee, held - min(cost, held))
        loss = max(0, cost - held)
        sale.spent, sale.loss = held - back, loss
        self.spent += sale.spent + loss
        sale.held = 0
        to_account = min(sale.charged, back, self.owed[sale.buyer])
        sale.to_account = to_account
        self.owed[sale.buyer] -= to_account
        self._give(sale.buyer, back - to_account)
