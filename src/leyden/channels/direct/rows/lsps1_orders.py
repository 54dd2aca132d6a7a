"""Orders over LSPS1: their clients' requests, and counts of unpaid ones."""

from collections.abc import Collection

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.values import Struct

sql = SqlFile(__file__)


class Lsps1Order(Struct, frozen=True, kw_only=True):
    """The fields of an LSPS1 order that other direct orders do not have."""

    order_id: str
    source: Transport
    address: str  # of an HTTP client, in the form that is counted
    confirmations: int
    within_blocks: int
    token: str | None


class Lsps1Orders:
    """The rows of lsps1_order."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, order: Lsps1Order) -> None:
        """Store the LSPS1 fields of a new order."""
        await self._run(
            sql.add,
            order_id=order.order_id,
            source=str(order.source),
            address=order.address,
            confirmations=order.confirmations,
            within_blocks=order.within_blocks,
            token=order.token,
        )

    async def find(self, order_id: str) -> Lsps1Order | None:
        """Return an order's LSPS1 fields; None if it is not from LSPS1."""
        rows = await self._run(sql.get, order_id=order_id)
        return _order_of(rows[0]) if rows else None

    async def of_orders(self, order_ids: Collection[str]) -> dict[str, Lsps1Order]:
        """Return the LSPS1 orders among these orders, by id."""
        rows = await self._run(sql.of_orders, order_ids=tuple(order_ids))
        return {each.order_id: each for each in map(_order_of, rows)}

    async def delete(self, order_id: str) -> None:
        """Delete an order that nothing else refers to, with its status changes."""
        for each in (sql.delete_moves, sql.delete, sql.delete_order):
            await self._run(each, order_id=order_id)

    async def unpaid_of_peer(self, peer: str, source: Transport) -> tuple[int, Sats]:
        """Return number and capacity of unpaid orders for a node from this source."""
        rows = await self._run(sql.unpaid_of_peer, peer=peer, source=str(source))
        return int(rows[0][0]), Sats(int(rows[0][1]))

    async def unpaid_of_address(self, address: str) -> int:
        """Return how many unpaid orders came from an address."""
        rows = await self._run(sql.unpaid_of_address, address=address)
        return int(rows[0][0])

    async def unpaid(self) -> int:
        """Return how many orders wait for their payment."""
        return int((await self._run(sql.unpaid))[0][0])

    async def reserved(self) -> Sats:
        """Return the coins that orders without a channel reserve."""
        return Sats(int((await self._run(sql.reserved))[0][0]))


def _order_of(row: Row) -> Lsps1Order:
    order_id, source, address, confirmations, within_blocks, token = row
    return Lsps1Order(
        order_id=order_id,
        source=Transport(source),
        address=address,
        confirmations=confirmations,
        within_blocks=within_blocks,
        token=token,
    )
