"""Orders in every state, paid on both rails, at a guest of the town."""

from pathlib import Path
from typing import Any

from leyden.channels.tickets.simulated import SimulatedMarket
from tests.channels.rules.test_orders import an_order
from tests.stories.guest import Guest
from tests.stories.platform import Owned

CAPACITY = 500_000
_LIVES_S = "LEYDEN_ORDER_LIVES_S"


class Orders:
    """An organization's orders by name, and the market that they are made at."""

    def __init__(self, guest: Guest, payer: Owned) -> None:
        self._guest = guest
        self._payer = payer
        self._made: dict[str, dict[str, Any]] = {}

    @property
    def market_file(self) -> Path:
        return self._guest.home / "tickets.json"

    @property
    def market(self) -> SimulatedMarket:
        return SimulatedMarket(self.market_file)

    async def make_all(self) -> None:
        """Have one in each state, and some that will be paid or filled later."""
        await self._lapse("expired")
        for name in ("lightning", "chain", "submitted", "filled", "matched later"):
            await self.create(name)
            pay = self.pay_on_chain if name == "chain" else self.pay
            await pay(name)
            await self.become(name, "created")
        for name in ("submitted", "filled", "matched later"):
            assert self.market.register(await self._ticket(name))
        self.match("filled")
        for name in ("waiting", "paid later", "paid on chain later"):
            await self.create(name)
        await self.create("failed")
        ticket = await self.market.offer(self.id("failed"), an_order().quote)
        assert self.market.cancel(ticket.text)  # type: ignore[union-attr]
        await self.pay_on_chain("failed")
        await self.create("cancelled")
        cancelled = {"order_id": self.id("cancelled")}
        await self._guest.api("POST", "/flow/cancel", cancelled)
        await self.are(
            {
                **dict.fromkeys(("lightning", "chain"), "created"),
                **dict.fromkeys(("submitted", "matched later"), "submitted"),
                **{name: name for name in ("expired", "filled", "failed", "cancelled")},
            }
        )
        await self._guest.spend_credit()  # of the order that failed
        assert await self.status("waiting") == "waiting_payment"

    async def create(self, name: str) -> None:
        wish = {"capacity": CAPACITY}
        self._made[name] = await self._guest.api("POST", "/flow/create", wish)

    async def pay(self, name: str) -> None:
        bill = {"payment_request": self._made[name]["lightning_invoice"]}
        paid = await self._payer.call("POST", "/v1/channels/transactions", bill)
        assert paid["payment_error"] == "", (name, paid["payment_error"])

    async def pay_on_chain(self, name: str) -> None:
        order = self._made[name]
        due = str(order["amount_due"])
        await self._guest.run("dev", "fund", order["onchain_address"], due)
        await self._guest.run("dev", "mine", "6")

    def match(self, name: str) -> None:
        """Fill an order whose ticket was registered."""
        text = self._made[name]["sidecar_ticket"]
        assert self.market.match(text)

    async def status(self, name: str) -> str:
        return str((await self._told(name))["status"])

    async def become(self, name: str, wanted: str) -> None:
        async def is_reached() -> bool:
            return await self.status(name) == wanted

        await self._guest.until(
            f"the order {name} is {wanted}", is_reached, seconds=100
        )

    async def are(self, wanted: dict[str, str]) -> None:
        """Wait until each has the status that is wanted."""
        for name, status in wanted.items():
            await self.become(name, status)

    async def _lapse(self, name: str) -> None:
        await self._guest.stop()
        self._guest.environment[_LIVES_S] = "1"
        await self._guest.up()
        await self.create(name)
        await self.become(name, "expired")
        await self._guest.stop()
        del self._guest.environment[_LIVES_S]
        await self._guest.up()

    async def _ticket(self, name: str) -> str:
        self._made[name] = await self._told(name)
        return str(self._made[name]["sidecar_ticket"])

    async def _told(self, name: str) -> dict[str, Any]:
        which = {"order_id": self.id(name)}
        found: dict[str, Any] = await self._guest.api("POST", "/flow/status", which)
        return found

    def id(self, name: str) -> str:
        return str(self._made[name]["order_id"])
