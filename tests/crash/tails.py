"""What the event log says after whatever was killed, and who read it meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leyden.base.database.database import Database, open_database
from leyden.base.database.stores import Stores
from leyden.channels import order_events
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from leyden.events import log
from leyden.events.rules import cursors
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.events import TYPES, StoredEvent

_LOOK_S = 0.02


class Tail:
    """A reader by cursor, who reads while others write and are killed."""

    def __init__(self) -> None:
        self.seen: list[StoredEvent] = []
        self._cursor: Cursor = cursors.START

    async def read(self, database: Database, team: str) -> None:
        """Read what is there now."""
        has_more = True
        while has_more:
            part = await log.read(
                database.reader, team, TYPES, after=self._cursor, limit=7
            )
            self.seen += part.events
            self._cursor, has_more = part.cursor, part.has_more


@asynccontextmanager
async def tailing(url: str, team: str) -> AsyncIterator[None]:
    """Read the log all the while; at its end it is what was read, once and in order."""
    database, tail = await open_database(url), Tail()

    async def follow() -> None:
        while True:
            await tail.read(database, team)
            await asyncio.sleep(_LOOK_S)

    following = asyncio.create_task(follow())
    yield
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await tail.read(database, team)
    assert [each.id for each in tail.seen] == [
        each.id for each in await whole_log(database, team)
    ]
    await database.close()


async def whole_log(database: Database, team: str) -> list[StoredEvent]:
    """Return the whole log."""
    tail = Tail()
    await tail.read(database, team)
    return tail.seen


async def check_events(database: Database, team: str) -> None:
    """Each fact was told once: every move of an order, and every sat of credit."""
    answer = await whole_log(database, team)
    assert [each.number for each in answer] == list(range(1, len(answer) + 1))
    assert len({each.id for each in answer}) == len(answer)
    facts = [(each.type, json.loads(bytes(each.data))) for each in answer]
    reader: Stores = database.reader
    for order in await reader.orders.page(team, limit=100):
        moved = [OrderStatus.WAITING_PAYMENT]
        moved += [after for _, after in await reader.moves.of_order(order.id)]
        expected = [order_events.of_new(order).type]
        for status in moved[1:]:
            expected += [each.type for each in order_events.of_move(order, status)]
        assert [
            kind
            for kind, data in facts
            if kind.startswith("order.") and data["order_id"] == order.id
        ] == expected
    changed = sum(data["amount"] for kind, data in facts if kind == "credit.changed")
    assert changed == await reader.ledger.balance(ledger.credit(team))
