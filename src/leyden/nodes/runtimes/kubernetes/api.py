"""A client for a cluster's API server: calls by path, typed objects.

    async with connect(access) as api:
        pod = await api.find(api.path("pods", "node-1"), Pod)

ClusterAway means that the API server does not respond, or is busy; ClusterRefused, that
it rejected a request, with its reason. A missing object is not an error, nor is one
that exists already.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final, TypeVar

import aiohttp
import msgspec

from leyden.base.aiohttp_connector import Connector, why
from leyden.errors import ClusterAway, ClusterRefused
from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess
from leyden.nodes.runtimes.kubernetes.kinds import ApiRefusal, Metadata
from leyden.values import Struct, field

T = TypeVar("T")
Manifest = Mapping[str, Any]

_WITHIN_S: Final = 30.0
# The server ends a watch after this. A dead connection is silent, and is closed a
# little later.
WATCH_S: Final = 300
_SILENT_S: Final = 330.0
_PAGE: Final = 500
_MAX_BUFFERED: Final = 4 << 20
MAX_TAIL: Final = 1 << 20
_JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND})
_GONE_OR_ANOTHER: Final = _GONE | {HTTPStatus.CONFLICT}
_NOT_THIS: Final = _GONE_OR_ANOTHER | {HTTPStatus.UNPROCESSABLE_ENTITY}
_AWAY: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT})


class _ListMetadata(Struct, frozen=True, kw_only=True, rename="camel"):
    resource_version: str = ""
    next_page: str = field(default="", name="continue")


class _List(Struct, frozen=True, kw_only=True):
    metadata: _ListMetadata = field(default_factory=_ListMetadata)
    items: Sequence[msgspec.Raw] | None = None


class WatchEvent(Struct, frozen=True, kw_only=True):
    """A line of a watch."""

    type: str
    object: msgspec.Raw


class KubernetesApi:
    """A client for one API server, and one namespace in it."""

    def __init__(self, session: aiohttp.ClientSession, access: ApiServerAccess) -> None:
        self._session = session
        self._access = access
        self.namespace = access.namespace
        self.server = access.server

    def path(self, plural: str, name: str = "", *, of: str = "") -> str:
        """Return the path of a kind of objects, of one object, or of a subresource."""
        parts = (plural, name, of)
        rest = "/".join(each for each in parts if each)
        return f"/api/v1/namespaces/{self.namespace}/{rest}"

    async def find(self, path: str, kind: type[T]) -> T | None:
        """Return an object, or None if it does not exist."""
        try:
            return decoded(await self._call("GET", path), kind)
        except ClusterRefused as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def tail(self, path: str, query: Mapping[str, str]) -> bytes | None:
        """Return the last mebibyte of a log; None if there is none.

        A node's owner controls how long its lines are, so memory is limited by bytes.
        """
        within = aiohttp.ClientTimeout(total=_WITHIN_S)
        tail = bytearray()
        try:
            async with self._answer("GET", path, query=query, within=within) as answer:
                async for part in answer.content.iter_any():
                    tail += part
                    if len(tail) > 2 * MAX_TAIL:  # so that each byte moves once
                        del tail[:-MAX_TAIL]
            return bytes(tail[-MAX_TAIL:])
        except ClusterRefused as error:
            if error.code in {HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST}:
                return None
            raise

    async def create(self, path: str, manifest: Manifest, kind: type[T]) -> T | None:
        """Create an object and return it; return None if its name is taken."""
        try:
            made = await self._call("POST", path, manifest)
        except ClusterRefused as error:
            if error.reason == "AlreadyExists":
                return None
            raise
        return decoded(made, kind)

    async def replace(self, path: str, manifest: Manifest) -> bool:
        """Replace an object; return False if it does not exist."""
        return await self._done(self._call("PUT", path, manifest), no=_GONE)

    async def patch(self, path: str, change: Manifest, *, how: str = MERGE) -> bool:
        """Patch an object; return False if it is gone, or has another uid."""
        call = self._call("PATCH", path, change, content_type=how)
        # A uid in the change means one object: the server rejects it for another one.
        names_one = "uid" in change.get("metadata", {})
        return await self._done(call, no=_NOT_THIS if names_one else _GONE_OR_ANOTHER)

    async def delete(
        self, path: str, *, uid: str = "", grace_s: int | None = None
    ) -> bool:
        """Delete an object; return False if it is gone, or has another uid.

        A pod runs on for up to its grace period.
        """
        options: dict[str, object] = {}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        call = self._call("DELETE", path, options)
        return await self._done(call, no=_GONE_OR_ANOTHER)

    async def list_(self, path: str, kind: type[T]) -> tuple[list[T], str]:
        """Return all objects below a path, and the resource version of the list."""
        found: list[T] = []
        query = {"limit": str(_PAGE)}
        while True:
            page = decoded(await self._call("GET", path, query=query), _List)
            found += [decoded(each, kind) for each in page.items or ()]
            if not page.metadata.next_page:
                return found, page.metadata.resource_version
            query["continue"] = page.metadata.next_page

    async def watch(self, path: str, version: str) -> AsyncGenerator[WatchEvent, None]:
        """Yield changes since a version, until the server ends the watch."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_S),
        }
        limit = aiohttp.ClientTimeout(total=None, sock_read=_SILENT_S)
        async with self._answer("GET", path, query=query, within=limit) as answer:
            rest = b""
            # Split lines here, because aiohttp's line reader limits their length.
            async for part in answer.content.iter_any():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    yield decoded(line, WatchEvent)

    async def _done(self, call: Awaitable[bytes], *, no: Collection[int]) -> bool:
        try:
            await call
        except ClusterRefused as error:
            if error.code in no:
                return False
            raise
        return True

    async def _call(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = _JSON,
    ) -> bytes:
        within = aiohttp.ClientTimeout(total=_WITHIN_S)
        async with self._answer(
            method, path, body, query=query, content_type=content_type, within=within
        ) as answer:
            return await answer.read()

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = _JSON,
        within: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request; retry once with a fresh token if the token was rejected."""
        try:
            for renewed in (False, True):
                headers = {"Content-Type": content_type, "Accept": _JSON}
                if token := self._access.token(renewed=renewed):
                    headers["Authorization"] = f"Bearer {token}"
                async with self._session.request(
                    method,
                    f"{self.server}{path}",
                    data=None if body is None else msgspec.json.encode(body),
                    params=query,
                    headers=headers,
                    timeout=within,
                    allow_redirects=False,
                ) as answer:
                    if answer.status == HTTPStatus.UNAUTHORIZED and not renewed:
                        continue
                    if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
                        raise _refused(self.server, answer, await answer.read())
                    yield answer
                    return
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = str(error) or why(error)
            raise ClusterAway(f"{self.server} does not respond: {reason}") from error


@asynccontextmanager
async def connect(access: ApiServerAccess) -> AsyncIterator[KubernetesApi]:
    """Open connections to an API server for the block."""
    context = await asyncio.to_thread(access.context)
    async with aiohttp.ClientSession(
        connector=Connector(ssl=context, limit=64),
        read_bufsize=_MAX_BUFFERED,
        trust_env=False,
    ) as session:
        yield KubernetesApi(session, access)


def decoded(content: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Parse an object; raise ClusterAway for anything else, such as a proxy's page."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise ClusterAway(f"the response is not an API server's: {error}") from None


class Marked(Struct, frozen=True, kw_only=True):
    """The metadata of any object: a bookmark has nothing else."""

    metadata: Metadata = field(default_factory=Metadata)


def _refused(
    server: str, answer: aiohttp.ClientResponse, content: bytes
) -> ClusterAway | ClusterRefused:
    try:
        refusal = msgspec.json.decode(content, type=ApiRefusal)
    except msgspec.DecodeError:
        refusal = ApiRefusal(message=content[:200].decode(errors="replace"))
    status = answer.status
    if status in _AWAY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        after = answer.headers.get("Retry-After", "")
        return ClusterAway(
            f"{server} responded with {status}: {refusal.message}",
            retry_after_s=int(after) if after.isdigit() else None,
            code=status,
        )
    return ClusterRefused(
        refusal.message or f"{server} responded with {status}",
        code=status,
        reason=refusal.reason,
    )
