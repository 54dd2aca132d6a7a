"""A platform that is served over real sockets, with fakes for lnd, chain and auction.

platform = ServedPlatform(folder, database)
with platform.open():
    client = platform.client()
    platform.do(platform.fleet_harness.work)  # runs where the platform runs
"""

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.loops import channel_queues
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base import logs
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.base.tasks.worker import Worker
from leyden.channels.checkout import listen
from leyden.channels.money import credit
from leyden.channels.services import ChannelServices, ChannelSettings
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.wiring.channels import SOURCES
from leyden.client import Client
from leyden.events.dispatchers import Dispatcher
from leyden.events.tails import Tails
from leyden.nodes.certificates.authority import open_or_create
from leyden.people import accounts, api_keys
from tests.fakes.payments import FakePayments
from tests.fakes.seller import FakeSeller
from tests.fakes.sender import FakeSender
from tests.nodes.fleet_harness import FleetHarness
from tests.people.plenty import PLENTY

Result = TypeVar("Result")


class ServedPlatform:
    """One platform, one organization, one key."""

    def __init__(self, folder: Path, template: Path, **settings: Any) -> None:
        self._path = folder / "leyden.db"
        self._path.write_bytes(template.read_bytes())
        self._authority = folder / "ca"
        generous = {"requests_per_minute": 10**9, "failures_per_minute": 10**9}
        self._settings = Settings(**{**generous, **settings})
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop: Callable[[], object]
        self.url: str
        self.key: str
        self.organization_id: str
        self.fleet_harness: FleetHarness
        self.payments = FakePayments()
        self.seller = FakeSeller()
        self.platform: Platform
        self.requests: list[tuple[str, str]] = []  # (method, path), as they came
        self.before: list[Callable[[Any, Any], Awaitable[bool]]] = []
        """What is to happen instead of the next requests, one each."""

    @contextmanager
    def open(self) -> Iterator["ServedPlatform"]:
        # What the platform logs is neither what a command prints nor what tests say.
        logs.configure(form="text", level="info", stream=io.StringIO())
        thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        thread.start()
        assert self._ready.wait(30)
        try:
            yield self
        finally:
            self._stop()
            thread.join(20)

    def client(self, **changes: Any) -> Client:
        return Client(**{"url": self.url, "key": self.key, **changes})

    def do(self, what: Callable[[], Awaitable[Result]]) -> Result:
        """Run something where the platform runs."""

        async def run() -> Result:
            return await what()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(20)

    def coupon(self, sats: int) -> str:
        async def issue() -> str:
            (issued,) = await credit.issue_coupons(
                self.platform.database,
                sats=sats,
                count=1,
                organization_id=self.organization_id,
                expires=None,
                note="",
                actor="operator:test",
                now=utc_now(),
            )
            return issued.id

        return self.do(issue)

    def new_key(self, *scopes: str, name: str = "pier") -> str:
        async def make() -> str:
            _, text = await api_keys.create(
                self.platform,
                self.organization_id,
                name=name,
                scopes=scopes,
                expires=None,
                actor="test",
            )
            return text

        return self.do(make)

    def pay(self, order_id: str) -> None:
        """Pay an order over Lightning."""

        async def run() -> None:
            (found,) = (
                each
                for each in self.payments.requests.values()
                if each.order_id == order_id
            )
            self.payments.pay(found)

        self.do(run)

    async def _serve(self) -> None:
        stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._stop = partial(self._loop.call_soon_threadsafe, stop.set)
        database = await open_database(f"sqlite:///{self._path}")
        sealer = Sealer(Keyring.new())
        authority = open_or_create(self._authority, now=utc_now())
        self.fleet_harness = FleetHarness(database, sealer, authority)
        channels = ChannelServices(
            database=database,
            sealer=sealer,
            payments=self.payments,
            sources=SOURCES,
            market=SimulatedMarket(),
            seller=self.seller,
            clock=utc_now,
            rules=ChannelSettings(quotas=PLENTY),
        )
        self.platform = Platform(
            settings=self._settings,
            database=database,
            sealer=sealer,
            clock=utc_now,
            tails=Tails(database),
            fleet=self.fleet_harness.fleet,
            channels=channels,
            dispatcher=Dispatcher(
                database=database, sealer=sealer, sender=FakeSender(), clock=utc_now
            ),
        )
        made = await accounts.create_organization(
            self.platform, "Harbour", actor="test"
        )
        self.organization_id = made.id
        _, self.key = await api_keys.create(
            self.platform,
            made.id,
            name="test",
            scopes=["node", "flow"],
            expires=None,
            actor="test",
        )
        listeners = bind("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listeners[0].getsockname()[1]}"
        api = Api(self.platform, (*OPERATIONS, *OPERATOR_OPERATIONS))
        public = Public(self.platform, api, version="0")

        async def app(scope: Any, receive: Any, send: Any) -> None:
            self.requests.append((scope["method"], scope["path"]))
            if self.before and await self.before.pop(0)(scope, send):
                return
            await public(scope, receive, send)

        async with serving(app, listeners, grace_s=1), self._worked(channels):
            self._ready.set()
            await stop.wait()
        await self.fleet_harness.watching.close()
        await database.close()

    @asynccontextmanager
    async def _worked(self, channels: ChannelServices) -> AsyncIterator[None]:
        """Do what a worker does: orders at once, nodes every few milliseconds."""
        worker = Worker(
            channels.database, channel_queues(channels), clock=channels.clock
        )
        running = [
            asyncio.create_task(worker.run()),
            asyncio.create_task(listen(channels)),
            asyncio.create_task(self._nodes_worked()),
        ]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _nodes_worked(self) -> None:
        while True:
            with suppress(TimeoutError):
                self.fleet_harness.now = utc_now()
                await self.fleet_harness.work()
            await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
def platform(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedPlatform]:
    """One for all tests of a file; a conftest names it."""
    with ServedPlatform(
        tmp_path_factory.mktemp("harbour"), sqlite_template
    ).open() as opened:
        yield opened
