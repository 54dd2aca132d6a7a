"""A client of the platform's API for private chain scenarios."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from leyden.errors import Away, Refused, SetupError
from leyden_workshop.devnet import first_run

_BUSY = 503

Calls = Callable[[str, str, object], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def calling(home: Path, api_key: str = "") -> AsyncIterator[Calls]:
    """Yield a function that calls this home's API, with its own key unless another."""
    account = first_run.read(home)
    if not account:
        raise SetupError("no private chain here yet; `leyden up` starts one")
    tls = ssl.create_default_context()
    if ca_path := account.get("ca_path"):
        tls.load_verify_locations(ca_path)  # for the API too, with `api_tls`
    async with aiohttp.ClientSession(
        headers={"X-SERVICE-AUTH": api_key or account["api_key"]},
        connector=aiohttp.TCPConnector(ssl=tls),
    ) as session:

        async def call(method: str, path: str, body: object) -> dict[str, Any]:
            try:
                async with session.request(
                    method, f"{account['base_url']}{path}", json=body
                ) as answer:
                    found: dict[str, Any] = await answer.json()
            except (aiohttp.ClientError, TimeoutError, ValueError):
                raise Away(
                    "the platform does not respond; start it with `leyden up`"
                ) from None
            if answer.status == _BUSY:
                raise Away(str(found.get("message")))
            if not answer.ok:
                raise Refused(str(found.get("message")))
            return found

        yield call
