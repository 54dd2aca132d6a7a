"""A courier to be killed while it delivers a webhook; it says so once that is known.

    python -m tests.crash.post_victim STORY DATABASE_URL URL

"announce" keeps a node with this webhook and announces that it stopped; "deliver" sends
whatever waits, over a real wire.
"""

import asyncio
import sys
from datetime import timedelta
from functools import partial

from leyden.domain.times import utc_now
from leyden.services.courier import WEBHOOKS, Courier, deliver
from leyden.storage.database import open_database
from leyden.storage.secrets import Sealer
from leyden.tasks import Lane, Worker
from leyden.webhooks.egress import Egress
from leyden.webhooks.names import Names
from leyden.webhooks.sender import HttpSender
from tests.crash.victim import KEYRING, say
from tests.domain.nodes import a_node
from tests.services.post import Post
from tests.webhooks.conftest import ANYTHING, LOOPBACK


async def opened(url: str) -> Post:
    return Post(
        database=await open_database(url), sealer=Sealer(KEYRING), now=utc_now()
    )


async def announce(database_url: str, url: str) -> None:
    post = await opened(database_url)
    await post.open()
    await post.announce(await post.house(url=url), "stopped")
    await post.database.close()


async def bring(database_url: str) -> None:
    post = await opened(database_url)
    async with post.database.transaction() as tx:
        await tx.tasks.free_all()
    names = Names()
    courier = Courier(
        database=post.database,
        sealer=post.sealer,
        sender=HttpSender(
            Egress(names.look_up, exceptions=[LOOPBACK]), allowed=ANYTHING, deadline_s=5
        ),
        clock=utc_now,
    )
    lane = Lane(
        kind=WEBHOOKS, run=partial(deliver, courier), lease=timedelta(seconds=5)
    )
    working = asyncio.create_task(Worker(post.database, [lane], clock=utc_now).run())
    async with asyncio.timeout(40):
        while await post.states(a_node()) != ["delivered"]:
            await asyncio.sleep(0.01)
    say("delivered")
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    names.close()
    await post.database.close()


if __name__ == "__main__":
    _, story, database_url, url = sys.argv
    asyncio.run(
        announce(database_url, url) if story == "announce" else bring(database_url)
    )
    say("the end")
