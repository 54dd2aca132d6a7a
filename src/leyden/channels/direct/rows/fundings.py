"""Funding transactions of direct channels, and their bumps."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.fundings import Bump, Funding, FundingState, Obstacle
from leyden.channels.direct.rules.openings import Coin
from leyden.channels.rules.payments import Outpoint
from leyden.values import Struct

TAKEN: Final = "taken"

sql = SqlFile(__file__)


class KnownBump(Struct, frozen=True, kw_only=True):
    """A bump that was requested from the seller's lnd."""

    at: datetime
    height: int
    sat_per_vb: int
    fee: Sats
    answer: str  # "taken", or why it was refused; "" is unknown


class Fundings:
    """The rows of funding and funding_bump."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, order_id: str, coins: Iterable[Coin], *, since: int) -> None:
        """Store the funding transaction of an order, which spends these coins."""
        spent = _text(each.outpoint for each in coins)
        await self._run(sql.add, order_id=order_id, coins=spent, since=since)

    async def watched(self, *, after: str = "", limit: int = 500) -> list[Funding]:
        """Return transactions that the chain may still change, ordered by order id."""
        rows = await self._run(sql.watched, after=after, limit=limit)
        return [
            Funding(
                order_id=order_id,
                organization_id=organization_id,
                channel_point=point,
                peer=peer,
                coins=_outpoints(coins),
                since=since,
                state=FundingState(state),
                obstacle=Obstacle(obstacle),
                bumps=bumps,
                bumped=bumped,
            )
            for (
                order_id,
                organization_id,
                point,
                peer,
                coins,
                since,
                state,
                obstacle,
                bumps,
                bumped,
            ) in rows
        ]

    async def unconfirmed(self, *, at_a_time: int = 500) -> list[Funding]:
        """Return all unconfirmed transactions, ordered by order id."""
        found: list[Funding] = []
        after = ""
        while page := await self.watched(after=after, limit=at_a_time):
            after = page[-1].order_id
            found += (each for each in page if each.state is FundingState.UNCONFIRMED)
        return found

    async def spent(self) -> set[Outpoint]:
        """Return the coins of all transactions that the chain may still change."""
        rows = await self._run(sql.spent)
        return {each for (coins,) in rows for each in _outpoints(coins)}

    async def change(self, before: Funding, after: Funding) -> bool:
        """Store a changed funding; return False if another process changed it first."""
        rows = await self._run(
            sql.change,
            order_id=before.order_id,
            was_state=str(before.state),
            was_obstacle=str(before.obstacle),
            state=str(after.state),
            obstacle=str(after.obstacle),
            coins=_text(after.coins),
            since=after.since,
        )
        return bool(rows)

    async def lost(self, order_ids: Iterable[str]) -> set[str]:
        """Return which of these orders have a channel that can never be opened."""
        rows = await self._run(sql.lost, order_ids=tuple(order_ids))
        return {str(order_id) for (order_id,) in rows}

    async def begin_bump(
        self, funding: Funding, bump: Bump, *, height: int, at: datetime
    ) -> bool:
        """Store a bump before it is requested; return False if another was first."""
        rows = await self._run(
            sql.begin_bump,
            order_id=funding.order_id,
            number=funding.bumps + 1,
            at=to_us(at),
            height=height,
            sat_per_vb=bump.sat_per_vb,
            fee=bump.fee,
        )
        return bool(rows)

    async def end_bump(self, funding: Funding, answer: str) -> None:
        """Store lnd's response to the bump that was begun."""
        await self._run(
            sql.end_bump,
            order_id=funding.order_id,
            number=funding.bumps + 1,
            answer=answer,
        )

    async def last_answers(self) -> dict[str, tuple[int, str]]:
        """Return fee rate and response of the last bump of each watched transaction."""
        rows = await self._run(sql.last_answers)
        return {order_id: (rate, answer) for order_id, rate, answer in rows}

    async def bumps_of(self, order_id: str) -> list[KnownBump]:
        """Return the bumps of an order's transaction, oldest first."""
        return [
            KnownBump(
                at=from_us(at),
                height=height,
                sat_per_vb=sat_per_vb,
                fee=Sats(fee),
                answer=answer,
            )
            for at, height, sat_per_vb, fee, answer in await self._run(
                sql.bumps_of, order_id=order_id
            )
        ]


def _text(coins: Iterable[Outpoint]) -> str:
    return " ".join(map(str, coins))


def _outpoints(text: str) -> tuple[Outpoint, ...]:
    return tuple(map(Outpoint.parse, text.split()))
