"""A platform that only sends webhooks: real database, queue, dispatcher and wire."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_network
from pathlib import Path

from leyden.base.database.database import Database, open_database
from leyden.base.database.schema import migrate
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import to_us, utc_now
from leyden.base.tasks.queues import Queue
from leyden.base.tasks.worker import Worker
from leyden.events.dispatchers import AT_ONCE, Dispatcher, deliver
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, webhook_secret_purpose
from leyden.events.rules.webhook_urls import Allowed
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import HttpSender
from leyden.nodes import node_events
from leyden.nodes.rows.launch_specs import SealedLaunchSpec
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Network, Node, NodeType
from leyden.nodes.rules.versions import OFFERED
from leyden.values import replace

_ANYTHING = Allowed(schemes=frozenset({"http"}), ports=range(1, 65_536))
_SECRET = "3f" * 32


@dataclass
class Postbox:
    """Nodes with webhooks, and their dispatcher."""

    database: Database
    path: Path
    sealer: Sealer
    nodes: list[Node] = field(default_factory=list)

    async def house(self, urls: Sequence[str]) -> None:
        """Make one node for each URL."""
        now = utc_now()
        settings = NodeSettings(
            autopilot=False,
            grpc=True,
            rest=True,
            keysend=True,
            whitelist=(),
            alias="harbour light",
            color="#ff9900",
        )
        async with self.database.transaction() as tx:
            await tx.accounts.add(Organization(id="bench", name="Bench", created=now))
            for number, url in enumerate(urls):
                node = Node(
                    id=f"{number:08d}-0000-4000-8000-000000000000N",
                    organization_id="bench",
                    name=f"node {number}",
                    network=Network.TESTNET,
                    type=NodeType.STANDARD,
                    version=OFFERED.default,
                    settings=replace(settings, webhook=url),
                    api_endpoint=f"node-{number}.nodes.localhost",
                    slot=number + 1,
                    created=now,
                    due=now,
                )
                self.nodes.append(node)
                await tx.nodes.add(node)
                await tx.launch_specs.add(
                    SealedLaunchSpec(
                        node_id=node.id,
                        settings=b"",
                        webhook_secret=self.sealer.seal(
                            _SECRET.encode(), purpose=webhook_secret_purpose(node.id)
                        ),
                        certificate=b"",
                        certificate_until=now,
                        key=b"",
                    )
                )

    async def announce(self, node: Node, number: int) -> float:
        """Announce one event; return the time when it was durable."""
        await self.announce_all(node, [number])
        return time.monotonic()

    async def announce_all(self, node: Node, numbers: Iterable[int]) -> None:
        """Announce several events in one transaction."""
        answer = [
            node_events.of_update(node, f"v9.9.{number}-beta", "1")
            for number in numbers
        ]
        async with self.database.transaction() as tx:
            await node_events.announce(tx, node, answer, now=utc_now())

    def is_busy(self) -> bool:
        """Return whether deliveries are running or due."""
        with contextlib.closing(sqlite3.connect(self.path)) as looking:
            ((busy,),) = looking.execute(
                "SELECT count(*) FROM task WHERE lease > 0 OR due <= ?",
                (to_us(utc_now()),),
            )
        return bool(busy)

    @asynccontextmanager
    async def delivering(self) -> AsyncIterator[None]:
        """Deliver until the end of the block."""
        egress = Egress(exceptions=[ip_network("127.0.0.0/8")])
        dispatcher = Dispatcher(
            database=self.database,
            sealer=self.sealer,
            sender=HttpSender(egress, allowed=_ANYTHING),
            clock=utc_now,
        )
        queue = Queue(
            kind=NODE_WEBHOOKS,
            run=partial(deliver, dispatcher),
            concurrency=AT_ONCE,
        )
        worker = Worker(self.database, [queue], clock=utc_now)
        working = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


@contextmanager
def _folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="bench-webhooks-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@asynccontextmanager
async def postbox(urls: Sequence[str]) -> AsyncIterator[Postbox]:
    """Open a new one with a node for each URL."""
    with _folder() as folder:
        path = folder / "leyden.db"
        await asyncio.to_thread(migrate, f"sqlite:///{path}")
        database = await open_database(f"sqlite:///{path}")
        box = Postbox(database, path, Sealer(Keyring.new()))
        await box.house(urls)
        try:
            yield box
        finally:
            await database.close()
