"""A small client for a cluster's API, with the calls that creating one needs."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from leyden.errors import Away
from leyden_workshop.devcluster.certificates import Pair

_WITHIN_S: Final = 30.0
_WATCH_S: Final = 300
_MAX_LINE: Final = 4 << 20

Object = dict[str, Any]


class ApiAway(Away):
    """The API server does not respond."""


class ApiRefused(Exception):
    """The API server rejected a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class ClusterApi:
    """Calls to one API server."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def get(self, path: str) -> Object:
        """Return an object, or a list of them."""
        return await self._call("GET", path)

    async def create(self, path: str, value: Mapping[str, Any]) -> bool:
        """Create an object; return whether it is new."""
        try:
            await self._call("POST", path, value)
        except ApiRefused as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    async def delete(self, path: str) -> None:
        """Delete an object; no-op if it does not exist."""
        try:
            await self._call("DELETE", path)
        except ApiRefused as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def ready(self) -> bool:
        """Return whether the API server responds and is ready."""
        try:
            async with self._session.get(f"{self._server}/readyz") as answer:
                return answer.status == HTTPStatus.OK
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def watch(self, path: str, version: str) -> AsyncIterator[tuple[str, Object]]:
        """Yield changes of a list since a version, until the server ends the watch."""
        query = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_S),
        }
        limit = aiohttp.ClientTimeout(total=None, sock_read=_WATCH_S + _WITHIN_S)
        try:
            async with self._session.get(
                self._server + path, params=query, timeout=limit
            ) as answer:
                if answer.status != HTTPStatus.OK:
                    raise ApiRefused(answer.status, await answer.text())
                async for line in answer.content:
                    event = msgspec.json.decode(line)
                    yield event["type"], event["object"]
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiAway(f"{self._server}: {error}") from None

    async def _call(
        self, method: str, path: str, value: Mapping[str, Any] | None = None
    ) -> Object:
        body = None if value is None else msgspec.json.encode(value)
        headers = {"Content-Type": "application/json"}
        try:
            async with self._session.request(
                method, self._server + path, data=body, headers=headers
            ) as answer:
                found = msgspec.json.decode(await answer.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise ApiAway(f"{self._server}: {error}") from None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiRefused(answer.status, str(found.get("message", "")))
        return dict(found)


@contextlib.asynccontextmanager
async def opened(server: str, authority: Path, pair: Pair) -> AsyncIterator[ClusterApi]:
    """Open a client for an API server, as the user in the certificate."""
    context = ssl.create_default_context(cafile=str(authority))
    context.load_cert_chain(pair.certificate, pair.key)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=_WITHIN_S),
        read_bufsize=_MAX_LINE,
    ) as session:
        yield ClusterApi(session, server)
