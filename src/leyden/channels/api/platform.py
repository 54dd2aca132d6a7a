"""The endpoint that says what the platform offers."""

from leyden import __version__
from leyden.base.http.operations import Request
from leyden.base.http.reading import LARGEST_BODY
from leyden.channels import sources
from leyden.channels.rules.pricing import AuctionTerms
from leyden.channels.services import ChannelServices
from leyden.errors import Away
from leyden.nodes.api.nodes import version_items
from leyden.nodes.rules.whitelist import MAX_ENTRIES
from leyden.schemas.platform import (
    ChannelsOffer,
    NodeSize,
    PlatformAnswer,
    PlatformLimits,
)


async def show(request: Request) -> PlatformAnswer:
    """Return what the platform offers."""
    platform, settings = request.platform, request.platform.settings
    fleet, channels = platform.fleet, platform.channels
    sizes = [
        NodeSize("standard", settings.standard_memory_mb, settings.standard_cpus),
        NodeSize(
            "professional",
            settings.professional_memory_mb,
            settings.professional_cpus,
        ),
    ]
    return PlatformAnswer(
        service_version=fleet.rules.service_version if fleet else __version__,
        networks=sorted(fleet.rules.networks) if fleet else [],
        versions=version_items(fleet.rules) if fleet else [],
        node_sizes=sizes if fleet else [],
        channels=await _channels(channels) if channels else None,
        limits=PlatformLimits(
            requests_per_minute=settings.requests_per_minute,
            event_waits_per_key=settings.event_waits_per_key,
            body_bytes=LARGEST_BODY,
            whitelist_entries=MAX_ENTRIES,
            webhook_tests_per_minute=settings.webhook_tests_per_minute,
        ),
    )


async def _channels(channels: ChannelServices) -> ChannelsOffer:
    rules, terms = channels.rules, channels.rules.terms
    try:
        leases = await sources.leases(channels)
    except Away:  # the auction: the usual ones, which it had for years
        leases = AuctionTerms().leases
    return ChannelsOffer(
        sources=[str(each) for each in sources.sold(channels)],
        smallest_capacity=terms.smallest_capacity,
        largest_capacity=terms.largest_capacity,
        largest_direct_capacity=min(terms.seller_largest, terms.largest_capacity),
        capacity_step=terms.capacity_unit,
        lease_duration_blocks=list(leases),
        rate_bps=terms.rate_bps,
        service_fee_base=terms.service_fee_base,
        service_fee_ppm=terms.service_fee_ppm,
        self_chan_balance_ppm=terms.self_chan_balance_ppm,
        keeps_unused_pool_fee=terms.keeps_unused_fee,
        quote_holds_s=int(rules.quote_holds.total_seconds()),
        order_lives_s=int(rules.order_lives.total_seconds()),
        lsps1=rules.lsps1 is not None,
    )
