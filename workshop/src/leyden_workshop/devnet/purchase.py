"""Buying a channel from the platform, with any payer and any buyer."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from leyden.errors import Conflict, LeydenError
from leyden.values import Struct
from leyden_workshop.devnet.buyers import Buyer
from leyden_workshop.devnet.calls import Calls
from leyden_workshop.devnet.waiting import until

_STEPS = ("waiting_payment", "creating", "created", "submitted", "filled")
_OVER = frozenset({"expired", "failed", "cancelled"})


def to_pay(order: Mapping[str, Any]) -> str:
    """Return what an order costs, and who pays it."""
    line = f"order {order['order_id']}: "
    if order["amount_due"]:
        line += f"{order['amount_due']:,} sat to pay over Lightning"
    else:
        line += "nothing to pay"
    if order["credit_used"]:
        line += f"; credit of earlier orders pays {order['credit_used']:,} sat"
    return line


class Purchase(Struct, frozen=True, kw_only=True):
    """The parties of a purchase, and the callback that reports progress."""

    call: Calls  # the platform's API
    pay: Callable[[str], Awaitable[object]]  # an invoice; returns once it is settled
    buyer: Buyer
    tell: Callable[[str], None]

    async def buy(self, capacity: int) -> tuple[str, dict[str, Any]]:
        """Buy a channel; return the order's id and the channel.

        Raise Conflict if a step does not succeed. An order whose ticket could not
        be registered is cancelled, so that what was paid for it becomes credit and
        is not lost in an order that nobody will use.
        """
        order = await self.call("POST", "/flow/create", {"capacity": capacity})
        try:
            ticketed = await self._pay(order)
            before = {each["channel_point"] for each in await self.buyer.channels()}
            await self.buyer.register(ticketed["sidecar_ticket"])
        except (LeydenError, asyncio.CancelledError):
            with contextlib.suppress(LeydenError):
                wish = {"order_id": order["order_id"]}
                await self.call("POST", "/flow/cancel", wish)
            raise
        self.tell("the buyer registered the ticket")
        await self._wait_for_status("submitted", order)
        self.tell("the auction has the bid")
        await self._wait_for_status("filled", order)
        self.tell("matched; the channel's transaction is published")
        return order["order_id"], await self._active(before)

    async def _pay(self, order: dict[str, Any]) -> dict[str, Any]:
        """Pay the order if needed; return it with its ticket."""
        if not order["lightning_invoice"]:
            # Credit covers it, or the account is charged later.
            self.tell(to_pay(order))
            ticketed = await self._wait_for_status("created", order)
            self.tell("paid from credit or the account; the ticket is created")
            return ticketed
        self.tell(to_pay(order))
        paying = asyncio.ensure_future(self.pay(order["lightning_invoice"]))
        try:
            ticketed = await self._wait_for_status("created", order, paying)
            self.tell("paid over Lightning; the ticket is created")
            await paying
        finally:
            paying.cancel()
        return ticketed

    async def _wait_for_status(
        self, wanted: str, order: dict[str, Any], *besides: "asyncio.Future[Any]"
    ) -> dict[str, Any]:
        """Wait until an order has the given status or a later one."""
        found: dict[str, Any] = {}

        async def is_reached() -> bool:
            nonlocal found
            wish = {"order_id": order["order_id"]}
            found = await self.call("POST", "/flow/status", wish)
            for task in besides:
                if task.done():
                    task.result()  # shows why, if it failed
            if found["status"] in _OVER:
                raise Conflict(f"the order is {found['status']}")
            return _STEPS.index(found["status"]) >= _STEPS.index(wanted)

        await until(is_reached, f"the order did not become {wanted}")
        return found

    async def _active(self, before: set[str]) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        async def is_reached() -> bool:
            nonlocal found
            found = [
                each
                for each in await self.buyer.channels()
                if each["active"] and each["channel_point"] not in before
            ]
            return bool(found)

        await until(is_reached, "the channel did not become active")
        return found[0]
