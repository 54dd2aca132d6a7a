"""Checks of the chain backends of nodes."""

from typing import Final

import aiohttp

from leyden.base.aiohttp_connector import why
from leyden.base.platform import Platform
from leyden.nodes import chain_backends
from leyden.nodes.lnd.chains import BtcdBackend, Neutrino
from leyden.nodes.rules.nodes import Network
from leyden.nodes.wiring import local_nodes

_TARGET: Final = 6  # blocks
_REHEARSALS: Final = ("signet", "testnet4", "testnet")


async def mainnet(platform: Platform) -> str:
    """Check that mainnet is configured."""
    if platform.settings.mainnet_backend:
        return ""
    return "set mainnet_backend to bitcoind, btcd or neutrino"


async def synced(platform: Platform) -> str:
    """Check that each backend is synced."""
    grounds = local_nodes.grounds(platform.settings)
    if not grounds:
        return "set mainnet_backend, and testnet_chain for rehearsals"
    return await chain_backends.behind(
        {network: ground.backend for network, ground in grounds.items()}
    )


async def fees(platform: Platform) -> str:
    """Ask mainnet's source of fees for an estimate."""
    settings = platform.settings
    if not settings.mainnet_backend:
        return "first set mainnet_backend, see above"
    backend = local_nodes.grounds(settings)[Network.MAINNET].backend
    if isinstance(backend, Neutrino):
        return await _fee_url(settings.mainnet_fee_url)
    if isinstance(backend, BtcdBackend):
        await chain_backends.ask(Network.MAINNET, backend, "estimatefee", _TARGET)
        return ""
    answer = await chain_backends.ask(
        Network.MAINNET, backend, "estimatesmartfee", _TARGET
    )
    return "" if answer.get("feerate") else "wait: the backend has no fee estimate yet"


async def rehearsal(platform: Platform) -> str:
    """Check that nodes can also run on a test network."""
    if platform.settings.testnet_chain in _REHEARSALS:
        return ""
    return 'set testnet_chain to "signet" or "testnet4", and rehearse a purchase there'


async def _fee_url(url: str) -> str:
    if not url:
        return "set mainnet_fee_url: neutrino cannot estimate fees itself"
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            body = await response.json(content_type=None)
    except (aiohttp.ClientError, ValueError) as error:
        return f"mainnet_fee_url: {url}: {why(error)}"
    if isinstance(body, dict) and body.get("fee_by_block_target"):
        return ""
    return f"mainnet_fee_url: {url} has no fee_by_block_target"
