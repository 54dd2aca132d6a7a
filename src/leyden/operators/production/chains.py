"""Checks of the chain backends of nodes."""

import ssl
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from leyden.base.aiohttp_connector import why
from leyden.base.platform import Platform
from leyden.errors import SetupError
from leyden.nodes.lnd.chains import Backend, Bitcoind, BtcdBackend, Neutrino
from leyden.nodes.rules.nodes import Network
from leyden.nodes.wiring import local_nodes

_BEHIND: Final = 2  # blocks that a backend may lack of its headers
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
    for network, ground in grounds.items():
        if isinstance(ground.backend, Neutrino):
            continue
        answer = await _ask(network, ground.backend, "getblockchaininfo")
        blocks, headers = int(answer["blocks"]), int(answer.get("headers") or 0)
        if headers - blocks > _BEHIND or answer.get("initialblockdownload"):
            return f"{network}: wait: the backend is at block {blocks} of {headers}"
    return ""


async def fees(platform: Platform) -> str:
    """Ask mainnet's source of fees for an estimate."""
    settings = platform.settings
    if not settings.mainnet_backend:
        return "first set mainnet_backend, see above"
    backend = local_nodes.grounds(settings)[Network.MAINNET].backend
    if isinstance(backend, Neutrino):
        return await _fee_url(settings.mainnet_fee_url)
    if isinstance(backend, BtcdBackend):
        await _ask(Network.MAINNET, backend, "estimatefee", _TARGET)
        return ""
    answer = await _ask(Network.MAINNET, backend, "estimatesmartfee", _TARGET)
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


async def _ask(network: Network, backend: Backend, method: str, *words: int) -> Any:
    """Call a backend's JSON-RPC."""
    if not isinstance(backend, BtcdBackend | Bitcoind):
        return {}
    scheme, tls = "http", None
    if isinstance(backend, BtcdBackend):
        scheme = "https"
        tls = ssl.create_default_context(cadata=backend.certificate.decode())
        tls.check_hostname = False  # it is this certificate and no other
    body = {"jsonrpc": "1.0", "id": 1, "method": method, "params": words}
    auth = aiohttp.encode_basic_auth(backend.user, backend.password)
    try:
        async with (
            aiohttp.ClientSession(headers={"Authorization": auth}) as session,
            session.post(
                f"{scheme}://{backend.host}", json=body, ssl=tls or False
            ) as response,
        ):
            if response.status == HTTPStatus.UNAUTHORIZED:
                raise SetupError(
                    f"{network}_rpc_user, {network}_rpc_password: refused by "
                    f"{backend.host}"
                )
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, ValueError) as error:
        raise SetupError(f"{network}_rpc_host: {backend.host}: {why(error)}") from None
    if answer.get("error"):
        raise SetupError(f"{network}: {method}: {answer['error'].get('message')}")
    return answer["result"]
