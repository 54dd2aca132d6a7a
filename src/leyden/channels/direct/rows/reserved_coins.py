"""Coins of the seller's wallet that orders reserve, each for one order."""

from collections.abc import Collection, Iterable, Sequence

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint

sql = SqlFile(__file__)


class ReservedCoins:
    """The rows of reserved_coin."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, order_id: str, coins: Sequence[Coin]) -> bool:
        """Reserve coins for an order; return False if another order has one of them."""
        added = await self._run.many(
            sql.add,
            [
                {
                    "txid": coin.outpoint.txid,
                    "vout": coin.outpoint.vout,
                    "order_id": order_id,
                    "sats": coin.sats,
                }
                for coin in coins
            ],
        )
        return added == len(coins)

    async def all_(self) -> set[Outpoint]:
        """Return every reserved coin."""
        return {coin.outpoint for coin in await self.with_sats()}

    async def with_sats(self) -> list[Coin]:
        """Return every reserved coin with its amount."""
        return _coins(await self._run(sql.all))

    async def of_order(self, order_id: str) -> list[Coin]:
        """Return the coins of an order."""
        return _coins(await self._run(sql.of_order, order_id=order_id))

    async def of_unpaid(self, organization_id: str) -> list[Coin]:
        """Return the coins that an organization's unpaid orders hold."""
        return _coins(await self._run(sql.of_unpaid, organization_id=organization_id))

    async def release(self, order_ids: Collection[str]) -> None:
        """Release the coins of these orders."""
        await self._run(sql.release, order_ids=tuple(order_ids))


def _coins(rows: Iterable[Row]) -> list[Coin]:
    return [
        Coin(sats=Sats(sats), outpoint=Outpoint(txid, vout))
        for txid, vout, sats in rows
    ]
