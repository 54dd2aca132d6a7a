"""The newest quote for each channel that an organization requested."""

from datetime import datetime

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import Channel, ChannelKind, Quote

sql = SqlFile(__file__)


class Quotes:
    """The rows of quote."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(
        self, organization_id: str, quote: Quote, *, quoted: datetime
    ) -> None:
        """Store the quote, replacing the one before it."""
        await self._run(
            sql.keep,
            organization_id=organization_id,
            wish=_query(quote.channel),
            quoted=to_us(quoted),
            rate_bps=quote.rate_bps,
            rate_fixed=quote.rate_fixed,
            service_fee=quote.service_fee,
            pool_fee=quote.pool_fee,
            self_chan_balance_fee=quote.self_chan_balance_fee,
            keeps_unused_fee=int(quote.keeps_unused_fee),
            source=quote.source,
        )

    async def find(
        self, organization_id: str, channel: Channel, *, since: datetime
    ) -> tuple[Quote, datetime] | None:
        """Return the quote given after `since` for this channel, and its time."""
        # The time is compared here, so that the query is the same each time.
        rows = await self._run(
            sql.find, organization_id=organization_id, wish=_query(channel)
        )
        if not rows or rows[0][0] <= to_us(since):
            return None
        quoted, rate_bps, rate_fixed, service, pool_fee, self_fee, keeps, source = rows[
            0
        ]
        quote = Quote(
            channel=channel,
            rate_bps=rate_bps,
            rate_fixed=rate_fixed,
            service_fee=Sats(service),
            pool_fee=Sats(pool_fee),
            self_chan_balance_fee=Sats(self_fee),
            keeps_unused_fee=bool(keeps),
            source=source,
        )
        return quote, from_us(quoted)

    async def delete(self, *, until: datetime) -> None:
        """Delete quotes that have expired."""
        await self._run(sql.delete, until=to_us(until))


def _query(channel: Channel) -> str:
    rate = "going" if channel.bps is None else channel.bps  # 0 is not the going rate
    direct = " direct" if channel.kind is ChannelKind.DIRECT else ""
    return (
        f"{channel.capacity} {channel.self_chan_balance} "
        f"{channel.lease_duration_blocks} {channel.node_tier} {rate}{direct}"
    )
