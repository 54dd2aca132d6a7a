"""The API server of a cluster behind a proxy that a test is in the middle of.

    async with proxied(cluster, folder) as proxy:
        proxy.strike = kill          # called before and after each call about nodes
        proxy.watches = Watches.CUT  # what becomes of watches from now on
        proxy.go_away()              # nobody answers any more, until `come_back`

Whoever comes by it is the cluster's administrator.
"""

import base64
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Final

import aiohttp
import yaml
from aiohttp import web

from leyden.nodes.runtimes.kubernetes import access
from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess
from leyden.values import replace
from tests.authority import Authority
from tests.workshop.devcluster.clusters import DevCluster

_HOST: Final = "127.0.0.1"
_OF_NODES: Final = frozenset(
    {
        *("pods", "persistentvolumeclaims", "persistentvolumes"),
        *("secrets", "services"),
    }
)
_LARGEST: Final = 16 << 20
_TOO_OLD: Final = (
    b'{"type": "ERROR", "object": {"kind": "Status", "code": 410,'
    b' "reason": "Expired", "message": "too old resource version"}}\n'
)


class Moment(Enum):
    """When something happens to a call."""

    BEFORE = auto()  # it has arrived, and nothing has come of it
    AFTER = auto()  # it was done, and who called has not heard of that


class Watches(Enum):
    """What becomes of watches."""

    SERVED = auto()
    CUT = auto()  # those that run are, and each new one
    TOO_OLD = auto()  # the same; what new ones go on from is forgotten


# Given the name of a call ("POST pods"); returns whether the call goes on.
Strike = Callable[[str, Moment], Awaitable[bool]]


async def _nothing(_: str, __: Moment) -> bool:
    return True


class ApiProxy:
    """The proxy; nothing happens to calls until a test says so."""

    def __init__(
        self,
        access: ApiServerAccess,
        session: aiohttp.ClientSession,
        by: ApiServerAccess,
    ) -> None:
        self._access = access
        self._session = session
        self._by = by
        self._running: dict[int, web.Request] = {}
        self._watches = Watches.SERVED
        self._is_away = False
        self.strike: Strike = _nothing

    @property
    def watches(self) -> Watches:
        return self._watches

    @watches.setter
    def watches(self, becomes: Watches) -> None:
        self._watches = becomes
        if becomes is not Watches.SERVED:
            for each in list(self._running.values()):
                _cut(each)

    def go_away(self) -> None:
        """Answer nobody, and cut who is being answered."""
        self._is_away = True
        self.watches = Watches.CUT

    def come_back(self) -> None:
        """Answer again."""
        self._is_away = False
        self.watches = Watches.SERVED

    def access(self, namespace: str) -> ApiServerAccess:
        """Return how to come by it."""
        return replace(self._by, namespace=namespace)

    def kubeconfig(self, folder: Path) -> Path:
        """Write how to come by it, as an operator does."""
        authority = base64.b64encode(self._by.authority_pem.encode()).decode()
        cluster = {"server": self._by.server, "certificate-authority-data": authority}
        unified = {
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": {"token": self._by.fixed_token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        file = folder / "proxied.kubeconfig"
        file.write_text(yaml.safe_dump(unified))
        return file

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Pass a call on."""
        if "watch" in request.query:
            return await self._watch(request)
        call = _name(request)
        body = await request.read()
        if not await self._goes_on(call, Moment.BEFORE):
            return _cut(request)
        try:
            async with self._passed_on(request, body) as existing:
                answer = web.Response(
                    status=existing.status,
                    body=await existing.read(),
                    content_type=existing.content_type,
                )
        except aiohttp.ClientError:
            return _cut(request)
        if not await self._goes_on(call, Moment.AFTER):
            return _cut(request)
        return answer

    async def _goes_on(self, call: str, moment: Moment) -> bool:
        if self._is_away:
            return False
        return not call or await self.strike(call, moment)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if self.watches is Watches.CUT:
            return _cut(request)
        if self.watches is Watches.TOO_OLD:
            return web.Response(body=_TOO_OLD, content_type="application/json")
        self._running[id(request)] = request
        try:
            async with self._passed_on(request, b"") as existing:
                answer = web.StreamResponse(status=existing.status)
                await answer.prepare(request)
                async for part in existing.content.iter_any():
                    await answer.write(part)
        except aiohttp.ClientError:
            return _cut(request)
        finally:
            del self._running[id(request)]
        return answer

    def _passed_on(
        self, request: web.Request, body: bytes
    ) -> "aiohttp.client._RequestContextManager":
        names = ("Accept", "Content-Type")
        return self._session.request(
            request.method,
            f"{self._access.server}{request.raw_path}",
            data=body or None,
            headers={n: request.headers[n] for n in names if n in request.headers},
            timeout=aiohttp.ClientTimeout(total=None),
        )


@asynccontextmanager
async def proxied(cluster: DevCluster, folder: Path) -> AsyncIterator[ApiProxy]:
    """Have a proxy before a cluster's API server, for the length of the block."""
    existing = access.read(cluster.places.kubeconfig, "default")
    authority = Authority("a proxy")
    authority.give(folder / "proxy", _HOST)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "proxy/tls.cert", folder / "proxy/tls.key")
    taken = socket.create_server((_HOST, 0))
    by = ApiServerAccess(
        server=f"https://{_HOST}:{taken.getsockname()[1]}",
        namespace="",
        authority_pem=authority.pem,
        fixed_token="any",
    )
    connector = aiohttp.TCPConnector(ssl=existing.context(), limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        proxy = ApiProxy(existing, session, by)
        app = web.Application(client_max_size=_LARGEST)
        app.router.add_route("*", "/{path:.*}", proxy.answer)
        runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
        await runner.setup()
        try:
            await web.SockSite(runner, taken, ssl_context=context).start()
            yield proxy
        finally:
            await runner.cleanup()


def _cut(request: web.Request) -> web.Response:
    """Cut the connection that a call came by."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=502)


def _name(request: web.Request) -> str:
    """Return the name of a call about an object of a node; "" of any other."""
    parts = request.path.removeprefix("/api/v1/").split("/")
    plural = [*parts[2 * (parts[0] == "namespaces") :], ""][0]
    return f"{request.method} {plural}" if plural in _OF_NODES else ""
