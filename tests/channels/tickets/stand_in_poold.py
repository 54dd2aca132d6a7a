"""A poold that does what a test tells it to: the wire is real, the auction is not."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass

from leyden.channels.tickets.poold import PooldAccess
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.nodes.certificates.self_signed import ensure_certificate

MACAROON = b"a macaroon"
KEY = b"\x02" + b"\xab" * 32
_TRADER = trader.DESCRIPTOR.services_by_name["Trader"]


def written(id_: bytes, *, complete: bytes = b"") -> str:
    """Write a ticket that is nothing but its id, as poold writes tickets."""
    content = b"\x00\x01\x08" + id_
    answer = complete or content + hashlib.sha256(b"sidecar" + content).digest()[:4]
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    letters, number = "", int.from_bytes(answer, "big")
    while number:
        number, value = divmod(number, 58)
        letters = alphabet[value] + letters
    return "sidecar" + "1" * (len(answer) - len(answer.lstrip(b"\0"))) + letters


@dataclass
class StandIn(grpc.GenericRpcHandler):
    """Tickets, bids and leases in dictionaries, and what goes wrong by call."""

    folder: Path
    tickets: dict[str, trader.DecodedSidecarTicket] = field(default_factory=dict)
    bids: dict[bytes, Any] = field(default_factory=dict)
    leases: list[trader.Lease] = field(default_factory=list)
    batches: list[datetime] = field(default_factory=list)
    says: dict[str, str] = field(default_factory=dict)  # refusals, by call
    lost: set[str] = field(default_factory=set)  # done, but the answer never arrives
    garbage: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    available: int = 5_000_000
    height: int = 700
    key: bytes = KEY  # of its account
    only_key: bool = False  # what names another is refused
    state: Any = trader.AccountState.OPEN
    version: Any = trader.AccountVersion.ACCOUNT_VERSION_TAPROOT_V2
    fee: auctioneer.ExecutionFee = field(
        default_factory=lambda: auctioneer.ExecutionFee(base_fee=1, fee_rate=1_000)
    )
    durations: dict[int, Any] = field(default_factory=lambda: {2016: 3, 4032: 1})
    port: int = 0
    _server: grpc.aio.Server | None = None

    @property
    def access(self) -> PooldAccess:
        return PooldAccess(
            host=f"127.0.0.1:{self.port}",
            certificate=self.folder / "tls.cert",
            macaroon=self.folder / "pool.macaroon",
        )

    async def start(self) -> None:
        certificate = self.folder / "tls.cert"
        ensure_certificate(certificate, now=datetime.now(UTC))
        (self.folder / "pool.macaroon").write_bytes(MACAROON)
        key = certificate.with_suffix(".key").read_bytes()
        credentials = grpc.ssl_server_credentials([(key, certificate.read_bytes())])
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((self,))
        self.port = self._server.add_secure_port(f"127.0.0.1:{self.port}", credentials)
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(grace=0)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        name = details.method.rpartition("/")[2]
        sent = dict(details.invocation_metadata)

        async def answer(request: Any, context: Any) -> Any:
            self.calls.append(name)
            if sent.get("macaroon") != MACAROON.hex():
                await context.abort(grpc.StatusCode.UNKNOWN, "verification failed")
            if name in self.hanging:
                await asyncio.sleep(60)
            if name == "OfferSidecar" and self._is_foreign(request):
                await context.abort(grpc.StatusCode.UNKNOWN, "account not found")
            if name in self.says:
                await context.abort(grpc.StatusCode.UNKNOWN, self.says[name])
            answer = getattr(self, f"_{name.lower()}")(request)
            if name in self.lost:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
            return answer

        def written(message: Any) -> bytes:
            return b"\xff" * 9 if name in self.garbage else message.SerializeToString()

        get_message_class = GetMessageClass(_TRADER.methods_by_name[name].input_type)
        return grpc.unary_unary_rpc_method_handler(
            answer, get_message_class.FromString, written
        )

    def _is_foreign(self, request: Any) -> bool:
        return self.only_key and request.bid.details.trader_key != self.key

    # What a poold does.

    def _listaccounts(self, request: Any) -> Any:
        if request.active_only and self.state == trader.AccountState.CLOSED:
            return trader.ListAccountsResponse()
        account = trader.Account(
            trader_key=self.key,
            value=self.available,
            available_balance=self.available,
            state=self.state,
            expiration_height=900,
            version=self.version,
        )
        return trader.ListAccountsResponse(accounts=[account])

    def _getinfo(self, _: Any) -> Any:
        return trader.GetInfoResponse(current_block_height=self.height)

    def _batchsnapshots(self, request: Any) -> Any:
        batches = [
            auctioneer.BatchSnapshotResponse(
                creation_timestamp_ns=int(at.timestamp() * 10**9)
            )
            for at in self.batches[-request.num_batches_back :]
        ]
        return auctioneer.BatchSnapshotsResponse(batches=batches)

    def _auctionfee(self, _: Any) -> Any:
        return trader.AuctionFeeResponse(execution_fee=self.fee)

    def _leasedurations(self, _: Any) -> Any:
        return trader.LeaseDurationResponse(lease_duration_buckets=self.durations)

    def _offersidecar(self, request: Any) -> Any:
        bid = request.bid
        number = len(self.tickets) + 1
        made = trader.DecodedSidecarTicket(
            id=number.to_bytes(8, "big"),
            state="offered",
            offer_capacity=bid.details.amt,
            offer_push_amount=bid.self_chan_balance,
            offer_lease_duration_blocks=bid.lease_duration_blocks,
            offer_sign_pubkey=bid.details.trader_key,
            offer_auto=request.auto_negotiate,
            order_bid_nonce=number.to_bytes(32, "big"),
            encoded_ticket=written(number.to_bytes(8, "big")),
        )
        self.tickets[made.encoded_ticket] = made
        return trader.SidecarTicket(ticket=made.encoded_ticket)

    def _listsidecars(self, request: Any) -> Any:
        wanted = request.sidecar_id
        found = [
            each for each in self.tickets.values() if not wanted or each.id == wanted
        ]
        return trader.ListSidecarsResponse(tickets=found)

    def _cancelsidecar(self, request: Any) -> Any:
        for each in self.tickets.values():
            if each.id == request.sidecar_id:
                each.state = "canceled"
        return trader.CancelSidecarResponse()

    def _listorders(self, request: Any) -> Any:
        bids = [
            trader.Bid(details=trader.Order(order_nonce=nonce, state=state))
            for nonce, state in self.bids.items()
            if not request.active_only or state < auctioneer.OrderState.ORDER_EXECUTED
        ]
        return trader.ListOrdersResponse(bids=bids)

    def _cancelorder(self, request: Any) -> Any:
        self.bids[request.order_nonce] = auctioneer.OrderState.ORDER_CANCELED
        return trader.CancelOrderResponse()

    def _leases(self, _: Any) -> Any:
        return trader.LeasesResponse(leases=self.leases)


@asynccontextmanager
async def standing_in(folder: Path) -> AsyncIterator[StandIn]:
    """Run one on a free port while inside."""
    poold = StandIn(folder)
    await poold.start()
    try:
        yield poold
    finally:
        await poold.stop()
