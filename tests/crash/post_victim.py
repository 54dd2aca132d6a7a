"""A dispatcher to be killed while it delivers a webhook; it says so once that is known.

    python -m tests.crash.post_victim STORY DATABASE_URL URL

"announce" keeps a node with this webhook and a subscription to the same URL, and tells
both that the node stopped; "deliver" sends whatever waits, over a real wire.
"""

import asyncio
import sys
from datetime import timedelta
from functools import partial

from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import OF_ORGANIZATIONS
from leyden.base.rules.times import utc_now
from leyden.base.tasks.queues import Queue
from leyden.base.tasks.worker import Worker
from leyden.events import subscriptions
from leyden.events.dispatchers import Dispatcher, DispatcherSettings, deliver
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, SUBSCRIPTIONS
from leyden.events.rules.events import TYPES, Event
from leyden.events.subscriptions import Wanted
from leyden.events.webhooks.connector import Egress
from leyden.events.webhooks.sender import HttpSender
from tests.crash.victim import KEYRING, say
from tests.events.webhook_harness import WebhookHarness
from tests.events.webhooks.conftest import ANYTHING, LOOPBACK
from tests.nodes.rules.nodes import a_node

TEAM, SUBSCRIPTION = "harbour", "1S"


async def opened(url: str) -> WebhookHarness:
    return WebhookHarness(
        database=await open_database(url), sealer=Sealer(KEYRING), now=utc_now()
    )


async def announce(database_url: str, url: str) -> None:
    harness = await opened(database_url)
    await harness.open()
    await harness.announce(await harness.house(url=url), "stopped")
    await subscriptions.create(
        dispatcher_of(harness),
        TEAM,
        SUBSCRIPTION,
        Wanted(url=url, types=["node.*"]),
        scopes=OF_ORGANIZATIONS,
        actor="test",
    )
    kind = "node.stopped"
    event = Event(organization_id=TEAM, type=kind, data=TYPES[kind].example)
    async with harness.database.transaction() as tx:
        tx.events.add(event, at=utc_now())
    await harness.database.close()


def dispatcher_of(harness: WebhookHarness) -> Dispatcher:
    return Dispatcher(
        database=harness.database,
        sealer=harness.sealer,
        sender=HttpSender(
            Egress(exceptions=[LOOPBACK]), allowed=ANYTHING, deadline_s=5
        ),
        clock=utc_now,
        rules=DispatcherSettings(allowed=ANYTHING),
    )


async def is_told(harness: WebhookHarness) -> bool:
    subscription = await harness.database.reader.subscriptions.find(SUBSCRIPTION)
    at_its_end = subscription is not None and subscription.position == 1
    return at_its_end and await harness.states(a_node()) == ["delivered"]


async def bring(database_url: str) -> None:
    harness = await opened(database_url)
    async with harness.database.transaction() as tx:
        await tx.tasks.release_all()
    dispatcher = dispatcher_of(harness)
    claim_for = timedelta(seconds=5)
    queues = [
        Queue(kind=kind, run=partial(deliver, dispatcher), claim_for=claim_for)
        for kind in (NODE_WEBHOOKS, SUBSCRIPTIONS)
    ]
    working = asyncio.create_task(Worker(harness.database, queues, clock=utc_now).run())
    async with asyncio.timeout(40):
        while not await is_told(harness):
            await asyncio.sleep(0.01)
    say("delivered")
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await harness.database.close()


if __name__ == "__main__":
    _, story, database_url, url = sys.argv
    asyncio.run(
        announce(database_url, url) if story == "announce" else bring(database_url)
    )
    say("the end")
