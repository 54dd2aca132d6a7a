"""The Python client library for programs with an event loop.

    from leyden.client.aio import AsyncClient

    async with AsyncClient("https://api.example.org", key) as leyden:
        for node in await leyden.nodes.list():
            print(node.node_name, node.status)

Everything is as in `leyden.client`, from which tests/client/asynchronous.py makes this
module. Several tasks may use a client at once.
"""

# ruff: noqa: A002, E501, SLF001
import asyncio
import base64
import builtins
import hashlib
import ssl
import time
import uuid
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import msgspec

from leyden import client
from leyden.client import (
    backups,
    calls,
    events,
    flow,
    nodes,
    operator,
    subscriptions,
    waiting,
)
from leyden.client.async_wire import AsyncWire
from leyden.client.lnd import Lnd
from leyden.client.wire import NoResponse, Received, Server
from leyden.schemas.accounts import KeyAnswer as Key
from leyden.schemas.accounts import QuotasAnswer, QuotaUsage
from leyden.schemas.backups import (
    ChannelsAnswer,
    DrillAnswer,
    FoundInClear,
    MacaroonAnswer,
    MacaroonItem,
    MacaroonsAnswer,
    NewDrill,
    NewlySealed,
    NewMacaroon,
    NewSeed,
    ProofsAnswer,
    ReplacedAnswer,
    ReplacedItem,
    ResealedAnswer,
    ResealedMacaroon,
    ResealedSeed,
    SeedAnswer,
)
from leyden.schemas.credit import (
    BalanceAnswer,
    CouponAnswer,
    CouponReference,
    CouponsAnswer,
    LedgerAnswer,
    LedgerEntry,
    Redeemed,
)
from leyden.schemas.deleted_nodes import DeletedNode, DeletedNodesAnswer, Restore
from leyden.schemas.events import EventsAnswer, LoggedEvent
from leyden.schemas.flow import (
    CancelledOrder,
    ExtensionAnswer,
    ExtensionQuoteAnswer,
    ExtensionsAnswer,
    OrderAnswer,
    OrderReference,
    OrdersAnswer,
    QuoteAnswer,
)
from leyden.schemas.node_access import (
    CertificateAnswer,
    ConnectAnswer,
    NewWhitelist,
    WhitelistAnswer,
)
from leyden.schemas.nodes import (
    CreatedNode,
    LogAnswer,
    MetricsAnswer,
    NodeAnswer,
    NodeItem,
    NodesAnswer,
    Update,
    UpdatedNode,
    VersionsAnswer,
)
from leyden.schemas.operator import (
    AilingAnswer,
    AilingNode,
    AlarmsAnswer,
    AllCouponsAnswer,
    AuditAnswer,
    AuditLine,
    BackupsAnswer,
    CouponItem,
    FleetAnswer,
    FleetNode,
    InstallationAnswer,
    IssuedCoupons,
    KeyItem,
    KeysAnswer,
    MemberItem,
    MembersAnswer,
    NewestOrdersAnswer,
    NewInvitationAnswer,
    NewKeyAnswer,
    OrderAttention,
    OrderAttentionAnswer,
    OrganizationAnswer,
    OrganizationItem,
    OrganizationsAnswer,
    QuotaLimits,
    QuotaLimitsAnswer,
    Removed,
    SessionItem,
    SessionsAnswer,
    SoldOrder,
    SoldOrdersAnswer,
    UserItem,
    UsersAnswer,
)
from leyden.schemas.platform import PlatformAnswer
from leyden.schemas.subscriptions import (
    DeletedSubscription,
    EventDeliveriesAnswer,
    EventDelivery,
    NewSubscriptionAnswer,
    ResendFrom,
    SubscriptionItem,
    SubscriptionsAnswer,
    SubscriptionSecret,
)
from leyden.schemas.webhooks import DeliveriesAnswer, DeliveryItem, SecretAnswer
from leyden.schemas.wrapped import WrappedAnswer, WrappingFee, WrappingInfo
from leyden.values import Struct, hiding


class AsyncCalls(Struct, frozen=True, kw_only=True):
    """Authenticated calls to the platform's API.

    A repeatable call is retried once after the wait that a 409, 429 or 503
    asks for, if the wait is short, and once more after a lost connection. A
    409 asks for one while the call that lost its connection is in progress.
    Repeatable calls are GETs, and calls with an Idempotency-Key, which is
    generated if not given. A call that got a 429 is always retried, since
    the platform did nothing.
    """

    url: str
    wire: AsyncWire
    key: str
    longest_wait_s: float = calls.LONGEST_WAIT_S
    __repr__ = hiding("key")

    async def get(
        self, path: str, kind: type[calls.Answer], **query: str | int | datetime | None
    ) -> calls.Answer:
        """Send a GET request."""
        parameters = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in query.items()
            if value is not None
        }
        if parameters:
            path = f"{path}?{urlencode(parameters)}"
        return await self._call("GET", path, kind, None, {}, repeatable=True)

    async def post(
        self, path: str, kind: type[calls.Answer], body: object = None
    ) -> calls.Answer:
        """Send a POST request; never repeat one that may have run."""
        return await self._call("POST", path, kind, body, {}, repeatable=False)

    async def post_once(
        self, path: str, kind: type[calls.Answer], body: object, key: str | None
    ) -> calls.Answer:
        """Send a POST with an Idempotency-Key: repeats take effect only once."""
        named = {"Idempotency-Key": key if key is not None else uuid.uuid4().hex}
        return await self._call("POST", path, kind, body, named, repeatable=True)

    async def delete(self, path: str, kind: type[calls.Answer]) -> calls.Answer:
        """Send a DELETE request."""
        return await self._call("DELETE", path, kind, None, {}, repeatable=False)

    async def _call(
        self,
        method: str,
        path: str,
        kind: type[calls.Answer],
        body: object,
        more: Mapping[str, str],
        *,
        repeatable: bool,
    ) -> calls.Answer:
        headers = {"X-SERVICE-AUTH": self.key, **more}
        content = None
        if body is not None:
            content = msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()) or " " in value:
                raise calls.ApiError(
                    f"{name}: has characters that are not allowed in a header", status=0
                )
        received = await self._ask(
            method, path, content, headers, repeatable=repeatable
        )
        wait_s = calls._wait_s(received)
        if (
            wait_s is not None
            and wait_s <= self.longest_wait_s
            and (repeatable or received.status == calls._TOO_MANY)
        ):
            await asyncio.sleep(wait_s)
            received = await self._ask(
                method, path, content, headers, repeatable=repeatable
            )
        return self._read(received, kind)

    async def _ask(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        repeatable: bool,
    ) -> Received:
        tries = 2 if repeatable else 1
        while True:
            tries -= 1
            try:
                return await self.wire.request(method, path, content, headers)
            except NoResponse as error:
                late = isinstance(error.__cause__, TimeoutError)
                if tries and error.sent and (not late):
                    continue
                raise calls.ApiError(
                    f"{self.url} does not respond: {error}", status=0
                ) from None

    def _read(self, received: Received, kind: type[calls.Answer]) -> calls.Answer:
        if received.status != calls._OK:
            raise calls._error(received, self.url)
        try:
            return msgspec.json.decode(received.body, type=kind)
        except msgspec.MsgspecError:
            raise calls.ApiError(
                f"{self.url} sent an unexpected response; check that this is the URL of the API{calls._other_version(received, self.url)}",
                status=received.status,
            ) from None


async def poll(
    what: str,
    read: Callable[[], Awaitable[waiting.State]],
    statuses: Collection[str],
    *,
    every_s: float,
    within_s: float,
    on_state: Callable[[waiting.State], object],
) -> waiting.State:
    """Poll until the status is one of these; return the last result.

    Raise TimeoutError after `within_s`. `on_state` is called with the result of
    each poll.
    """
    deadline = time.monotonic() + within_s
    while True:
        state = await read()
        on_state(state)
        if state.status in statuses:
            return state
        if time.monotonic() + every_s > deadline:
            raise TimeoutError(f"{what} is {state.status} after {within_s:.0f} s")
        await asyncio.sleep(every_s)


class AsyncNodes:
    """An organization's nodes."""

    def __init__(
        self, calls: AsyncCalls, organization: Callable[[], Awaitable[str]]
    ) -> None:
        self._calls = calls
        self._organization = organization

    async def list(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> builtins.list[NodeItem]:
        """List all nodes that match, oldest first."""
        return (
            await self._calls.get(
                await self._path(),
                NodesAnswer,
                status=status,
                name=name,
                created_after=created_after,
                created_before=created_before,
            )
        ).nodes

    async def find(self, name_or_id: str) -> NodeItem:
        """Return the node with this name or id; raise ApiError 404 for neither."""
        for node in await self.list():
            if name_or_id in {node.node_id, node.node_name}:
                return node
        raise calls.ApiError("no node with this name or id", status=404)

    async def get(self, node_id: str) -> NodeAnswer:
        """Return a node with its settings."""
        return await self._calls.get(await self._path(node_id), NodeAnswer)

    async def create(
        self,
        name: str,
        *,
        settings: Mapping[str, object],
        network: str = "testnet",
        type: str = "standard",
        version: str | None = None,
        key: str | None = None,
    ) -> CreatedNode:
        """Create a node; `key` is an Idempotency-Key of your own.

        The node is reachable and ready for its wallet once its status is
        `waiting_init`.
        """
        body: dict[str, object] = {
            "name": name,
            "network": network,
            "type": type,
            "settings": dict(settings),
        }
        if version is not None:
            body["version"] = version
        return await self._calls.post_once(await self._path(), CreatedNode, body, key)

    async def wait(
        self,
        node_id: str,
        statuses: Collection[str],
        *,
        within_s: float = 300,
        on_state: Callable[[NodeAnswer], object] = lambda _: None,
    ) -> NodeAnswer:
        """Poll until the node has one of these statuses, and return it.

        Raise TimeoutError after `within_s`. `on_state` is called with the node
        after each poll.
        """
        return await poll(
            "the node",
            lambda: self.get(node_id),
            statuses,
            every_s=nodes._LOOK_EVERY_S,
            within_s=within_s,
            on_state=on_state,
        )

    async def start(self, node_id: str) -> NodeItem:
        """Start a node that is stopped or failed."""
        return await self._calls.post(await self._path(node_id, "start"), NodeItem)

    async def stop(self, node_id: str) -> NodeItem:
        """Stop a node gracefully."""
        return await self._calls.post(await self._path(node_id, "stop"), NodeItem)

    async def restart(self, node_id: str) -> NodeItem:
        """Restart a node; you must unlock its wallet afterwards."""
        return await self._calls.post(await self._path(node_id, "restart"), NodeItem)

    async def delete(self, node_id: str) -> NodeItem:
        """Delete a node."""
        return await self._calls.delete(await self._path(node_id), NodeItem)

    async def deleted(self) -> builtins.list[DeletedNode]:
        """List deleted nodes that can be restored, latest first."""
        return (
            await self._calls.get(await self._path("deleted"), DeletedNodesAnswer)
        ).nodes

    async def restore(self, node_id: str, name: str | None = None) -> NodeItem:
        """Restore a deleted node, stopped; `name` is another name for it."""
        body = Restore() if name is None else Restore(name=name)
        return await self._calls.post(
            await self._path(node_id, "restore"), NodeItem, body
        )

    async def update(self, node_id: str, version: str | None = None) -> UpdatedNode:
        """Update a node to a newer lnd; you can't undo this."""
        body = Update() if version is None else Update(version)
        return await self._calls.post(
            await self._path(node_id, "update"), UpdatedNode, body
        )

    async def change_settings(self, node_id: str, **settings: object) -> NodeAnswer:
        """Change some settings; the others stay unchanged."""
        return await self._calls.post(
            await self._path(node_id, "settings"), NodeAnswer, settings
        )

    async def replace_whitelist(
        self, node_id: str, whitelist: Sequence[str]
    ) -> builtins.list[str]:
        """Replace the allowed IP addresses; return them in canonical form."""
        body = NewWhitelist([*whitelist])
        path = await self._path(node_id, "whitelist")
        return (await self._calls.post(path, WhitelistAnswer, body)).whitelist

    async def certificate(self, node_id: str) -> str:
        """Return the certificate to trust: a PEM chain up to the root."""
        return nodes._pem(
            await self._calls.get(await self._path(node_id, "cert"), CertificateAnswer)
        )

    async def renew_certificate(self, node_id: str) -> str:
        """Renew the node's certificate and restart the node; return the chain."""
        return nodes._pem(
            await self._calls.post(await self._path(node_id, "tls"), CertificateAnswer)
        )

    async def connect(self, node_id: str) -> ConnectAnswer:
        """Return the node's connection details."""
        return await self._calls.get(
            await self._path(node_id, "connect"), ConnectAnswer
        )

    async def log(self, node_id: str, lines: int = 100) -> builtins.list[str]:
        """Return the last lines of lnd's log, oldest first."""
        return (
            await self._calls.get(
                await self._path(node_id, "logs"), LogAnswer, lines=lines
            )
        ).lines

    async def metrics(self, node_id: str) -> MetricsAnswer:
        """Return the node's resource usage and traffic."""
        return await self._calls.get(
            await self._path(node_id, "metrics"), MetricsAnswer
        )

    async def versions(self) -> VersionsAnswer:
        """Return the available lnd versions."""
        return await self._calls.get("/versions", VersionsAnswer)

    async def _path(self, *words: str) -> str:
        parts = ("organizations", await self._organization(), "nodes", *words)
        return "".join(f"/{calls.word(each)}" for each in parts)


class AsyncBackups:
    """The backups of one organization's nodes; encrypt before storing."""

    def __init__(
        self, calls: AsyncCalls, organization: Callable[[], Awaitable[str]]
    ) -> None:
        self._calls = calls
        self._organization = organization

    async def store_seed(self, node_id: str, seed: str) -> SeedAnswer:
        """Store a node's encrypted seed; raise ApiError 409 if one is stored."""
        return await self._calls.post(
            await self._path(node_id, "seed"), SeedAnswer, NewSeed(seed)
        )

    async def seed(self, node_id: str) -> SeedAnswer:
        """Return the encrypted seed; raise ApiError 404 if none is stored."""
        return await self._calls.get(await self._path(node_id, "seed"), SeedAnswer)

    async def store_macaroon(
        self, node_id: str, name: str, macaroon: str
    ) -> MacaroonItem:
        """Store an encrypted macaroon; raise ApiError 409 if the name exists."""
        body = NewMacaroon(macaroon=macaroon, name=name)
        return await self._calls.post(
            await self._path(node_id, "macaroon"), MacaroonItem, body
        )

    async def macaroons(self, node_id: str) -> list[MacaroonItem]:
        """List the stored macaroons, oldest first."""
        path = await self._path(node_id, "macaroons")
        return (await self._calls.get(path, MacaroonsAnswer)).macaroons

    async def found_in_clear(self, node_id: str) -> list[FoundInClear]:
        """List unlocks that left plaintext macaroons, newest first.

        Covers the last 30 days.
        """
        path = await self._path(node_id, "macaroons")
        return (await self._calls.get(path, MacaroonsAnswer)).found_in_clear

    async def macaroon(self, node_id: str, name: str) -> MacaroonAnswer:
        """Return a stored encrypted macaroon."""
        return await self._calls.get(
            await self._path(node_id, "macaroon", name), MacaroonAnswer
        )

    async def reseal(self, node_id: str, anew: Iterable[backups.Resealed]) -> int:
        """Replace backups with re-encrypted ones, all or none.

        Return the number replaced.
        """
        body = NewlySealed()
        for each in anew:
            replaces = hashlib.sha256(each.before.encode()).hexdigest()
            if each.name is None:
                body.seed = ResealedSeed(seed=each.after, replaces=replaces)
            else:
                macaroon = ResealedMacaroon(
                    macaroon=each.after, name=each.name, replaces=replaces
                )
                body.macaroons.append(macaroon)
        path = await self._path(node_id, "reseal")
        return (await self._calls.post(path, ResealedAnswer, body)).resealed

    async def replaced(self, node_id: str) -> list[ReplacedItem]:
        """List backups replaced in the last 30 days, newest first."""
        return (
            await self._calls.get(await self._path(node_id, "replaced"), ReplacedAnswer)
        ).replaced

    async def channels(self, node_id: str) -> bytes:
        """Return lnd's newest static channel backup, encrypted by lnd itself."""
        stored = await self._calls.get(
            await self._path(node_id, "backup"), ChannelsAnswer
        )
        return base64.b64decode(stored.channel_backup)

    async def proofs(self, node_id: str) -> ProofsAnswer:
        """Return how old the backups are, and when they were last opened."""
        return await self._calls.get(await self._path(node_id, "proofs"), ProofsAnswer)

    async def store_drill(self, node_id: str, time: str, signature: str) -> DrillAnswer:
        """Store that the backups were opened, which the node has signed."""
        body = NewDrill(time=time, signature=signature)
        return await self._calls.post(
            await self._path(node_id, "drill"), DrillAnswer, body
        )

    async def _path(self, *words: str) -> str:
        parts = ("organizations", await self._organization(), "nodes", *words)
        return "".join(f"/{calls.word(each)}" for each in parts)


class AsyncWebhooks:
    """The webhooks of one organization's nodes."""

    def __init__(
        self, calls: AsyncCalls, organization: Callable[[], Awaitable[str]]
    ) -> None:
        self._calls = calls
        self._organization = organization

    async def page(
        self, node_id: str, *, limit: int = 50, cursor: int = 0
    ) -> DeliveriesAnswer:
        """Return one page of deliveries, with the webhook's status."""
        path = await self._path(node_id, "deliveries")
        return await self._calls.get(
            path, DeliveriesAnswer, limit=limit, cursor=cursor or None
        )

    async def deliveries(
        self, node_id: str, *, at_a_time: int = 50
    ) -> AsyncIterator[DeliveryItem]:
        """Yield all deliveries, newest first."""
        cursor = 0
        while True:
            page = await self.page(node_id, limit=at_a_time, cursor=cursor)
            for each in page.deliveries:
                yield each
            if not (cursor := page.next_cursor):
                return

    async def redeliver(self, node_id: str, delivery_id: str) -> DeliveryItem:
        """Redeliver an event now."""
        path = await self._path(node_id, "deliveries", delivery_id, "redeliver")
        return await self._calls.post(path, DeliveryItem)

    async def test(self, node_id: str, *, status: str | None = None) -> DeliveryItem:
        """Send a test event with this status now.

        By default the node's current status is sent, if events exist for
        it.
        """
        body = None if status is None else {"status": status}
        return await self._calls.post(
            await self._path(node_id, "test"), DeliveryItem, body
        )

    async def rotate_secret(self, node_id: str) -> SecretAnswer:
        """Create a new webhook secret."""
        return await self._calls.post(
            await self._path(node_id, "rotate-secret"), SecretAnswer
        )

    async def _path(self, node_id: str, *words: str) -> str:
        organization = await self._organization()
        parts = ("organizations", organization, "nodes", node_id, "webhooks", *words)
        return "".join(f"/{calls.word(each)}" for each in parts)


class AsyncFlow:
    """Channel purchases of one organization."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def quote(self, capacity: int, **wish: int | str | bool) -> QuoteAnswer:
        """Return the price of a channel.

        `wish`: self_chan_balance, lease_duration_blocks, node_tier, bps. Or, for a
        channel to a node without a ticket: node, node_id, announce, zero_conf,
        lease_duration_blocks.
        """
        body = {"capacity": capacity, **wish}
        return await self._calls.post("/flow/quote", QuoteAnswer, body)

    async def create(
        self, capacity: int, *, key: str | None = None, **wish: int | str | bool
    ) -> OrderAnswer:
        """Order a channel; `wish` as for a quote, `key` is an Idempotency-Key."""
        body = {"capacity": capacity, **wish}
        return await self._calls.post_once("/flow/create", OrderAnswer, body, key)

    async def status(self, order_id: str) -> OrderAnswer:
        """Return an order with its current status."""
        return await self._calls.post(
            "/flow/status", OrderAnswer, OrderReference(order_id)
        )

    async def get(self, order_id: str) -> OrderAnswer:
        """Return an order with its current status."""
        return await self._calls.get(
            f"/flow/orders/{calls.word(order_id)}", OrderAnswer
        )

    async def wait(
        self,
        order_id: str,
        statuses: Collection[str],
        *,
        within_s: float = 3600,
        on_state: Callable[[OrderAnswer], object] = lambda _: None,
    ) -> OrderAnswer:
        """Poll until the order has one of these statuses, and return it.

        Raise TimeoutError after `within_s`. `on_state` is called with the order
        after each poll.
        """
        return await poll(
            "the order",
            lambda: self.status(order_id),
            statuses,
            every_s=flow._LOOK_EVERY_S,
            within_s=within_s,
            on_state=on_state,
        )

    async def cancel(self, order_id: str, *, key: str | None = None) -> CancelledOrder:
        """Cancel an order; what was paid becomes credit."""
        body = OrderReference(order_id)
        return await self._calls.post_once("/flow/cancel", CancelledOrder, body, key)

    async def orders(
        self,
        *,
        status: str | None = None,
        node_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        at_a_time: int = 50,
    ) -> AsyncIterator[OrderAnswer]:
        """Yield all orders that match, newest first."""
        cursor: str | None = None
        while True:
            page = await self._calls.get(
                "/flow/orders",
                OrdersAnswer,
                limit=at_a_time,
                cursor=cursor,
                status=status,
                node_id=node_id,
                created_after=created_after,
                created_before=created_before,
            )
            for each in page.orders:
                yield each
            if not (cursor := page.next_cursor):
                return

    async def extension_quote(
        self, order_id: str, lease_duration_blocks: int = 2016
    ) -> ExtensionQuoteAnswer:
        """Return the price of so many more blocks for an order's lease."""
        path = f"/flow/orders/{calls.word(order_id)}/extend/quote"
        body = {"lease_duration_blocks": lease_duration_blocks}
        return await self._calls.post(path, ExtensionQuoteAnswer, body)

    async def extend(
        self,
        order_id: str,
        lease_duration_blocks: int = 2016,
        *,
        max_fee: int | None = None,
        key: str | None = None,
    ) -> ExtensionAnswer:
        """Extend an order's lease, or get an invoice if credit does not cover it."""
        body = {"lease_duration_blocks": lease_duration_blocks}
        if max_fee is not None:
            body["max_fee"] = max_fee
        path = f"/flow/orders/{calls.word(order_id)}/extend"
        return await self._calls.post_once(path, ExtensionAnswer, body, key)

    async def extensions(self, order_id: str) -> list[ExtensionAnswer]:
        """List the extensions of an order's lease, oldest first."""
        path = f"/flow/orders/{calls.word(order_id)}/extensions"
        return (await self._calls.get(path, ExtensionsAnswer)).extensions

    async def auto_extend(
        self, order_id: str, max_fee: int, lease_duration_blocks: int = 2016
    ) -> OrderAnswer:
        """Extend an order's lease each time before it ends, up to a price."""
        path = f"/flow/orders/{calls.word(order_id)}/auto-extend"
        body = {"max_fee": max_fee, "lease_duration_blocks": lease_duration_blocks}
        return await self._calls.post(path, OrderAnswer, body)

    async def stop_auto_extend(self, order_id: str) -> OrderAnswer:
        """Let an order's lease end."""
        path = f"/flow/orders/{calls.word(order_id)}/auto-extend"
        return await self._calls.delete(path, OrderAnswer)

    async def coupons(self) -> list[CouponAnswer]:
        """List coupons, used and unused."""
        return (await self._calls.get("/flow/coupons", CouponsAnswer)).coupons

    async def redeem(self, coupon: str, *, key: str | None = None) -> Redeemed:
        """Redeem a coupon for credit."""
        body = CouponReference(coupon)
        return await self._calls.post_once("/flow/redeem", Redeemed, body, key)

    async def balance(self) -> BalanceAnswer:
        """Return the account's balance and credit."""
        return await self._calls.get("/flow/balance", BalanceAnswer)

    async def ledger(self, *, at_a_time: int = 500) -> AsyncIterator[LedgerEntry]:
        """Yield all ledger entries, newest first."""
        cursor: int | None = None
        while True:
            page = await self._calls.get(
                "/flow/ledger", LedgerAnswer, limit=at_a_time, cursor=cursor
            )
            for each in page.entries:
                yield each
            if not (cursor := page.next_cursor):
                return


class AsyncEvents:
    """The events of one organization."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def page(
        self,
        after: str = "",
        *,
        types: Iterable[str] = (),
        node_id: str | None = None,
        order_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        limit: int = 100,
        wait_s: int = 0,
    ) -> EventsAnswer:
        """Return events after a cursor; wait for the first one if asked to."""
        return await self._calls.get(
            "/events",
            EventsAnswer,
            after=after or None,
            type=",".join(types) or None,
            node_id=node_id,
            order_id=order_id,
            created_after=created_after,
            created_before=created_before,
            limit=limit,
            wait=wait_s or None,
        )

    async def list(
        self,
        after: str = "",
        *,
        types: Iterable[str] = (),
        node_id: str | None = None,
        order_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> AsyncIterator[LoggedEvent]:
        """Yield all events after a cursor that match, oldest first, up to now."""
        types = tuple(types)
        has_more = True
        while has_more:
            page = await self.page(
                after,
                types=types,
                node_id=node_id,
                order_id=order_id,
                created_after=created_after,
                created_before=created_before,
            )
            for each in page.events:
                yield each
            after, has_more = (page.cursor, page.has_more)

    async def follow(
        self,
        after: str = events.LATEST,
        *,
        types: Iterable[str] = (),
        wait_s: int = events._WAIT_S,
    ) -> AsyncIterator[EventsAnswer]:
        """Yield pages of events for ever, as they happen; keep the `cursor` of each.

        A page is empty where nothing happened for a while.
        """
        types = tuple(types)
        while True:
            page = await self.page(after, types=types, wait_s=wait_s)
            yield page
            after = page.cursor


class AsyncSubscriptions:
    """The subscriptions of one organization."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def list(self) -> builtins.list[SubscriptionItem]:
        """List all subscriptions, oldest first."""
        return (
            await self._calls.get(subscriptions._path(), SubscriptionsAnswer)
        ).subscriptions

    async def create(
        self,
        url: str,
        types: Sequence[str] = ("*",),
        *,
        description: str = "",
        format_: str = "standard",
        key: str | None = None,
    ) -> NewSubscriptionAnswer:
        """Create a subscription; its secret is in the answer, and only there.

        With the format `slack`, `discord`, `telegram` or `ntfy` people get sentences.
        """
        body = {
            "url": url,
            "types": [*types],
            "description": description,
            "format": format_,
        }
        return await self._calls.post_once(
            subscriptions._path(), NewSubscriptionAnswer, body, key
        )

    async def get(self, subscription_id: str) -> SubscriptionItem:
        """Return a subscription."""
        return await self._calls.get(
            subscriptions._path(subscription_id), SubscriptionItem
        )

    async def update(self, subscription_id: str, **changes: Any) -> SubscriptionItem:
        """Change `url`, `types`, `description`, or whether it is `paused`."""
        return await self._calls.post(
            subscriptions._path(subscription_id), SubscriptionItem, changes
        )

    async def delete(self, subscription_id: str) -> None:
        """Delete a subscription."""
        await self._calls.delete(
            subscriptions._path(subscription_id), DeletedSubscription
        )

    async def test(self, subscription_id: str, *, type_: str = "") -> EventDelivery:
        """Send a test event now."""
        body = {"type": type_} if type_ else {}
        return await self._calls.post(
            subscriptions._path(subscription_id, "test"), EventDelivery, body
        )

    async def resend(self, subscription_id: str, after: str) -> SubscriptionItem:
        """Send everything after this event again, in order."""
        path = subscriptions._path(subscription_id, "resend")
        return await self._calls.post(path, SubscriptionItem, ResendFrom(after))

    async def rotate_secret(self, subscription_id: str) -> SubscriptionSecret:
        """Create a new secret."""
        path = subscriptions._path(subscription_id, "rotate-secret")
        return await self._calls.post(path, SubscriptionSecret)

    async def deliveries(
        self, subscription_id: str, *, at_a_time: int = 50
    ) -> AsyncIterator[EventDelivery]:
        """Yield all that it was sent, newest first."""
        path = subscriptions._path(subscription_id, "deliveries")
        cursor = 0
        while True:
            page = await self._calls.get(
                path, EventDeliveriesAnswer, limit=at_a_time, cursor=cursor or None
            )
            for each in page.deliveries:
                yield each
            if not (cursor := page.next_cursor):
                return

    async def redeliver(self, subscription_id: str, delivery_id: str) -> EventDelivery:
        """Send an event again now."""
        path = subscriptions._path(
            subscription_id, "deliveries", delivery_id, "redeliver"
        )
        return await self._calls.post(path, EventDelivery)


class AsyncWrappedInvoices:
    """The sale of just-in-time channels to anybody's node."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def info(self) -> WrappingInfo:
        """Return the node that opens channels, for yours to connect to."""
        return await self._calls.get("/api/v1/info", WrappingInfo)

    async def fee(self, amount_msat: int, pubkey: str) -> WrappingFee:
        """Return the fee for a payment of this amount to a node."""
        body = {"amount_msat": amount_msat, "pubkey": pubkey}
        return await self._calls.post("/api/v1/fee", WrappingFee, body)

    async def propose(self, bolt11: str, fee_id: str) -> WrappedAnswer:
        """Return an invoice with the payment hash of yours, for the fee more."""
        body = {"bolt11": bolt11, "fee_id": fee_id}
        return await self._calls.post("/api/v1/proposal", WrappedAnswer, body)


class AsyncClient:
    """A client of one platform's API for one organization."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        organization: str = "",
        authority: str = "",
        connect: str = "",
        gateway: str = "",
        timeout_s: float = 60,
        longest_wait_s: float = calls.LONGEST_WAIT_S,
    ) -> None:
        """Create a client; the API is asked for a missing `organization`.

        `authority` is PEM of a CA to trust for the URL, besides the
        system's. `connect` is HOST:PORT of the API and `gateway` that of
        the nodes, if their names do not resolve to them. The client does
        not wait for a Retry-After longer than `longest_wait_s`.
        """
        tls = None
        if authority:
            tls = ssl.create_default_context()
            tls.load_verify_locations(cadata=authority)
        server = Server.at(url, tls=tls, connect=connect)
        self._wire = AsyncWire(server, timeout_s=timeout_s)
        self._calls = AsyncCalls(
            url=url.rstrip("/"), wire=self._wire, key=key, longest_wait_s=longest_wait_s
        )
        self._gateway = gateway
        self._organization_id = organization
        self.nodes = AsyncNodes(self._calls, self.organization)
        self.backups = AsyncBackups(self._calls, self.organization)
        self.webhooks = AsyncWebhooks(self._calls, self.organization)
        self.flow = AsyncFlow(self._calls)
        self.events = AsyncEvents(self._calls)
        self.subscriptions = AsyncSubscriptions(self._calls)
        self.wrapped_invoices = AsyncWrappedInvoices(self._calls)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; the next call reconnects."""
        await self._wire.close()

    async def key(self) -> Key:
        """Return the API key's details."""
        return await self._calls.get("/key", Key)

    async def platform(self) -> PlatformAnswer:
        """Return what the platform offers."""
        return await self._calls.get("/platform", PlatformAnswer)

    async def organization(self) -> str:
        """Return the organization's id."""
        if not self._organization_id:
            self._organization_id = (await self.key()).organization_id
        return self._organization_id

    async def quotas(self) -> dict[str, QuotaUsage]:
        """Return the organization's quotas with their usage, by name."""
        path = f"/organizations/{await self.organization()}/quotas"
        return (await self._calls.get(path, QuotasAnswer)).quotas

    async def lnd(self, node_id: str, *, macaroon: str = "", trusts: str = "") -> Lnd:
        """Return a client for a node's own REST API.

        `trusts` is PEM of the CA to trust, by default the chain of GET
        cert. If the node's name does not resolve on this machine, the
        client connects to the gateway address that the platform returns.
        """
        way = await self.nodes.connect(node_id)
        return Lnd(
            way.rest_url,
            trusts=trusts or await self.nodes.certificate(node_id),
            connect=self._gateway
            or await asyncio.to_thread(client._where, way.api_endpoint, way.hosts_line),
            macaroon=macaroon,
        )

    async def rest_address(self, node_id: str) -> tuple[str, int]:
        """Return the host and port at which this machine reaches a node's REST API.

        The node shows the certificate of its `api_endpoint`.
        """
        way = await self.nodes.connect(node_id)
        host, port = (
            (await self.grpc_address(node_id))[0],
            urlsplit(way.rest_url).port,
        )
        if self._gateway and ":" in self._gateway:
            port = int(self._gateway.rpartition(":")[2])
        return (host, port or 443)

    async def grpc_address(self, node_id: str) -> tuple[str, int]:
        """Return the host and port at which this machine reaches a node's gRPC.

        The node shows the certificate of its `api_endpoint`.
        """
        way = await self.nodes.connect(node_id)
        name, _, port = way.grpc_address.rpartition(":")
        host = self._gateway.rpartition(":")[0] or await asyncio.to_thread(
            client._where, name, way.hosts_line
        )
        return ((host or name).strip("[]"), int(port))


class AsyncOperator:
    """A client of one platform's operator API."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        authority: str = "",
        connect: str = "",
        timeout_s: float = 60,
        longest_wait_s: float = calls.LONGEST_WAIT_S,
    ) -> None:
        """Create a client; the arguments are those of `Client`."""
        tls = None
        if authority:
            tls = ssl.create_default_context()
            tls.load_verify_locations(cadata=authority)
        server = Server.at(url, tls=tls, connect=connect)
        self._wire = AsyncWire(server, timeout_s=timeout_s)
        self._calls = AsyncCalls(
            url=url.rstrip("/"), wire=self._wire, key=key, longest_wait_s=longest_wait_s
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; the next call reconnects."""
        await self._wire.close()

    async def overview(self) -> InstallationAnswer:
        """Return the installation in numbers."""
        return await self._calls.get("/operator/overview", InstallationAnswer)

    async def alarms(self) -> AlarmsAnswer:
        """Return the raised alarms, and when they were checked."""
        return await self._calls.get("/operator/alarms", AlarmsAnswer)

    async def backups(self) -> BackupsAnswer:
        """Return when the installation's backups last succeeded and failed."""
        return await self._calls.get("/operator/backups", BackupsAnswer)

    async def audit(self, *, limit: int = 50) -> list[AuditLine]:
        """Return the latest entries of the audit log, newest first."""
        return (
            await self._calls.get("/operator/audit", AuditAnswer, limit=limit)
        ).audit

    async def organizations(self) -> list[OrganizationItem]:
        """Return all organizations, oldest first."""
        return (
            await self._calls.get(operator._of(), OrganizationsAnswer)
        ).organizations

    async def create_organization(
        self, name: str, *, key: str | None = None
    ) -> OrganizationItem:
        """Create an organization."""
        return await self._calls.post_once(
            operator._of(), OrganizationItem, {"name": name}, key
        )

    async def organization(self, organization_id: str) -> OrganizationAnswer:
        """Return an organization with its money."""
        return await self._calls.get(operator._of(organization_id), OrganizationAnswer)

    async def set_limit(
        self, organization_id: str, most_owed: int | None
    ) -> OrganizationAnswer:
        """Open a corporate account with a limit in satoshis; None closes it."""
        path = operator._of(organization_id, "account")
        return await self._calls.post(
            path, OrganizationAnswer, {"most_owed": most_owed}
        )

    async def correct(
        self,
        organization_id: str,
        kind: str,
        amount: int,
        reason: str,
        *,
        key: str | None = None,
    ) -> OrganizationAnswer:
        """Adjust a balance; `kind` is credit, debit, refund or settled."""
        body = {"kind": kind, "amount": amount, "reason": reason}
        path = operator._of(organization_id, "corrections")
        return await self._calls.post_once(path, OrganizationAnswer, body, key)

    async def orders_of(
        self, organization_id: str, *, at_a_time: int = 100
    ) -> AsyncIterator[SoldOrder]:
        """Yield an organization's orders, newest first."""
        cursor: str | None = None
        while True:
            page = await self._calls.get(
                operator._of(organization_id, "orders"),
                SoldOrdersAnswer,
                limit=at_a_time,
                cursor=cursor,
            )
            for each in page.orders:
                yield each
            if not (cursor := page.next_cursor):
                return

    async def quotas(self, organization_id: str) -> dict[str, QuotaLimits]:
        """Return an organization's quotas, by name."""
        path = operator._of(organization_id, "quotas")
        return (await self._calls.get(path, QuotaLimitsAnswer)).quotas

    async def change_quotas(
        self, organization_id: str, **limits: int | None
    ) -> dict[str, QuotaLimits]:
        """Change limits by the quotas' names; None resets one."""
        path = operator._of(organization_id, "quotas")
        return (
            await self._calls.post(path, QuotaLimitsAnswer, {"quotas": limits})
        ).quotas

    async def members(self, organization_id: str) -> MembersAnswer:
        """Return an organization's members and open invitations."""
        return await self._calls.get(
            operator._of(organization_id, "members"), MembersAnswer
        )

    async def create_member(
        self, organization_id: str, email: str, password: str, *, role: str = "owner"
    ) -> MemberItem:
        """Create a person who belongs to an organization."""
        body = {"email": email, "password": password, "role": role}
        return await self._calls.post(
            operator._of(organization_id, "members"), MemberItem, body
        )

    async def set_role(
        self, organization_id: str, user_id: str, role: str
    ) -> MembersAnswer:
        """Change a member's role."""
        path = operator._of(organization_id, "members", user_id)
        return await self._calls.post(path, MembersAnswer, {"role": role})

    async def remove_member(self, organization_id: str, user_id: str) -> None:
        """Remove a member from an organization."""
        await self._calls.delete(
            operator._of(organization_id, "members", user_id), Removed
        )

    async def invite(
        self, organization_id: str, email: str, *, role: str = "developer"
    ) -> NewInvitationAnswer:
        """Invite somebody; the link is in this answer alone."""
        body = {"email": email, "role": role}
        path = operator._of(organization_id, "invitations")
        return await self._calls.post(path, NewInvitationAnswer, body)

    async def revoke_invitation(self, organization_id: str, invitation_id: str) -> None:
        """Revoke an invitation."""
        await self._calls.delete(
            operator._of(organization_id, "invitations", invitation_id), Removed
        )

    async def keys(self, organization_id: str) -> list[KeyItem]:
        """Return an organization's API keys, oldest first."""
        return (
            await self._calls.get(operator._of(organization_id, "keys"), KeysAnswer)
        ).keys

    async def create_key(
        self,
        organization_id: str,
        name: str,
        scopes: Sequence[str] = ("node", "flow"),
        *,
        days: int = 0,
    ) -> NewKeyAnswer:
        """Create an API key; it is in this answer alone."""
        body = {"name": name, "scopes": list(scopes), "days": days}
        return await self._calls.post(
            operator._of(organization_id, "keys"), NewKeyAnswer, body
        )

    async def revoke_key(self, organization_id: str, key_id: str) -> None:
        """Revoke an API key, at once."""
        await self._calls.delete(operator._of(organization_id, "keys", key_id), Removed)

    async def users(self) -> list[UserItem]:
        """Return everybody who can sign in, oldest first."""
        return (await self._calls.get("/operator/users", UsersAnswer)).users

    async def sessions(self, user_id: str) -> list[SessionItem]:
        """Return a person's sessions."""
        return (
            await self._calls.get(operator._user(user_id, "sessions"), SessionsAnswer)
        ).sessions

    async def sign_out(self, user_id: str) -> None:
        """Sign a person out everywhere."""
        await self._calls.post(operator._user(user_id, "sign-out"), SessionsAnswer)

    async def readmit(
        self, user_id: str, password: str, *, keep_authenticator: bool = False
    ) -> None:
        """Reset a person's password and authenticator."""
        body = {"password": password, "keep_authenticator": keep_authenticator}
        await self._calls.post(operator._user(user_id, "readmit"), SessionsAnswer, body)

    async def coupons(self, *, at_a_time: int = 100) -> AsyncIterator[CouponItem]:
        """Yield all coupons, ordered by their codes."""
        cursor: str | None = None
        while True:
            page = await self._calls.get(
                "/operator/coupons", AllCouponsAnswer, limit=at_a_time, cursor=cursor
            )
            for each in page.coupons:
                yield each
            if not (cursor := page.next_cursor):
                return

    async def create_coupons(
        self, amount: int, *, key: str | None = None, **wish: int | str
    ) -> list[CouponItem]:
        """Create coupons; `wish`: count, organization_id, days, note."""
        body = {"amount": amount, **wish}
        path = "/operator/coupons"
        return (await self._calls.post_once(path, IssuedCoupons, body, key)).coupons

    async def orders(self, *, limit: int = 100) -> list[SoldOrder]:
        """Return the newest orders of all organizations, newest first."""
        path = "/operator/orders"
        return (await self._calls.get(path, NewestOrdersAnswer, limit=limit)).orders

    async def orders_needing_attention(self) -> list[OrderAttention]:
        """Return the orders that need attention, with the reason."""
        path = "/operator/orders/attention"
        return (await self._calls.get(path, OrderAttentionAnswer)).orders

    async def order(self, order_id: str) -> SoldOrder:
        """Return an order."""
        return await self._calls.get(
            f"/operator/orders/{calls.word(order_id)}", SoldOrder
        )

    async def abandon(self, order_id: str, reason: str) -> SoldOrder:
        """Abandon an order whose ticket or purchase is lost."""
        path = f"/operator/orders/{calls.word(order_id)}/abandon"
        return await self._calls.post(path, SoldOrder, {"reason": reason})

    async def nodes(
        self,
        *,
        organization_id: str | None = None,
        status: str | None = None,
        limit: int = 10000,
    ) -> list[FleetNode]:
        """Return nodes of all organizations, newest first, at most `limit`."""
        found = await self._calls.get(
            "/operator/nodes",
            FleetAnswer,
            organization_id=organization_id,
            status=status,
            limit=limit,
        )
        return found.nodes

    async def ailing(self) -> list[AilingNode]:
        """Return the nodes that need attention, the worst first."""
        return (await self._calls.get("/operator/nodes/attention", AilingAnswer)).nodes

    async def node(self, node_id: str) -> FleetNode:
        """Return a node."""
        return await self._calls.get(
            f"/operator/nodes/{calls.word(node_id)}", FleetNode
        )

    async def start(self, node_id: str) -> FleetNode:
        """Start a node."""
        return await self._calls.post(
            f"/operator/nodes/{calls.word(node_id)}/start", FleetNode
        )

    async def stop(self, node_id: str) -> FleetNode:
        """Stop a node."""
        return await self._calls.post(
            f"/operator/nodes/{calls.word(node_id)}/stop", FleetNode
        )
