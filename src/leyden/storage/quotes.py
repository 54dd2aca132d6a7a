"""The newest quote for each wish of an organization: its price holds for a while."""

from datetime import datetime

from leyden.domain.pricing import Channel, Quote
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.storage.statements import Run
from leyden.storage.written import quotes as sql


class Quotes:
    """The rows of quote."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(
        self, organization_id: str, quote: Quote, *, quoted: datetime
    ) -> None:
        """Keep the quote in place of the one before it."""
        await self._run(
            sql.KEEP,
            organization_id=organization_id,
            wish=_wish(quote.channel),
            quoted=to_us(quoted),
            rate_bps=quote.rate_bps,
            rate_fixed=quote.rate_fixed,
            service_fee=quote.service_fee,
            pool_fee=quote.pool_fee,
            self_chan_balance_fee=quote.self_chan_balance_fee,
        )

    async def find(
        self, organization_id: str, channel: Channel, *, since: datetime
    ) -> tuple[Quote, datetime] | None:
        """Give what was quoted after `since` for this very wish, and when."""
        # The time is compared here, so that the same question is asked each time.
        rows = await self._run(
            sql.FIND, organization_id=organization_id, wish=_wish(channel)
        )
        if not rows or rows[0][0] <= to_us(since):
            return None
        quoted, rate_bps, rate_fixed, service_fee, pool_fee, self_fee = rows[0]
        quote = Quote(
            channel=channel,
            rate_bps=rate_bps,
            rate_fixed=rate_fixed,
            service_fee=Sats(service_fee),
            pool_fee=Sats(pool_fee),
            self_chan_balance_fee=Sats(self_fee),
        )
        return quote, from_us(quoted)

    async def forget(self, *, until: datetime) -> None:
        """Drop quotes that nobody can use any more."""
        await self._run(sql.FORGET, until=to_us(until))


def _wish(channel: Channel) -> str:
    rate = "going" if channel.bps is None else channel.bps  # 0 is not the going rate
    return (
        f"{channel.capacity} {channel.self_chan_balance} "
        f"{channel.lease_duration_blocks} {channel.node_tier} {rate}"
    )
