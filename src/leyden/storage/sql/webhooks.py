"""What is asked of the database about events for webhooks."""

from sqlalchemy import (
    BigInteger,
    bindparam,
    delete,
    exists,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables import tasks
from leyden.storage.tables_webhooks import events, receivers

# Written out, not bound: only so do the partial indexes serve these statements.
_pending = events.c.state == literal_column("'pending'")
_here = events.c.node_id == bindparam("of")

_new = insert_once(events).values(
    {
        column.name: bindparam(column.name)
        for column in events.c
        if column.name != "position"
    }
)
ADD = _new.on_conflict_do_nothing(
    index_elements=["node_id", "told_once"], index_where=events.c.told_once.is_not(None)
).returning(events.c.position)
SUPERSEDE = (
    update(events)
    .where(_here, _pending, events.c.type == literal_column("'status'"))
    .values(state=literal_column("'superseded'"))
)
HURRY = (
    update(events)
    .where(_here, _pending, events.c.due > bindparam("now"))
    .values(due=bindparam("now"))
)
GIVE_UP = (
    update(events)
    .where(_here, _pending, events.c.created < bindparam("before"))
    .values(state=literal_column("'failed'"))
)
GIVE_ALL_UP = (
    update(events).where(_here, _pending).values(state=literal_column("'failed'"))
)
PENDING = (
    select(events)
    .where(events.c.node_id == bindparam("node_id"), _pending)
    .order_by(events.c.position)
    .limit(bindparam("most", type_=BigInteger))
)
LAST_ERROR = (
    select(events.c.created)
    .where(
        events.c.node_id == bindparam("node_id"),
        events.c.type == literal_column("'error'"),
    )
    .order_by(events.c.position.desc())
    .limit(1)
)
GET = select(events).where(
    events.c.node_id == bindparam("node_id"), events.c.id == bindparam("event_id")
)
# What waits while nothing is due that would send it, nor its receiver paused.
STRANDED = (
    select(events.c.node_id)
    .distinct()
    .where(
        _pending,
        ~exists().where(
            tasks.c.kind == bindparam("kind"), tasks.c.key == events.c.node_id
        ),
        ~exists().where(
            receivers.c.node_id == events.c.node_id, receivers.c.pause.is_not(None)
        ),
    )
)
FORGET = delete(events).where(events.c.node_id == bindparam("node_id"))
