"""Sending webhooks: POST requests to receivers that we do not trust.

1. The URL is checked again; then its host is looked up, and every address
   is checked.
2. The connection goes to a checked address; TLS is verified by name.
3. The status line and headers decide; redirects are answers and not
   followed.
4. At most 64 KiB of the answer are read, for at most 2 s, and 2 KiB are
   stored.

All of this ends within one deadline, whatever the receiver does.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import Callable, Mapping
from datetime import timedelta
from http import HTTPStatus
from types import TracebackType
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from leyden.errors import Refused
from leyden.events.rules import webhook_urls
from leyden.events.rules.deliveries import Answer
from leyden.events.rules.webhook_urls import Endpoint, parse
from leyden.events.webhooks.connector import Egress, ReceiverConnector, TooLong

DEADLINE_S = 15.0
# A receiver's answer is of no use to us beyond a few words for the owner to read.
MAX_READ = 64 * 1024
_CONNECT_S = 5.0
_BODY_S = 2.0
_EXCERPT_BYTES = 2_048
_SECRET = "Service-Secret"  # noqa: S105  the name of the header
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SENT: Final = {
    "User-Agent": "Leyden",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
}

_CLOSED = "the connection was closed before the answer"
_NOT_HTTP = "the answer is not HTTP"
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no answer in time"),
    (aiohttp.ClientSSLError, "the TLS handshake failed"),
    (aiohttp.ClientConnectorDNSError, "the host name does not resolve"),
    (aiohttp.ClientConnectorError, "the receiver cannot be reached"),
    (aiohttp.ClientOSError, _CLOSED),
    (aiohttp.ServerDisconnectedError, _CLOSED),
    (aiohttp.ClientPayloadError, _CLOSED),
    (TooLong, "the head of the answer does not end"),
    (aiohttp.ClientError, _NOT_HTTP),
    (ValueError, _NOT_HTTP),
)
_FORESEEN: tuple[type[Exception], ...] = (
    Refused,
    *(kind for kind, _ in _REASONS),
)


class HttpSender:
    """Sends webhooks over HTTP/1.1."""

    def __init__(
        self,
        egress: Egress,
        *,
        allowed: webhook_urls.Allowed,
        tls: ssl.SSLContext | None = None,
        deadline_s: float = DEADLINE_S,
        resolver: Callable[[], AbstractResolver] = aiohttp.AsyncResolver,
    ) -> None:
        self._egress = egress
        self._resolver = resolver
        self.deadline_s = deadline_s
        self._allowed = allowed
        self._tls = tls

    def open(self, url: str, organization_id: str) -> "HttpConnection":
        """Open a connection object; the first event connects."""
        del organization_id  # each connection has a connector of its own
        return HttpConnection(self, url)

    def endpoint(self, url: str) -> Endpoint:
        """Return the URL in its parts; raise Refused if it may not be called."""
        return parse(url, self._allowed)

    def connector(self) -> ReceiverConnector:
        """Return a new connector, for one receiver."""
        return ReceiverConnector(self._egress, self._resolver())

    async def trusted(self) -> ssl.SSLContext:
        """Return the trusted authorities; by default this machine's.

        Reading all of them takes 30 ms, so they are read when first needed.
        """
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls


class HttpConnection(contextlib.AbstractAsyncContextManager["HttpConnection"]):
    """A connection to one receiver, made when needed and reused while open."""

    def __init__(self, sender: HttpSender, url: str) -> None:
        self._sender = sender
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send an event and return the answer; a failure is an answer, too."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(self._sender.deadline_s):
                response = await self._exchange(headers, body)
            left_s = begun + self._sender.deadline_s - clock()
            said = await _read(response, min(_BODY_S, max(left_s, 0)))
        except _FORESEEN as error:
            await self._close()
            return Answer(error=_reason(error), took=timedelta(seconds=clock() - begun))
        return Answer(
            status=response.status,
            excerpt=_excerpt(response, said, secret=headers.get(_SECRET, "")),
            retry_after=response.headers.get("Retry-After", ""),
            took=timedelta(seconds=clock() - begun),
        )

    async def _exchange(
        self, headers: Mapping[str, str], body: bytes
    ) -> aiohttp.ClientResponse:
        if self._session is not None:
            # A receiver may close a kept connection at any time; that says nothing
            # about the event, so it gets a connection of its own.
            with contextlib.suppress(
                aiohttp.ServerDisconnectedError, aiohttp.ClientOSError
            ):
                return await self._ask(self._session, headers, body)
            await self._close()
        self._session = aiohttp.ClientSession(
            connector=self._sender.connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=MAX_READ // 2,
            timeout=aiohttp.ClientTimeout(sock_connect=_CONNECT_S),
        )
        return await self._ask(self._session, headers, body)

    async def _ask(
        self, session: aiohttp.ClientSession, headers: Mapping[str, str], body: bytes
    ) -> aiohttp.ClientResponse:
        endpoint = self._sender.endpoint(self._url)
        scheme = "https" if endpoint.tls else "http"
        response = await session.post(
            URL(f"{scheme}://{endpoint.host_header}{endpoint.target}", encoded=True),
            data=body,
            headers={**_SENT, **headers},
            allow_redirects=False,
            ssl=await self._sender.trusted() if endpoint.tls else True,
        )
        if response.status == HTTPStatus.SWITCHING_PROTOCOLS:
            raise aiohttp.ClientError  # to what, without having been asked?
        return response

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _read(response: aiohttp.ClientResponse, patience_s: float) -> bytes:
    """Read the body for a moment; the outcome is decided.

    A connection whose answer has not ended is not used again.
    """
    said = bytearray()
    try:
        async with asyncio.timeout(patience_s):
            async for piece in response.content.iter_any():
                said += piece
                if len(said) >= MAX_READ:
                    response.close()
                    break
    except (TimeoutError, aiohttp.ClientError):
        response.close()
    return bytes(said[:MAX_READ])


def _reason(error: Exception) -> str:
    if isinstance(error, Refused):
        return error.message
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = error.certificate_error
        why = getattr(why, "verify_message", why)
        return f"the certificate does not verify: {why}"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(
        error.os_error, ConnectionRefusedError
    ):
        return "the connection was refused"
    return next(reason for kind, reason in _REASONS if isinstance(error, kind))


def _excerpt(response: aiohttp.ClientResponse, body: bytes, *, secret: str) -> str:
    """Return the answer as readable text, without the secret that was sent."""
    if not body:
        return ""
    if response.headers.get("Content-Encoding", "").lower() not in ("", "identity"):
        return "(not shown: it was compressed although that was not asked for)"
    text = body.decode("utf-8", "replace")
    if secret:
        text = re.sub(re.escape(secret), "***", text, flags=re.IGNORECASE)
    text = _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text.encode()[:_EXCERPT_BYTES].decode("utf-8", "ignore")
