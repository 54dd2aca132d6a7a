"""Channel purchases: quotes, orders, coupons and credit."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Final

from leyden.client.calls import Calls, word
from leyden.client.waiting import poll
from leyden.schemas.credit import (
    BalanceAnswer,
    CouponAnswer,
    CouponReference,
    CouponsAnswer,
    LedgerAnswer,
    LedgerEntry,
    Redeemed,
)
from leyden.schemas.flow import (
    CancelledOrder,
    ExtensionAnswer,
    ExtensionQuoteAnswer,
    ExtensionsAnswer,
    OrderAnswer,
    OrderReference,
    OrdersAnswer,
    QuoteAnswer,
)

_LOOK_EVERY_S: Final = 1.0


class Flow:
    """Channel purchases of one organization."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def quote(self, capacity: int, **wish: int | str | bool) -> QuoteAnswer:
        """Return the price of a channel.

        `wish`: self_chan_balance, lease_duration_blocks, node_tier, bps. Or, for a
        channel to a node without a ticket: node, node_id, announce, zero_conf,
        lease_duration_blocks.
        """
        body = {"capacity": capacity, **wish}
        return self._calls.post("/flow/quote", QuoteAnswer, body)

    def create(
        self, capacity: int, *, key: str | None = None, **wish: int | str | bool
    ) -> OrderAnswer:
        """Order a channel; `wish` as for a quote, `key` is an Idempotency-Key."""
        body = {"capacity": capacity, **wish}
        return self._calls.post_once("/flow/create", OrderAnswer, body, key)

    def status(self, order_id: str) -> OrderAnswer:
        """Return an order with its current status."""
        return self._calls.post("/flow/status", OrderAnswer, OrderReference(order_id))

    def get(self, order_id: str) -> OrderAnswer:
        """Return an order with its current status."""
        return self._calls.get(f"/flow/orders/{word(order_id)}", OrderAnswer)

    def wait(
        self,
        order_id: str,
        statuses: Collection[str],
        *,
        within_s: float = 3600,
        on_state: Callable[[OrderAnswer], object] = lambda _: None,
    ) -> OrderAnswer:
        """Poll until the order has one of these statuses, and return it.

        Raise TimeoutError after `within_s`. `on_state` is called with the order
        after each poll.
        """
        return poll(
            "the order",
            lambda: self.status(order_id),
            statuses,
            every_s=_LOOK_EVERY_S,
            within_s=within_s,
            on_state=on_state,
        )

    def cancel(self, order_id: str, *, key: str | None = None) -> CancelledOrder:
        """Cancel an order; what was paid becomes credit."""
        body = OrderReference(order_id)
        return self._calls.post_once("/flow/cancel", CancelledOrder, body, key)

    def orders(
        self,
        *,
        status: str | None = None,
        node_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        at_a_time: int = 50,
    ) -> Iterator[OrderAnswer]:
        """Yield all orders that match, newest first."""
        cursor: str | None = None
        while True:
            page = self._calls.get(
                "/flow/orders",
                OrdersAnswer,
                limit=at_a_time,
                cursor=cursor,
                status=status,
                node_id=node_id,
                created_after=created_after,
                created_before=created_before,
            )
            yield from page.orders
            if not (cursor := page.next_cursor):
                return

    def extension_quote(
        self, order_id: str, lease_duration_blocks: int = 2_016
    ) -> ExtensionQuoteAnswer:
        """Return the price of so many more blocks for an order's lease."""
        path = f"/flow/orders/{word(order_id)}/extend/quote"
        body = {"lease_duration_blocks": lease_duration_blocks}
        return self._calls.post(path, ExtensionQuoteAnswer, body)

    def extend(
        self,
        order_id: str,
        lease_duration_blocks: int = 2_016,
        *,
        max_fee: int | None = None,
        key: str | None = None,
    ) -> ExtensionAnswer:
        """Extend an order's lease, or get an invoice if credit does not cover it."""
        body = {"lease_duration_blocks": lease_duration_blocks}
        if max_fee is not None:
            body["max_fee"] = max_fee
        path = f"/flow/orders/{word(order_id)}/extend"
        return self._calls.post_once(path, ExtensionAnswer, body, key)

    def extensions(self, order_id: str) -> list[ExtensionAnswer]:
        """List the extensions of an order's lease, oldest first."""
        path = f"/flow/orders/{word(order_id)}/extensions"
        return self._calls.get(path, ExtensionsAnswer).extensions

    def auto_extend(
        self, order_id: str, max_fee: int, lease_duration_blocks: int = 2_016
    ) -> OrderAnswer:
        """Extend an order's lease each time before it ends, up to a price."""
        path = f"/flow/orders/{word(order_id)}/auto-extend"
        body = {"max_fee": max_fee, "lease_duration_blocks": lease_duration_blocks}
        return self._calls.post(path, OrderAnswer, body)

    def stop_auto_extend(self, order_id: str) -> OrderAnswer:
        """Let an order's lease end."""
        path = f"/flow/orders/{word(order_id)}/auto-extend"
        return self._calls.delete(path, OrderAnswer)

    def coupons(self) -> list[CouponAnswer]:
        """List coupons, used and unused."""
        return self._calls.get("/flow/coupons", CouponsAnswer).coupons

    def redeem(self, coupon: str, *, key: str | None = None) -> Redeemed:
        """Redeem a coupon for credit."""
        body = CouponReference(coupon)
        return self._calls.post_once("/flow/redeem", Redeemed, body, key)

    def balance(self) -> BalanceAnswer:
        """Return the account's balance and credit."""
        return self._calls.get("/flow/balance", BalanceAnswer)

    def ledger(self, *, at_a_time: int = 500) -> Iterator[LedgerEntry]:
        """Yield all ledger entries, newest first."""
        cursor: int | None = None
        while True:
            page = self._calls.get(
                "/flow/ledger", LedgerAnswer, limit=at_a_time, cursor=cursor
            )
            yield from page.entries
            if not (cursor := page.next_cursor):
                return
