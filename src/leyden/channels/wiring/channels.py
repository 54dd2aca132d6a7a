"""Wiring of channel sales: from settings to services."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

from leyden.base.background import background
from leyden.base.platform import Platform
from leyden.base.rules.units import BLOCKS_PER_DAY, Sats
from leyden.base.settings import Settings
from leyden.channels.checkout import listen
from leyden.channels.direct.base import Lsps, Purse
from leyden.channels.direct.buying.http_lsp import HttpLsp
from leyden.channels.direct.dialing import Dialing
from leyden.channels.direct.direct_source import DirectSource
from leyden.channels.direct.lnd import LndSeller
from leyden.channels.direct.lnd_forwarding import LndForwarding
from leyden.channels.direct.lnd_payer import LndPayer
from leyden.channels.direct.lnd_unpublished import LndUnpublished
from leyden.channels.direct.lnd_wrapping import LndWrapping
from leyden.channels.direct.messages import LndMessages
from leyden.channels.direct.rules.fundings import FundingRules
from leyden.channels.payments.lnd import LndPayments
from leyden.channels.rules import sources
from leyden.channels.rules.pricing import ChannelKind, Terms
from leyden.channels.rules.sources import Source
from leyden.channels.services import (
    BuyingSettings,
    ChannelServices,
    ChannelSettings,
    JitSettings,
    Lsps1Settings,
    Sources,
    Upkeep,
)
from leyden.channels.tickets.base import AuctionDeposit, Market
from leyden.channels.tickets.none import NoMarket
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.tickets.ticket_source import TicketSource
from leyden.errors import SetupError
from leyden.events.webhooks.connector import look_up
from leyden.nodes.lnd.connection import LndAccess
from leyden.nodes.wiring import peer_addresses
from leyden.nodes.wiring.node_openings import signers
from leyden.people.quotas import limits

# The source of each kind, also of orders from when the settings listed another one.
SOURCES: Final[Sources] = {
    ChannelKind.TICKET: TicketSource(),
    ChannelKind.DIRECT: DirectSource(),
}
_OWN_PURSE: Final = (
    "just-in-time channels need an lnd of their own, see docs/operators/just-in-time.md"
)
_PREIMAGE = "preimage"
_LOOKS = 50  # at tickets; each time the task is put off is a write to disk


def make_channels(platform: Platform) -> ChannelServices | None:
    """Return the services that sell channels, if any are sold."""
    settings = platform.settings
    if not settings.treasury_host:
        return None
    listed = sources_of(settings)
    access = treasury_access(settings)
    seller, payer = seller_access(settings), payer_access(settings)

    def preimage(order_id: str, sats: Sats) -> bytes:
        return platform.sealer.digest(f"{order_id} {sats}".encode(), purpose=_PREIMAGE)

    market, account = _market(platform, listed)
    treasury = LndPayments(access, preimage=preimage)
    return ChannelServices(
        database=platform.database,
        sealer=platform.sealer,
        payments=treasury,
        treasury=treasury,
        sources=SOURCES,
        market=market,
        account=account,
        seller=LndSeller(seller) if seller else None,
        messages=LndMessages(seller) if seller and settings.lsps1 else None,
        purse=purse_of(settings),
        lsps=Lsps(
            sources.lsps(settings.market, has_private_chain=settings.has_private_chain),
            HttpLsp,
        ),
        payer=LndPayer(payer) if payer else None,
        dialing=make_dialing(settings),
        clock=platform.clock,
        rules=ChannelSettings(
            sources=listed,
            treasury=settings.treasury_pubkey.lower(),
            seller=settings.seller_pubkey.lower(),
            seller_most_per_hour=Sats(settings.seller_most_per_hour),
            seller_most_per_peer=Sats(settings.seller_most_per_peer),
            seller_low=Sats(settings.seller_low_sats),
            fundings=FundingRules(
                bump_after=settings.seller_bump_after_blocks,
                highest_sat_per_vb=settings.seller_bump_sat_per_vb,
            ),
            lsps1=lsps1_of(settings),
            jit=jit_of(settings),
            buying=BuyingSettings(
                most=Sats(settings.buy_most),
                most_per_hour=Sats(settings.buy_most_per_hour),
                routing_ppm=settings.buy_routing_ppm,
            ),
            terms=Terms(
                rate_bps=settings.rate_bps,
                service_fee_base=Sats(settings.service_fee_base),
                service_fee_ppm=settings.service_fee_ppm,
                chain_fee_sat_per_kw=settings.pool_batch_fee_sat_per_kw,
                keeps_unused_fee=settings.keep_unused_pool_fee,
                seller_fee_sat_per_vb=settings.seller_fee_sat_per_vb,
                seller_largest=Sats(settings.seller_largest),
            ),
            upkeep=Upkeep(
                low=Sats(settings.pool_low_sats),
                renew_before_blocks=settings.pool_renew_days * BLOCKS_PER_DAY,
                lives_blocks=settings.pool_lives_days * BLOCKS_PER_DAY,
                fee_sat_per_kw=settings.pool_fee_sat_per_kw,
            ),
            tickets_polls=_LOOKS,
            quote_holds=timedelta(seconds=settings.quote_holds_s),
            order_lives=timedelta(seconds=settings.order_lives_s),
            quotas=limits(settings),
        ),
    )


def sources_of(settings: Settings) -> tuple[Source, ...]:
    """Return the sources of channels that the settings list."""
    if not settings.market:
        raise SetupError(
            "market: must be set, since treasury_host is: the sources of channels"
        )
    listed = sources.parse(
        settings.market,
        has_seller=bool(settings.seller_host),
        has_purse=bool(settings.jit_host),
        has_payer=bool(settings.buy_host or settings.seller_host),
    )
    if settings.mainnet_backend and Source.SIMULATED in listed:
        raise SetupError(
            "market: must not be simulated on a platform with mainnet nodes"
        )
    if settings.lsps1 and settings.seller_host and Source.OWN not in listed:
        raise SetupError("market: must include own, since lsps1 is set")
    return listed


def treasury_access(settings: Settings) -> LndAccess:
    """Return address and credentials of the configured treasury."""
    host, _, port = settings.treasury_host.rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError("treasury_host: must be HOST:PORT")
    return LndAccess(
        host=host,
        port=int(port),
        certificate=Path(settings.treasury_certificate),
        macaroon=Path(settings.treasury_macaroon),
    )


def payer_access(settings: Settings) -> LndAccess | None:
    """Return address and credentials of the lnd that pays other LSPs, if any."""
    if not settings.buy_host:
        return seller_access(settings)
    if settings.buy_host == settings.jit_host:
        raise SetupError(
            "buy_host: is the lnd of just-in-time channels, whose balances must match "
            "what it forwarded; other LSPs are paid by another one"
        )
    return _own_access(settings, "buy", "other LSPs are paid by an lnd of its own")


def _own_access(settings: Settings, name: str, why: str) -> LndAccess:
    """Return the access in the settings with this prefix; refuse the treasury's."""
    host, _, port = getattr(settings, f"{name}_host").rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError(f"{name}_host: must be HOST:PORT")
    for each in (f"{name}_certificate", f"{name}_macaroon"):
        if not getattr(settings, each):
            raise SetupError(
                f"{each}: must be set, since {name}_host is: the path of the file"
            )
    if getattr(settings, f"{name}_host") == settings.treasury_host:
        raise SetupError(f"{name}_host: is the treasury; {why}")
    return LndAccess(
        host=host,
        port=int(port),
        certificate=Path(getattr(settings, f"{name}_certificate")),
        macaroon=Path(getattr(settings, f"{name}_macaroon")),
    )


def lsps1_of(settings: Settings) -> Lsps1Settings | None:
    """Return the settings of LSPS1, if it is enabled."""
    if not settings.lsps1:
        if settings.lsps7:
            raise SetupError("lsps1: needed by lsps7; see docs/operators/lsps1.md")
        return None
    for name in ("seller_host", "lsps1_organization"):
        if not getattr(settings, name):
            raise SetupError(f"{name}: needed by lsps1; see docs/operators/lsps1.md")
    return Lsps1Settings(
        organization=settings.lsps1_organization,
        lives=timedelta(seconds=settings.lsps1_order_lives_s),
        orders_per_peer=settings.lsps1_orders_per_peer,
        orders_per_address=settings.lsps1_orders_per_address,
        most_reserved=Sats(settings.lsps1_most_reserved),
        messages_per_minute=settings.lsps1_requests_per_minute,
        extends=settings.lsps7,
    )


def seller_access(settings: Settings) -> LndAccess | None:
    """Return address and credentials of the configured seller, if any."""
    if not settings.seller_host:
        return None
    return _own_access(
        settings, "seller", "the seller spends money, so it needs its own lnd"
    )


def purse_of(settings: Settings) -> Purse | None:
    """Return the lnd of just-in-time channels, if one is configured."""
    if not settings.jit_host:
        return None
    if settings.jit_host == settings.seller_host:
        raise SetupError(f"jit_host: is the seller; {_OWN_PURSE}")
    access = _own_access(settings, "jit", _OWN_PURSE)
    return Purse(
        seller=LndSeller(access),
        messages=LndMessages(access),
        forwarding=LndForwarding(access),
        wrapping=LndWrapping(access),
        unpublished=LndUnpublished(access),
    )


def jit_of(settings: Settings) -> JitSettings | None:
    """Return the settings of just-in-time channels, if they are sold."""
    if not settings.jit_host:
        return None
    if settings.jit_smallest > settings.jit_largest:
        raise SetupError("jit_smallest: must not be more than jit_largest")
    return JitSettings(
        fee_base=Sats(settings.jit_fee_base),
        fee_ppm=settings.jit_fee_ppm,
        highest_sat_per_vb=settings.jit_fee_sat_per_vb,
        smallest=Sats(settings.jit_smallest),
        largest=Sats(settings.jit_largest),
        spare=Sats(settings.jit_spare),
        lives=timedelta(seconds=settings.jit_offer_lives_s),
        orders_per_peer=settings.jit_orders_per_peer,
        most_per_hour=Sats(settings.jit_most_per_hour),
        most_unpaid=Sats(settings.jit_most_unpaid),
        wraps_invoices=settings.jit_wrapped_invoices,
        client_trusts_lsp=settings.jit_client_trusts_lsp,
    )


def make_dialing(settings: Settings) -> Dialing:
    """Return the addresses that the seller may connect to: as nodes may."""
    return Dialing(
        reach=signers(settings),
        peer_host=peer_addresses.host(settings),
        peer_ports=peer_addresses.ports(settings),
        look_up=look_up,
    )


_Bought = tuple[Market, AuctionDeposit | None]


def _simulated(platform: Platform) -> _Bought:
    return SimulatedMarket(platform.settings.home_path / "tickets.json"), None


def _pool(platform: Platform) -> _Bought:
    # Imported only where it is used: gRPC takes a while, and memory.
    from leyden.channels.tickets.wiring.pool import make_market  # noqa: PLC0415

    return make_market(platform)


def _market(platform: Platform, listed: tuple[Source, ...]) -> _Bought:
    match sources.ticket_source(listed):
        case Source.POOL:
            return _pool(platform)
        case Source.SIMULATED:
            return _simulated(platform)
    # Tickets that were sold before are followed to their end.
    return _pool(platform) if platform.settings.pool_host else (NoMarket(), None)


@asynccontextmanager
async def receiving_payments(
    channels: ChannelServices, *, listening: bool
) -> AsyncIterator[None]:
    """Listen for payments while inside, if asked to; close the connections after."""
    try:
        async with background(
            {"payments": partial(listen, channels)} if listening else {}
        ):
            yield
    finally:
        await channels.payments.close()
        if channels.seller is not None:
            await channels.seller.close()
        if channels.messages is not None:
            await channels.messages.close()
        if (purse := channels.purse) is not None:
            for each in (purse.seller, purse.messages, purse.forwarding):
                await each.close()
            for more in (purse.wrapping, purse.unpublished):
                if more is not None:
                    await more.close()
        await channels.lsps.close()
        if channels.payer is not None:
            await channels.payer.close()
        if channels.account is not None:
            await channels.account.close()
