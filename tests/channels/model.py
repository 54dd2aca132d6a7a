"""What should happen, in dictionaries: the reference that the real thing is held to.

No database, no tasks, no treasury. Written from the decisions, not from the program:
where the two disagree, one of them is wrong.
"""

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
LIVES = timedelta(hours=1)
WAITS = timedelta(days=3)
PATIENCE = timedelta(minutes=30)


def confirmations_needed(sats: int) -> int:
    return 1 if sats < 1_000_000 else 2 if sats < 5_000_000 else 3


@dataclass
class Coin:
    """An output to an order's address."""

    order: str
    sats: int
    height: int | None = None  # None: no block has it
    gone: bool = False
    seen: bool = True
    booked: bool = False
    was_booked: bool = False  # at some time
    to_order: int = 0


@dataclass
class Sale:
    """An order."""

    buyer: str
    total: int
    credit_used: int
    charged: int
    expires: datetime
    keeps: bool = False  # what the auction leaves is ours
    status: str = "waiting_payment"
    held: int = 0
    promised: int = 0
    invoice: str = "open"  # open, held, settled, cancelled; none: nothing to pay
    paid_at: datetime | None = None
    refund: int = 0
    check_at: datetime | None = None
    try_at: datetime | None = None

    @property
    def to_be_paid(self) -> int:
        return self.total - self.credit_used - self.charged


@dataclass
class Model:
    """Everything there is."""

    now: datetime
    most_owed: dict[str, int]
    credit: Counter[str] = field(default_factory=Counter)
    owed: Counter[str] = field(default_factory=Counter)
    receivable: Counter[str] = field(default_factory=Counter)
    received: int = 0
    spent: int = 0
    sales: dict[str, Sale] = field(default_factory=dict)
    coins: dict[str, Coin] = field(default_factory=dict)
    height: int = 0
    market_away: bool = False
    market_refuses: bool = False
    keeps_unused: bool = False

    # What customers do.

    def create(self, name: str, who: str, total: int) -> bool:
        keeps = self.keeps_unused
        return self.add(name, who, total, functools.partial(Sale, keeps=keeps))

    def add(
        self, name: str, who: str, total: int, sale_of: Callable[..., Sale]
    ) -> bool:
        used = min(self.credit[who], total)
        charged = 0
        if who in self.most_owed:
            charged = total - used
            if charged and self.owed[who] + charged > self.most_owed[who]:
                return False
        lives = self.now + LIVES
        sale = sale_of(who, total, used, charged, lives)
        self.credit[who] -= used
        self.owed[who] += charged
        sale.held = used + charged
        self.sales[name] = sale
        if sale.to_be_paid:
            sale.check_at = sale.expires
        else:
            sale.invoice = "none"
        self._if_all_is_held(sale)
        self.settle()
        return True

    def redeem(self, who: str, sats: int) -> None:
        self._give(who, sats)

    def cancel(self, name: str) -> bool:
        sale = self.sales[name]
        if sale.status == "cancelled":
            return True
        if sale.status in {"creating", "expired", "filled"}:
            return False
        if sale.status == "failed":
            sale.status = "cancelled"
            return True
        self._end(sale, "cancelled")
        return True

    # What the world does.

    def pay(self, name: str, sats: int) -> None:
        sale = self.sales[name]
        assert (sale.status, sale.invoice) == ("waiting_payment", "open")
        sale.invoice, sale.promised = "held", sats
        sale.held += sats
        self._if_all_is_held(sale)
        self.settle()

    def send(self, coin: str, name: str, sats: int) -> None:
        self.coins[coin] = Coin(name, sats)
        self.settle()

    def replace(self, coin: str, new: str, sats: int) -> None:
        self.coins[coin].gone = True
        self.coins[new] = Coin(self.coins[coin].order, sats)
        self.settle()

    def mine(self, blocks: int) -> None:
        for coin in self.coins.values():
            if coin.height is None and not coin.gone:
                coin.height = self.height + 1
        self.height += blocks
        self.settle()

    def reorganise(self, depth: int, drop: str | None) -> None:
        self.height -= depth
        for name, coin in self.coins.items():
            if coin.height is not None and coin.height > self.height:
                coin.height = None
                coin.gone = name == drop
        self.settle()

    def tick(self, passed: timedelta) -> None:
        self.now += passed
        self.settle()

    def register(self, name: str) -> None:
        assert self.sales[name].status == "created"
        self.sales[name].status = "submitted"

    def match(self, name: str, left: int) -> None:
        """A seller is found; the auction leaves so much of its share."""
        sale = self.sales[name]
        assert sale.status == "submitted"
        sale.status = "filled"
        back = 0 if sale.keeps else left
        self.spent += sale.held - back
        sale.held = 0
        to_account = min(sale.charged, back, self.owed[sale.buyer])
        self.owed[sale.buyer] -= to_account
        self._give(sale.buyer, back - to_account)

    # What follows.

    def settle(self) -> None:
        for coin in self.coins.values():
            self._look_at(coin, self.sales[coin.order])
        for sale in self.sales.values():
            self._check(sale)
        for sale in self.sales.values():
            self._try(sale)

    def _look_at(self, coin: Coin, sale: Sale) -> None:
        deep = self.height - coin.height + 1 if coin.height is not None else 0
        needed = confirmations_needed(max(sale.to_be_paid, coin.sats))
        if coin.booked and deep < 1:
            self._take_back(coin, sale)
        elif not coin.booked and deep >= needed:
            self._book(coin, sale)

    def _book(self, coin: Coin, sale: Sale) -> None:
        lacking = sale.total - sale.held if sale.status == "waiting_payment" else 0
        coin.was_booked = True
        coin.booked, coin.to_order = True, min(coin.sats, max(lacking, 0))
        self.received += coin.sats
        sale.held += coin.to_order
        self._give(sale.buyer, coin.sats - coin.to_order)
        self._if_all_is_held(sale)

    def _take_back(self, coin: Coin, sale: Sale) -> None:
        coin.booked = False
        self.received -= coin.sats
        rest = coin.sats
        if sale.status == "waiting_payment" or self._is_reversible(sale):
            sale.held -= coin.to_order
            rest -= coin.to_order
        elif sale.status in {"created", "submitted", "filled"}:
            self.receivable[sale.buyer] += coin.to_order
            rest -= coin.to_order
        taken = min(rest, self.credit[sale.buyer])
        self.credit[sale.buyer] -= taken
        self.receivable[sale.buyer] += rest - taken
        if self._is_reversible(sale) and sale.held < sale.total:
            sale.status, sale.paid_at, sale.try_at = "waiting_payment", None, None
            again = max(self.now, sale.expires)
            sale.check_at = min(sale.check_at or again, again)

    def _is_reversible(self, sale: Sale) -> bool:
        """Whether the chain can make it wait for its payment again."""
        return sale.status == "creating"

    def _give(self, who: str, sats: int) -> None:
        repaid = min(sats, self.receivable[who])
        self.receivable[who] -= repaid
        self.credit[who] += sats - repaid

    def _if_all_is_held(self, sale: Sale) -> None:
        if sale.status == "waiting_payment" and sale.held >= sale.total:
            sale.status, sale.paid_at, sale.try_at = "creating", self.now, self.now
            if sale.invoice == "open":
                sale.invoice = "cancelled"

    def _check(self, sale: Sale) -> None:
        if sale.check_at is None or self.now < sale.check_at:
            return
        if sale.status != "waiting_payment":
            sale.check_at = None
            return
        coming = sum(
            coin.sats
            for coin in self.coins.values()
            if self.sales[coin.order] is sale
            and not coin.booked
            and not coin.gone
            and (coin.height is not None or coin.was_booked)
        )
        if sale.held + coming >= sale.total and self.now < sale.expires + WAITS:
            sale.check_at = self.now + MINUTE
        else:
            sale.check_at = None
            self._end(sale, "expired")

    def _try(self, sale: Sale) -> None:
        if sale.status != "creating" or sale.try_at is None or self.now < sale.try_at:
            return
        assert sale.paid_at is not None
        if self.market_away and self.now - sale.paid_at < PATIENCE:
            sale.try_at = self.now + MINUTE
        elif self.market_away or self.market_refuses:
            self._end(sale, "failed")
        else:
            if sale.promised:
                sale.invoice = "settled"
                self.received += sale.promised
                sale.promised = 0
            sale.status = "created"
            self._give(sale.buyer, sale.held - sale.total)
            sale.held = sale.total

    def pay_bill(self, who: str, sats: int) -> bool:
        """A bill was paid outside; False when it is more than what is owed."""
        if sats > self.owed[who]:
            return False
        self.owed[who] -= sats
        return True

    def _end(self, sale: Sale, status: str) -> None:
        went_back = sale.invoice == "cancelled" and sale.held < sale.total
        if sale.promised or went_back:
            sale.paid_at = None
        to_account = min(sale.charged, sale.held - sale.promised, self.owed[sale.buyer])
        before = self.credit[sale.buyer]
        self.owed[sale.buyer] -= to_account
        self._give(sale.buyer, sale.held - sale.promised - to_account)
        sale.refund = self.credit[sale.buyer] - before
        sale.held = sale.promised = 0
        sale.status = status
        if sale.invoice in {"open", "held"}:
            sale.invoice = "cancelled"
