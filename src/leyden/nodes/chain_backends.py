"""Asking the chain backends of nodes, over JSON-RPC."""

import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from leyden.base.aiohttp_connector import why
from leyden.errors import SetupError
from leyden.nodes.lnd.chains import Backend, Bitcoind, BtcdBackend, Neutrino
from leyden.nodes.rules.nodes import Network

_BEHIND: Final = 2  # blocks that a backend may lack of its headers


async def behind(backends: Mapping[Network, Backend]) -> str:
    """Return which backend is behind its chain, or "".

    Raise SetupError for one that does not respond.
    """
    for network, backend in backends.items():
        if isinstance(backend, Neutrino):
            continue
        answer = await ask(network, backend, "getblockchaininfo")
        blocks, headers = int(answer["blocks"]), int(answer.get("headers") or 0)
        if headers - blocks > _BEHIND or answer.get("initialblockdownload"):
            return f"{network}: wait: the backend is at block {blocks} of {headers}"
    return ""


async def ask(network: Network, backend: Backend, method: str, *words: int) -> Any:
    """Call a backend; raise SetupError with its reason, or what is missing."""
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
