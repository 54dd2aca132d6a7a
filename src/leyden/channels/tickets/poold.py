"""A gRPC client for the provider's poold that classifies its answers.

There are three: yes; no, which is MarketRefused with poold's own reason;
and unknown, which is MarketAway. poold gives most of its reasons as plain
text, so refusals are listed here. What is not listed is unknown: the call
is retried, never guessed.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from leyden.channels.tickets.stubs import trader_pb2
from leyden.errors import MarketAway, MarketRefused, SoldOut
from leyden.values import Struct

log = logging.getLogger(__name__)

_TRADER = trader_pb2.DESCRIPTOR.services_by_name["Trader"]
_PATIENCE_S = 20.0  # an auction that hangs is one that is away
_BRIEF = 5  # a fifth of that, for what we can do without
_RETRY_AFTER_S = 5
_LONGEST_REASON = 300
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),  # the list of all tickets ever made
    ("grpc.enable_retries", 0),  # what is repeated is decided by us
    # gRPC would go through https_proxy, which does not know what is beside us.
    ("grpc.enable_http_proxy", 0),
    # A poold that was restarted is found within a second.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)

NO_SUCH_BID = "no order found"
# What poold says, in part, and what it means.
_NO: tuple[tuple[str, type[MarketRefused | SoldOut]], ...] = (
    ("insufficient account balance", SoldOut),
    # Of tickets and bids
    (NO_SUCH_BID, MarketRefused),
    ("is already in terminal state", MarketRefused),
    ("unable to cancel order in terminal state", MarketRefused),
    ("invalid lease duration", MarketRefused),
    ("invalid channel lease duration", MarketRefused),
    ("invalid max batch fee rate", MarketRefused),
    ("channel capacity must be", MarketRefused),
    ("self channel balance", MarketRefused),
    ("min units match must", MarketRefused),
    ("wumbo sized", MarketRefused),
    # Of accounts
    ("account must be in", MarketRefused),
    ("account value allowed", MarketRefused),
    ("account value is", MarketRefused),
    ("insufficient funds", MarketRefused),
)


class PooldAccess(Struct, frozen=True, kw_only=True):
    """The address and files of poold; files are read when they are needed."""

    host: str  # HOST:PORT
    certificate: Path
    macaroon: Path


class Poold:
    """A client for a poold, which may start or change its certificate later."""

    def __init__(self, access: PooldAccess, *, patience_s: float = _PATIENCE_S) -> None:
        self._access = access
        self._patience_s = patience_s
        self._certificate = b""
        self._channel: grpc.aio.Channel | None = None
        self._replaced: set[asyncio.Task[None]] = set()

    async def call(self, name: str, request: Message, *, brief: bool = False) -> Any:
        """Call once; raise MarketRefused for a refusal, MarketAway if unknown.

        A `brief` call is one that its caller can do without.
        """
        channel, macaroon = self._connected()
        answer = GetMessageClass(_TRADER.methods_by_name[name].output_type)
        ask = channel.unary_unary(
            f"/{_TRADER.full_name}/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        try:
            answered = await ask(
                request,
                metadata=(("macaroon", macaroon),),
                timeout=self._patience_s / (_BRIEF if brief else 1),
            )
        except grpc.aio.AioRpcError as error:
            raise _meaning(error.details() or error.code().name) from None
        if answered is None:  # how gRPC reports bytes that are no message
            raise _meaning("its response can't be parsed")
        return answered

    async def close(self) -> None:
        """Close the connection."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
        await asyncio.gather(*self._replaced, return_exceptions=True)

    def _connected(self) -> tuple[grpc.aio.Channel, str]:
        """Return the connection, a new one if poold's certificate has changed."""
        try:
            macaroon = self._access.macaroon.read_bytes().hex()
            certificate = self._access.certificate.read_bytes()
        except OSError as error:
            # Which file and why is for the operator, not for who asked.
            log.warning("can't read poold's files", extra={"why": str(error)})
            raise MarketAway(retry_after_s=_RETRY_AFTER_S) from None
        if self._channel is None or certificate != self._certificate:
            self._replace(certificate)
        assert self._channel is not None  # noqa: S101  for the type checker
        return self._channel, macaroon

    def _replace(self, certificate: bytes) -> None:
        if self._channel is not None:
            closing = asyncio.create_task(self._channel.close())
            self._replaced.add(closing)
            closing.add_done_callback(self._replaced.discard)
        self._channel = grpc.aio.secure_channel(
            self._access.host,
            grpc.ssl_channel_credentials(certificate),
            options=_OPTIONS,
        )
        self._certificate = certificate


def _meaning(said: str) -> MarketAway | MarketRefused:
    """Return the error for a message: a refusal, or an unknown outcome."""
    reason = " ".join(said.split())[:_LONGEST_REASON]
    for part, kind in _NO:
        if part in said:
            if kind is SoldOut:
                return SoldOut(retry_after_s=_RETRY_AFTER_S)
            return MarketRefused(reason)
    return MarketAway(
        retry_after_s=_RETRY_AFTER_S, why=f"the auction does not respond: {reason}"
    )
