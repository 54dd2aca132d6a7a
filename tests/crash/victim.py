"""A program to be killed: does durable things, and says each once it is told so.

    python -m tests.crash.victim STORY DATABASE_URL

Whatever it has said must still be true after a kill at any instant.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from leyden.base.database import schema
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.base.tasks.queues import Queue
from leyden.base.tasks.work import Work
from leyden.base.tasks.worker import Worker
from leyden.people import accounts, api_keys

KEYS = 2
TASKS = 4
KEYRING = Keyring(digesting=bytes(32), sealing=((bytes(4), bytes(32)),))


def say(*words: str) -> None:
    print(*words, flush=True)  # noqa: T201  this is how it speaks


async def opened(url: str) -> Platform:
    return Platform(
        settings=Settings(),
        database=await open_database(url),
        sealer=Sealer(KEYRING),
        clock=utc_now,
    )


async def make_keys(url: str) -> None:
    """An organization and some keys; each key is said once it is made."""
    platform = await opened(url)
    found = await platform.database.reader.accounts.list_()
    team = (
        found[0]
        if found
        else await accounts.create_organization(platform, "Harbour", actor="victim")
    )
    say("organization", team.id)
    for number in range(KEYS):
        _, text = await api_keys.create(
            platform,
            team.id,
            name=f"key {number}",
            scopes=["node"],
            expires=None,
            actor="victim",
        )
        say("key", text)
    await platform.database.close()


async def work(url: str) -> None:
    """Some tasks, each of which leaves one line in the audit, in its own commit."""
    platform = await opened(url)
    database = platform.database

    async def leave_a_line(task: Work) -> None:
        async with task.transaction() as tx:
            now = utc_now()
            await tx.audit.add(at=now, actor="victim", action="done", subject=task.key)
            await task.done(tx)
        say("done", task.key)

    for number in range(TASKS):
        key = f"task {number}"
        async with database.transaction() as tx:
            lines = await tx.audit.latest()
            if key in {line.subject for line in lines if line.action == "put"}:
                continue
            now = utc_now()
            await tx.audit.add(at=now, actor="victim", action="put", subject=key)
            await tx.tasks.put("leave a line", key, due=now)
        say("put", key)
    # A second: nobody gives back the claims of the dead.
    queue = Queue(kind="leave a line", run=leave_a_line, claim_for=timedelta(seconds=1))
    worker = asyncio.create_task(Worker(database, [queue], clock=utc_now).run())
    far = utc_now() + timedelta(days=1)
    while await database.reader.tasks.next_due("leave a line", now=far) is not None:
        await asyncio.sleep(0.005)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    await database.close()


async def migrate(url: str) -> None:
    """The schema, from nothing."""
    say("migrated", schema.migrate(url))


async def lines_left(url: str) -> list[str]:
    """Return what the tasks left behind, sorted."""
    platform = await opened(url)
    lines = await platform.database.reader.audit.latest()
    await platform.database.close()
    return sorted(line.subject for line in lines if line.action == "done")


STORIES = {"keys": make_keys, "work": work, "migrate": migrate}

if __name__ == "__main__":
    story, database_url = sys.argv[1:]
    assert Path("tests").is_dir(), "run from the root of the repository"
    asyncio.run(STORIES[story](database_url))
    say("the end")
