"""bitcoind's RPC as LDK calls it, over a btcd: plain HTTP, and what btcd lacks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web
from aiohttp.test_utils import TestServer

from leyden.errors import Refused
from leyden_workshop.devnet.access import BtcdAccess
from leyden_workshop.devnet.chain import BtcdChain, connected

_NOT_FOUND: Final = -5


@asynccontextmanager
async def bitcoind(btcd: BtcdAccess) -> AsyncIterator[int]:
    """Yield the port of a bitcoind on the chain of this btcd."""
    async with connected(btcd) as chain:

        async def answer(request: web.Request) -> web.Response:
            body = await request.json()
            answer: dict[str, Any] = {"id": body["id"], "result": None, "error": None}
            try:
                answer["result"] = await _call(
                    chain, body["method"], body.get("params") or []
                )
            except Refused as refused:
                answer["error"] = {"code": _NOT_FOUND, "message": refused.message}
            return web.json_response(answer, status=500 if answer["error"] else 200)

        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/", answer)
        async with TestServer(app) as server:
            assert server.port
            yield server.port


async def _call(  # noqa: PLR0911  a line for each method
    chain: BtcdChain, method: str, params: list[Any]
) -> Any:
    match method:
        case "estimatesmartfee":  # unknown to btcd on a chain without traffic
            return {"feerate": 0.00002, "blocks": params[0]}
        case "getmempoolinfo":
            answer = await chain.call(method)
            return {"mempoolminfee": 0.00001, "loaded": True, **answer}
        case "getmempoolentry":  # which btcd does not have
            pool = await chain.call("getrawmempool", True)  # noqa: FBT003
            if params[0] not in pool:
                raise Refused("Transaction not in mempool")
            entry = pool[params[0]]
            return {**entry, "time": int(entry["time"]), "height": int(entry["height"])}
        case "getblockheader":
            header = await chain.call(method, params[0], True)  # noqa: FBT003
            header["chainwork"] = f"{2 * (header['height'] + 1):064x}"
            if not header["height"]:
                header.pop("previousblockhash", None)
            return header
        case "getrawtransaction":
            return await chain.call(method, params[0], int(any(params[1:2])))
        case "getblock":
            return await chain.call(method, params[0], int((params[1:] or [1])[0]))
    return await chain.call(method, *params)
