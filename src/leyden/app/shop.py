"""Wiring what sells channels: from settings to a shop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from leyden.domain.pricing import Terms
from leyden.domain.units import Sats
from leyden.errors import SetupError
from leyden.market.simulated import SimulatedMarket
from leyden.payments.lnd import LndPayments
from leyden.payments.treasury import Access
from leyden.services.hearing import listen
from leyden.services.platform import Platform
from leyden.services.shop import Rules, Shop

_PREIMAGE = "preimage"


def shop_of(platform: Platform) -> Shop | None:
    """Give the shop that the settings ask for, if they do."""
    given = platform.settings
    if not given.treasury_host:
        return None
    if not given.market:
        raise SetupError("market: treasury_host is set, so say where channels are from")
    if given.mainnet_backend:
        raise SetupError("market: simulated tickets are not sold beside mainnet nodes")
    host, _, port = given.treasury_host.rpartition(":")
    if not host or not port.isdecimal():
        raise SetupError("treasury_host: must be HOST:PORT")
    access = Access(
        host=host,
        port=int(port),
        certificate=Path(given.treasury_certificate),
        macaroon=Path(given.treasury_macaroon),
    )

    def preimage(order_id: str, sats: Sats) -> bytes:
        return platform.sealer.digest(f"{order_id} {sats}".encode(), purpose=_PREIMAGE)

    return Shop(
        database=platform.database,
        sealer=platform.sealer,
        payments=LndPayments(access, preimage=preimage),
        market=SimulatedMarket(given.home_path / "tickets.json"),
        clock=platform.clock,
        rules=Rules(
            terms=Terms(
                rate_bps=given.rate_bps,
                service_fee_base=Sats(given.service_fee_base),
                service_fee_ppm=given.service_fee_ppm,
            ),
            quote_holds=timedelta(seconds=given.quote_holds_s),
            order_lives=timedelta(seconds=given.order_lives_s),
        ),
    )


@asynccontextmanager
async def open_for_payments(shop: Shop, *, listening: bool) -> AsyncIterator[None]:
    """Hear of payments while inside, if asked to."""
    ear = asyncio.create_task(listen(shop), name="payments") if listening else None
    try:
        yield
    finally:
        if ear is not None:
            ear.cancel()
            await asyncio.gather(ear, return_exceptions=True)
        if isinstance(shop.payments, LndPayments):
            await shop.payments.close()
