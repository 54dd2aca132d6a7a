"""Purchases of channels from other LSPs."""

from collections.abc import Iterable
from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile, Value
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.purchases import LspPurchase, LspPurchaseStatus
from leyden.errors import Stale
from leyden.values import Struct

sql = SqlFile(__file__)


class PurchaseSum(Struct, frozen=True, kw_only=True):
    """All purchases with one status."""

    purchases: int
    capacity: Sats
    price: Sats
    routing_fees: Sats


class Purchases:
    """The rows of purchase."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, purchase: LspPurchase) -> None:
        """Store a new purchase."""
        await self._run(sql.add, **_row(purchase))

    async def find(self, order_id: str) -> LspPurchase | None:
        """Return the purchase for an order, if there is one."""
        return (await self.of_orders([order_id])).get(order_id)

    async def of_orders(self, order_ids: Iterable[str]) -> dict[str, LspPurchase]:
        """Return the purchases for these orders, by order id."""
        rows = await self._run(sql.get, order_ids=tuple(order_ids))
        return {str(row[0]): _purchase(row) for row in rows}

    async def save(self, before: LspPurchase, after: LspPurchase) -> None:
        """Store a changed purchase; raise Stale if its status is not as before."""
        row = _row(after)
        changing = {name: row[name] for name in sql.save.parameters - {"was"}}
        if not await self._run(sql.save, **changing, was=str(before.status)):
            raise Stale(f"the purchase for order {before.order_id} moved meanwhile")

    async def has_hash(self, payment_hash: str) -> bool:
        """Return whether an invoice with this payment hash is, or was, to be paid."""
        return bool(await self._run(sql.with_hash, payment_hash=payment_hash))

    async def has_channel(self, channel_point: str) -> bool:
        """Return whether another purchase was delivered as this channel."""
        return bool(await self._run(sql.with_channel, channel_point=channel_point))

    async def lock(self) -> None:
        """Lock the budget until the commit."""
        await self._run(sql.lock)

    async def spent_since(self, since: datetime) -> Sats:
        """Return what was paid since then at most, with routing."""
        rows = await self._run(sql.spent_since, since=to_us(since))
        return Sats(int(rows[0][0]))

    async def earned(self) -> Sats:
        """Add up the service fees of delivered channels."""
        return Sats(int((await self._run(sql.earned))[0][0]))

    async def totals(self) -> dict[LspPurchaseStatus, PurchaseSum]:
        """Add up all purchases, by status."""
        return {
            LspPurchaseStatus(status): PurchaseSum(
                purchases=int(number),
                capacity=Sats(int(capacity)),
                price=Sats(int(price)),
                routing_fees=Sats(int(fees)),
            )
            for status, number, capacity, price, fees in await self._run(sql.totals)
        }


def _row(purchase: LspPurchase) -> dict[str, Value]:
    return {
        "order_id": purchase.order_id,
        "status": str(purchase.status),
        "uri": purchase.uri,
        "lsp_order": purchase.lsp_order,
        "invoice": purchase.invoice,
        "payment_hash": purchase.payment_hash or None,
        "price": purchase.price,
        "routing_limit": purchase.routing_limit,
        "expires": to_us(purchase.expires) if purchase.expires else None,
        "payer": purchase.payer,
        "began": to_us(purchase.began) if purchase.began else None,
        "height": purchase.height,
        "asked": purchase.asked,
        "routing_fee": purchase.routing_fee,
        "paid_at": to_us(purchase.paid_at) if purchase.paid_at else None,
        "channel_point": purchase.channel_point or None,
    }


def _purchase(row: Row) -> LspPurchase:
    (
        order_id,
        status,
        uri,
        lsp_order,
        invoice,
        payment_hash,
        price,
        routing_limit,
        expires,
        payer,
        began,
        height,
        asked,
        routing_fee,
        paid_at,
        channel_point,
    ) = row
    return LspPurchase(
        order_id=order_id,
        status=LspPurchaseStatus(status),
        uri=uri,
        lsp_order=lsp_order,
        invoice=invoice,
        payment_hash=payment_hash or "",
        price=Sats(price),
        routing_limit=Sats(routing_limit),
        expires=None if expires is None else from_us(expires),
        payer=payer,
        began=None if began is None else from_us(began),
        height=height,
        asked=asked,
        routing_fee=Sats(routing_fee),
        paid_at=None if paid_at is None else from_us(paid_at),
        channel_point=channel_point or "",
    )
