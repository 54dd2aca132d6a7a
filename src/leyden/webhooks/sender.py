"""Sending webhooks: POST requests to receivers that we do not trust.

1. The URL is checked again; then its host is looked up, and every address
   is checked.
2. The connection goes to a checked address, as a number; TLS is verified by
   name.
3. The status line and headers decide; redirects are answers and not
   followed.
4. At most 64 KiB of the answer are read, for at most 2 s, and 2 KiB are
   stored.

All of this ends within one deadline, whatever the receiver does.
"""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType

from leyden.domain import webhook_urls
from leyden.domain.deliveries import Answer
from leyden.domain.endpoints import Endpoint, parse
from leyden.errors import Refused
from leyden.webhooks.egress import Egress
from leyden.webhooks.wire import Closed, NotHttp, Reply, TooLong, Wire

DEADLINE_S = 15.0
_CONNECT_S = 5.0
_MOST_ADDRESSES = 4
_BODY_S = 2.0
_KEPT = 2_048
_SECRET = "Service-Secret"  # noqa: S105  the name of the header
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ssl.SSLError, "the TLS handshake failed"),
    (socket.gaierror, "the host name does not resolve"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionError, "the connection was closed before the answer"),
    (OSError, "the receiver cannot be reached"),
    (Closed, "the connection was closed before the answer"),
    (NotHttp, "the answer is not HTTP"),
    (TooLong, "the head of the answer does not end"),
)
_FORESEEN = tuple(kind for kind, _ in _REASONS)


class HttpSender:
    """Sends webhooks over HTTP/1.1."""

    def __init__(
        self,
        egress: Egress,
        *,
        allowed: webhook_urls.Allowed,
        tls: ssl.SSLContext | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._egress = egress
        self._allowed = allowed
        self._tls = tls
        self._deadline_s = deadline_s

    def open(self, url: str, organization_id: str) -> "HttpLine":
        """Open a connection object; the first event connects."""
        return HttpLine(self, url, organization_id, self._deadline_s)

    async def connect(self, url: str, organization_id: str) -> tuple[Endpoint, Wire]:
        """Connect to a permitted receiver, at the first address that accepts."""
        endpoint = parse(url, self._allowed)
        addresses = await self._egress.addresses(endpoint, organization_id)
        *others, last = addresses[:_MOST_ADDRESSES]
        for address in others:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return endpoint, await self._dial(endpoint, address)
            except ssl.SSLError:
                raise  # it is the same receiver behind each address
            except OSError:
                continue
        return endpoint, await self._dial(endpoint, last)

    async def _dial(self, endpoint: Endpoint, address: str) -> Wire:
        _, wire = await asyncio.get_running_loop().create_connection(
            Wire,
            address,
            endpoint.port,
            ssl=await self._trusted() if endpoint.tls else None,
            server_hostname=endpoint.host if endpoint.tls else None,
        )
        return wire

    async def _trusted(self) -> ssl.SSLContext:
        """Return the trusted authorities; by default this machine's.

        Reading all of them takes 30 ms, so they are read when first needed.
        """
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls


class HttpLine(contextlib.AbstractAsyncContextManager["HttpLine"]):
    """A connection to one receiver, made when needed and reused while open."""

    def __init__(
        self, sender: HttpSender, url: str, organization_id: str, deadline_s: float
    ) -> None:
        self._sender = sender
        self._url = url
        self._organization_id = organization_id
        self._deadline_s = deadline_s
        self._connected: tuple[Endpoint, Wire] | None = None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send an event and return the answer; a failure is an answer, too."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(self._deadline_s):
                reply = await self._exchange(headers, body)
            left_s = begun + self._deadline_s - clock()
            await self._rest(reply, min(_BODY_S, max(left_s, 0)))
        except Refused as refusal:
            return Answer(
                error=refusal.message, took=timedelta(seconds=clock() - begun)
            )
        except _FORESEEN as error:
            self.close()
            return Answer(error=_reason(error), took=timedelta(seconds=clock() - begun))
        return Answer(
            status=reply.status,
            excerpt=_excerpt(reply, secret=headers.get(_SECRET, "")),
            retry_after=reply.retry_after,
            took=timedelta(seconds=clock() - begun),
        )

    def close(self) -> None:
        """Close the connection."""
        if self._connected is not None:
            self._connected[1].close()
            self._connected = None

    async def _exchange(self, headers: Mapping[str, str], body: bytes) -> Reply:
        if self._connected is not None and self._connected[1].is_open:
            # A receiver may close a kept connection at any time; that says nothing
            # about the event, so it gets a connection of its own.
            with contextlib.suppress(Closed, ConnectionError):
                return await self._ask(*self._connected, headers, body)
        self.close()
        self._connected = await self._sender.connect(self._url, self._organization_id)
        return await self._ask(*self._connected, headers, body)

    async def _ask(
        self,
        endpoint: Endpoint,
        wire: Wire,
        headers: Mapping[str, str],
        body: bytes,
    ) -> Reply:
        kind = headers.get("Content-Type", "application/json")
        lines = [
            f"POST {endpoint.target} HTTP/1.1",
            f"Host: {endpoint.host_header}",
            "User-Agent: Leyden",
            "Accept-Encoding: identity",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {headers[name]}" for name in headers if name != "Content-Type"),
        ]
        reply = wire.send("\r\n".join([*lines, "\r\n"]).encode("ascii") + body)
        await reply.head
        return reply

    async def _rest(self, reply: Reply, patience_s: float) -> None:
        """Read the rest of the answer for a moment; the outcome is decided."""
        if reply.end.done():
            return
        try:
            async with asyncio.timeout(patience_s):
                await reply.end
        except TimeoutError:
            self.close()


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate does not verify: {error.verify_message}"
    return next(reason for kind, reason in _REASONS if isinstance(error, kind))


def _excerpt(reply: Reply, *, secret: str) -> str:
    """Return the answer as readable text, without the secret that was sent."""
    if not reply.body:
        return ""
    if reply.encoding.lower() not in ("", "identity"):
        return "(not shown: it was compressed although that was not asked for)"
    text = reply.body.decode("utf-8", "replace")
    if secret:
        text = re.sub(re.escape(secret), "***", text, flags=re.IGNORECASE)
    text = _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text.encode()[:_KEPT].decode("utf-8", "ignore")
