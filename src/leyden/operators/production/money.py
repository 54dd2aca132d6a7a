"""Checks of the treasury, and of where channels come from."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from leyden.base.platform import Platform
from leyden.channels import treasury_identity
from leyden.channels.direct import seller_balance
from leyden.channels.direct.buying import state as buying_state
from leyden.channels.direct.jit import state as jit_state
from leyden.channels.direct.lsps1 import state
from leyden.channels.payments import treasury as lnd
from leyden.channels.rules import sources
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.sources import Source
from leyden.channels.wiring.channels import treasury_access
from leyden.errors import NodeRefused
from leyden.operators import oversight, treasury_balance

_NONE: Final = "set treasury_host, treasury_certificate and treasury_macaroon"
_DENIED: Final = "permission denied"


async def treasury(platform: Platform) -> str:
    """Check that the treasury is reachable and synced."""
    if platform.channels is None or platform.channels.treasury is None:
        return _NONE
    held = await platform.channels.treasury.holdings()
    if not held.synced:
        return f"wait: the treasury is at block {held.height} and not synced"
    return await treasury_identity.alarm(platform.database) or ""


async def macaroon(platform: Platform) -> str:
    """Check that the macaroon cannot spend."""
    if platform.channels is None:
        return _NONE
    async with _treasury(platform) as connection:
        if not await can_pay(connection):
            return ""
    return (
        "treasury_macaroon can spend; bake one that can't, see "
        "docs/operators/sell-channels.md"
    )


async def can_pay(connection: lnd.Treasury) -> bool:
    """Return whether a payment, which is no valid one, is not denied."""
    try:
        await connection.call("POST", "/v2/router/route/send", {})
    except NodeRefused as error:
        return _DENIED not in error.message
    return True


async def inbound(platform: Platform) -> str:
    """Check what the treasury's channels can receive."""
    if platform.channels is None:
        return _NONE
    async with _treasury(platform) as connection:
        response = await connection.call("GET", "/v1/balance/channels")
    if int((response.get("remote_balance") or {}).get("sat") or 0) > 0:
        return ""
    return "the treasury has no inbound capacity: get inbound channels for it"


async def auction(platform: Platform) -> str:
    """Check our account at the auction."""
    channels = platform.channels
    if channels is None:
        return _NONE
    if Source.SIMULATED in channels.rules.sources:
        return (
            'set market = "own": tickets of a simulated market are no channels; see '
            "docs/operators/sell-channels.md"
        )
    if Source.POOL not in channels.rules.sources:
        return ""
    found = await treasury_balance.read(channels)
    return found.alarm or found.no_standing


async def seller(platform: Platform) -> str:
    """Check the seller's wallet, if direct channels are sold."""
    channels = platform.channels
    if channels is None or Source.OWN not in channels.rules.sources:
        return ""
    found = await seller_balance.read(channels)
    return seller_balance.alarm(found, low=channels.rules.seller_low)


async def seller_inbound(platform: Platform) -> str:
    """Check that payments can reach the seller, if direct channels are sold."""
    channels = platform.channels
    if channels is None or Source.OWN not in channels.rules.sources:
        return ""
    return await seller_balance.unreachable(channels)


async def seller_macaroon(platform: Platform) -> str:
    """Check the permissions of the seller's macaroon, if direct channels are sold."""
    channels = platform.channels
    if channels is None:
        return ""
    return seller_balance.old_macaroon(await seller_balance.denied(channels))


async def listed(platform: Platform) -> str:
    """Check that `market` is set as a list of sources."""
    settings = platform.settings
    if platform.channels is None or not sources.is_old(
        settings.market, has_seller=bool(settings.seller_host)
    ):
        return ""
    return (
        f'set market = "{settings.market}, own": without own, direct channels will not '
        "be sold from the next release on"
    )


async def lsps1(platform: Platform) -> str:
    """Check what wallets need of the seller's lnd, if LSPS1 is enabled."""
    channels = platform.channels
    if channels is None or channels.rules.lsps1 is None:
        return ""
    return "; ".join((await state.read(channels, channels.rules.lsps1)).missing)


async def just_in_time(platform: Platform) -> str:
    """Check what wallets need of the purse's lnd, if just-in-time channels are sold."""
    channels = platform.channels
    if channels is None or channels.purse is None or channels.rules.jit is None:
        return ""
    if Source.JIT not in channels.rules.sources:
        return ""
    found = await jit_state.read(channels, channels.purse, channels.rules.jit)
    return "; ".join(found.missing)


async def buying(platform: Platform) -> str:
    """Check the LSPs that are listed, and the lnd that pays them."""
    channels = platform.channels
    if channels is None or not buying_state.is_on(channels):
        return ""
    return "; ".join((await buying_state.read(channels)).missing)


async def rehearsed(platform: Platform) -> str:
    """Check that a channel was sold, and verify the ledger."""
    if broken := await oversight.violations(platform):
        return f"`leyden verify` finds {len(broken)} rules broken: {broken[0]}"
    orders = await platform.database.reader.counts.orders()
    if orders.get(OrderStatus.FILLED):
        return ""
    return "buy a channel for your own node, first on the test network"


@asynccontextmanager
async def _treasury(platform: Platform) -> AsyncIterator[lnd.Treasury]:
    connection = lnd.Treasury(treasury_access(platform.settings))
    try:
        yield connection
    finally:
        await connection.close()
