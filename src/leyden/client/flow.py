"""Channels and the money for them: quotes, orders, coupons, credit."""

from collections.abc import Callable, Collection, Iterator
from typing import Final

import msgspec

from leyden.client.calls import Calls
from leyden.client.waiting import until

_LOOK_EVERY_S: Final = 1.0


class Quote(msgspec.Struct, kw_only=True):
    """What a channel costs, in satoshis."""

    service_fee: int
    pool_fee: int
    self_chan_balance_fee: int
    total_fee: int
    amount_due: int
    capacity: int
    self_chan_balance: int
    lease_duration_blocks: int
    rate_fixed: int
    rate_bps: int
    credit_used: int


class _OrderFields(msgspec.Struct, kw_only=True):
    order_id: str
    creation_date: str
    status: str
    paid: bool
    order_nonce: str
    capacity: int
    self_chan_balance: int
    lease_duration_blocks: int
    node_tier: str
    rate_fixed: int
    sidecar_ticket: str
    onchain_address: str
    lightning_invoice: str
    service_fee: int
    pool_fee: int
    self_chan_balance_fee: int
    total_fee: int
    amount_due: int


class Order(_OrderFields, kw_only=True):
    """An order. Its ticket is a bearer instrument: keep it to yourself."""

    credit_used: int


class CancelledOrder(_OrderFields, kw_only=True):
    """An order that was given up."""

    credit_refund: int


class Coupon(msgspec.Struct, kw_only=True):
    """A coupon; `order_id` is its id."""

    amount: int
    order_id: str
    claimed: bool


class Redeemed(msgspec.Struct, kw_only=True):
    """A coupon that became credit."""

    coupon: str
    credit: int
    coupon_amount: int


class Balance(msgspec.Struct, kw_only=True):
    """What the account comes to, and what of it may be spent."""

    balance: int
    credit: int


class LedgerEntry(msgspec.Struct, kw_only=True):
    """One movement of money."""

    id: int
    time: str
    what: str
    source: str
    target: str
    amount: int
    order_id: str
    note: str


class _Orders(msgspec.Struct):
    orders: list[Order]
    next_cursor: str


class _Ledger(msgspec.Struct):
    entries: list[LedgerEntry]
    next_cursor: int


class _Coupons(msgspec.Struct):
    coupons: list[Coupon]


class Flow:
    """Buying channels for one organization."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def quote(self, capacity: int, **wish: int | str) -> Quote:
        """Price a channel.

        `wish`: self_chan_balance, lease_duration_blocks, node_tier, bps.
        """
        body = {"capacity": capacity, **wish}
        return self._calls.post("/flow/quote", Quote, body)

    def create(
        self, capacity: int, *, key: str | None = None, **wish: int | str
    ) -> Order:
        """Order a channel; `wish` as for a quote, `key` is an Idempotency-Key."""
        body = {"capacity": capacity, **wish}
        return self._calls.post_once("/flow/create", Order, body, key)

    def status(self, order_id: str) -> Order:
        """Give an order as it stands."""
        return self._calls.post("/flow/status", Order, {"order_id": order_id})

    def wait(
        self,
        order_id: str,
        statuses: Collection[str],
        *,
        within_s: float = 3600,
        told: Callable[[Order], object] = lambda _: None,
    ) -> Order:
        """Look until the order has one of these statuses; TimeoutError after a while.

        `told` is called with what is seen, each time.
        """
        return until(
            "the order",
            lambda: self.status(order_id),
            statuses,
            every_s=_LOOK_EVERY_S,
            within_s=within_s,
            told=told,
        )

    def cancel(self, order_id: str, *, key: str | None = None) -> CancelledOrder:
        """Give an order up; what was paid becomes credit."""
        body = {"order_id": order_id}
        return self._calls.post_once("/flow/cancel", CancelledOrder, body, key)

    def orders(self, *, at_a_time: int = 50) -> Iterator[Order]:
        """Go through all orders, newest first."""
        cursor: str | None = None
        while True:
            page = self._calls.get(
                "/flow/orders", _Orders, limit=at_a_time, cursor=cursor
            )
            yield from page.orders
            if not (cursor := page.next_cursor):
                return

    def coupons(self) -> list[Coupon]:
        """List the coupons, used and unused."""
        return self._calls.get("/flow/coupons", _Coupons).coupons

    def redeem(self, coupon: str, *, key: str | None = None) -> Redeemed:
        """Turn a coupon into credit."""
        body = {"coupon": coupon}
        return self._calls.post_once("/flow/redeem", Redeemed, body, key)

    def balance(self) -> Balance:
        """Give what the account comes to."""
        return self._calls.get("/flow/balance", Balance)

    def ledger(self, *, at_a_time: int = 500) -> Iterator[LedgerEntry]:
        """Go through every movement of the account's money, newest first."""
        cursor: int | None = None
        while True:
            page = self._calls.get(
                "/flow/ledger", _Ledger, limit=at_a_time, cursor=cursor
            )
            yield from page.entries
            if not (cursor := page.next_cursor):
                return
