"""Wiring of channel sales: from settings to a shop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

from leyden.app import peer_addresses
from leyden.app.background import background
from leyden.app.node_openings import signers
from leyden.domain import sources
from leyden.domain.fundings import FundingRules
from leyden.domain.pricing import Terms
from leyden.domain.sources import Source
from leyden.domain.units import BLOCKS_PER_DAY, Sats
from leyden.errors import SetupError
from leyden.lnd.connection import Access
from leyden.market.base import Account, Market
from leyden.market.none import NoMarket
from leyden.market.simulated import SimulatedMarket
from leyden.payments.lnd import LndPayments
from leyden.sellers.lnd import LndSeller
from leyden.sellers.messages import LndMessages
from leyden.services.channels.dialing import Dialing
from leyden.services.channels.payment_stream import listen
from leyden.services.channels.shop import (
    Lsps1Settings,
    Shop,
    ShopSettings,
    Upkeep,
)
from leyden.services.platform import Platform
from leyden.services.shared.quotas import limits
from leyden.settings import Settings
from leyden.webhooks.names import Names

_PREIMAGE = "preimage"
_LOOKS = 50  # at tickets; each time the task is put off is a write to disk


def shop_of(platform: Platform) -> Shop | None:
    """Return the shop that the settings ask for, if they do."""
    given = platform.settings
    if not given.treasury_host:
        return None
    listed = sources_of(given)
    access = treasury_access(given)
    seller = seller_access(given)

    def preimage(order_id: str, sats: Sats) -> bytes:
        return platform.sealer.digest(f"{order_id} {sats}".encode(), purpose=_PREIMAGE)

    market, account = _market(platform, listed)
    treasury = LndPayments(access, preimage=preimage)
    return Shop(
        database=platform.database,
        sealer=platform.sealer,
        payments=treasury,
        treasury=treasury,
        market=market,
        account=account,
        seller=LndSeller(seller) if seller else None,
        messages=LndMessages(seller) if seller and given.lsps1 else None,
        dialing=dialing_of(given),
        clock=platform.clock,
        rules=ShopSettings(
            sources=listed,
            treasury=given.treasury_pubkey.lower(),
            seller=given.seller_pubkey.lower(),
            seller_most_per_hour=Sats(given.seller_most_per_hour),
            seller_most_per_peer=Sats(given.seller_most_per_peer),
            seller_low=Sats(given.seller_low_sats),
            fundings=FundingRules(
                bump_after=given.seller_bump_after_blocks,
                highest_sat_per_vb=given.seller_bump_sat_per_vb,
            ),
            lsps1=lsps1_of(given),
            terms=Terms(
                rate_bps=given.rate_bps,
                service_fee_base=Sats(given.service_fee_base),
                service_fee_ppm=given.service_fee_ppm,
                chain_fee_sat_per_kw=given.pool_batch_fee_sat_per_kw,
                keeps_unused_fee=given.keep_unused_pool_fee,
                seller_fee_sat_per_vb=given.seller_fee_sat_per_vb,
                seller_largest=Sats(given.seller_largest),
            ),
            upkeep=Upkeep(
                low=Sats(given.pool_low_sats),
                renew_before_blocks=given.pool_renew_days * BLOCKS_PER_DAY,
                lives_blocks=given.pool_lives_days * BLOCKS_PER_DAY,
                fee_sat_per_kw=given.pool_fee_sat_per_kw,
            ),
            tickets_looks=_LOOKS,
            quote_holds=timedelta(seconds=given.quote_holds_s),
            order_lives=timedelta(seconds=given.order_lives_s),
            quotas=limits(given),
        ),
    )


def sources_of(given: Settings) -> tuple[Source, ...]:
    """Return the sources of channels that the settings list."""
    if not given.market:
        raise SetupError(
            "market: must be set, since treasury_host is: the sources of channels"
        )
    listed = sources.parse(given.market, has_seller=bool(given.seller_host))
    if given.mainnet_backend and Source.SIMULATED in listed:
        raise SetupError(
            "market: must not be simulated on a platform with mainnet nodes"
        )
    if given.lsps1 and given.seller_host and Source.OWN not in listed:
        raise SetupError("market: must include own, since lsps1 is set")
    return listed


def treasury_access(given: Settings) -> Access:
    """Return the way to the treasury that the settings name."""
    host, _, port = given.treasury_host.rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError("treasury_host: must be HOST:PORT")
    return Access(
        host=host,
        port=int(port),
        certificate=Path(given.treasury_certificate),
        macaroon=Path(given.treasury_macaroon),
    )


def lsps1_of(given: Settings) -> Lsps1Settings | None:
    """Return how LSPS1 is offered, if the settings say so."""
    if not given.lsps1:
        return None
    for name in ("seller_host", "lsps1_organization"):
        if not getattr(given, name):
            raise SetupError(f"{name}: needed by lsps1; see docs/lsps1.md")
    return Lsps1Settings(
        organization=given.lsps1_organization,
        lives=timedelta(seconds=given.lsps1_order_lives_s),
        orders_per_peer=given.lsps1_orders_per_peer,
        orders_per_address=given.lsps1_orders_per_address,
        most_reserved=Sats(given.lsps1_most_reserved),
        messages_per_minute=given.lsps1_requests_per_minute,
    )


def seller_access(given: Settings) -> Access | None:
    """Return the way to the seller that the settings name, if they do."""
    if not given.seller_host:
        return None
    host, _, port = given.seller_host.rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError("seller_host: must be HOST:PORT")
    for name in ("seller_certificate", "seller_macaroon"):
        if not getattr(given, name):
            raise SetupError(
                f"{name}: must be set, since seller_host is: the path of the file"
            )
    if given.seller_host == given.treasury_host:
        raise SetupError(
            "seller_host: is the treasury; the seller spends money, so it needs its "
            "own lnd"
        )
    return Access(
        host=host,
        port=int(port),
        certificate=Path(given.seller_certificate),
        macaroon=Path(given.seller_macaroon),
    )


def dialing_of(given: Settings) -> Dialing:
    """Return where the seller may be told to connect to: what nodes may reach."""
    return Dialing(
        reach=signers(given),
        peer_host=peer_addresses.host(given),
        peer_ports=peer_addresses.ports(given),
        look_up=Names().look_up,
    )


_Bought = tuple[Market, Account | None]


def _simulated(platform: Platform) -> _Bought:
    return SimulatedMarket(platform.settings.home_path / "tickets.json"), None


def _pool(platform: Platform) -> _Bought:
    # Imported only where it is used: gRPC takes a while, and memory.
    from leyden.app.pool import market_of  # noqa: PLC0415

    return market_of(platform)


def _market(platform: Platform, listed: tuple[Source, ...]) -> _Bought:
    match sources.ticket_source(listed):
        case Source.POOL:
            return _pool(platform)
        case Source.SIMULATED:
            return _simulated(platform)
    # Tickets that were sold before are followed to their end.
    return _pool(platform) if platform.settings.pool_host else (NoMarket(), None)


@asynccontextmanager
async def open_for_payments(shop: Shop, *, listening: bool) -> AsyncIterator[None]:
    """Listen for payments while inside, if asked to; close the connections after."""
    try:
        async with background({"payments": partial(listen, shop)} if listening else {}):
            yield
    finally:
        await shop.payments.close()
        if shop.seller is not None:
            await shop.seller.close()
        if shop.messages is not None:
            await shop.messages.close()
        if shop.account is not None:
            await shop.account.close()
