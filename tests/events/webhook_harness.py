"""The post of a small harbour: one node, its receiver, and a clock one can turn."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import Organization
from leyden.base.tasks.work import Work
from leyden.events.dispatchers import Dispatcher, deliver
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, webhook_secret_purpose
from leyden.events.rules.deliveries import Answer
from leyden.events.rules.events import Event
from leyden.nodes import home_events, node_events, webhooks
from leyden.nodes.rows.launch_specs import SealedLaunchSpec
from leyden.nodes.rules.nodes import Node
from leyden.values import replace
from tests.fakes.sender import FakeSender, Received
from tests.nodes.rules.nodes import NOON, a_node, some_settings

URL = "https://hooks.harbour.test/leyden"
SECRET = "3f" * 32


@dataclass(frozen=True)
class Update:
    """A newer version of lnd for a node."""

    version: str
    service_version: str = "1.4.0"


@dataclass(frozen=True)
class Blocks:
    """A line of lnd's log about blocks out of order."""

    line: str


def of_node(node: Node, event: Update | str) -> Event:
    """Return an event of the log: an update, or another status."""
    if isinstance(event, Update):
        return node_events.of_update(node, event.version, event.service_version)
    return Event(
        organization_id=node.organization_id,
        type=f"node.{event}",
        data={"node_id": node.id, "name": node.name, "status": event},
    )


@dataclass
class WebhookHarness:
    """Announces and delivers, one run at a time."""

    database: Database
    sealer: Sealer
    sender: FakeSender = field(default_factory=FakeSender)
    now: datetime = NOON
    dispatcher: Dispatcher = field(init=False)

    def __post_init__(self) -> None:
        self.dispatcher = Dispatcher(
            database=self.database,
            sealer=self.sealer,
            sender=self.sender,
            clock=lambda: self.now,
            jitter=lambda: 0.5,
        )

    async def open(self) -> None:
        async with self.database.transaction() as tx:
            await tx.accounts.add(
                Organization(id="harbour", name="Harbour Light", created=NOON)
            )

    async def house(self, node: Node | None = None, *, url: str = URL) -> Node:
        """Keep a node with a webhook."""
        node = node or a_node()
        node = replace(node, settings=some_settings(webhook=url))
        async with self.database.transaction() as tx:
            await tx.nodes.add(node)
            await tx.launch_specs.add(
                SealedLaunchSpec(
                    node_id=node.id,
                    settings=b"",
                    webhook_secret=self.sealer.seal(
                        SECRET.encode(), purpose=webhook_secret_purpose(node.id)
                    ),
                    certificate=b"",
                    certificate_until=NOON,
                    key=b"",
                )
            )
        return node

    async def announce(self, node: Node, *events: "Update | Blocks | str") -> None:
        async with self.database.transaction() as tx:
            for each in events:
                if isinstance(each, Blocks):
                    await home_events.announce_out_of_order(
                        tx, node, each.line, now=self.now
                    )
                else:
                    event = of_node(node, each)
                    await node_events.announce(tx, node, [event], now=self.now)

    async def run(self, *, limit: int = 100) -> int:
        """Do everything that is due, as the queue would; give the number of runs."""
        for runs in range(limit):
            async with self.database.transaction() as tx:
                claims = await tx.tasks.claim(
                    NODE_WEBHOOKS,
                    now=self.now,
                    until=self.now + timedelta(seconds=30),
                    limit=10,
                )
            if not claims:
                return runs
            await asyncio.gather(*map(self._run, claims))
        raise AssertionError("the queue does not come to rest")

    async def _run(self, claim: Any) -> None:
        work = Work(self.database, claim)
        await deliver(self.dispatcher, work)
        if not work.settled:
            async with work.transaction() as tx:
                await work.done(tx)

    async def pass_time(self, **time: float) -> None:
        self.now += timedelta(**time)
        await self.run()

    def answers(self, answer: Answer | int, *, url: str = URL) -> None:
        if isinstance(answer, int):
            answer = Answer(status=answer)
        self.sender.answers[url] = answer

    @property
    def deliveries_made(self) -> list[Any]:
        """What receivers were told so far, attempts that failed included."""
        return [said(event) for event in self.sender.received]

    async def deliveries(self, node: Node) -> list[Sent]:
        """All events of a node, oldest first."""
        overview = await webhooks.overview(
            self.dispatcher, node.organization_id, node.id, before=1 << 62, limit=1000
        )
        return overview.deliveries[::-1]

    async def states(self, node: Node) -> list[str]:
        return [str(each.message.state) for each in await self.deliveries(node)]

    async def next_due(self) -> timedelta | None:
        due = await self.database.reader.tasks.next_due(NODE_WEBHOOKS, now=self.now)
        return due - self.now if due else None


def said(event: Received) -> Any:
    """Return the part of a body that tells events apart."""
    details = json.loads(event.body)["details"]
    return details.get("status") or details.get("log") or details["lnd_version"]
