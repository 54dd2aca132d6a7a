"""What is asked of the database about the queue."""

from sqlalchemy import (
    BigInteger,
    Select,
    Text,
    Update,
    bindparam,
    case,
    cast,
    delete,
    func,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.sql.homes import IS_OURS
from leyden.storage.tables import tasks
from leyden.storage.tables_nodes import nodes

_new = insert(tasks).values(
    kind=bindparam("kind"),
    key=bindparam("key"),
    due=bindparam("due"),
    lease=0,
    fence=0,
    asked=0,
    attempts=0,
)
PUT = _new.on_conflict_do_update(
    index_elements=["kind", "key"],
    set_={
        "due": case(
            (tasks.c.due > _new.excluded.due, _new.excluded.due), else_=tasks.c.due
        ),
        "asked": tasks.c.asked + 1,
    },
)

# Who holds a shard of the nodes, and so the tasks of those that are in it.
_watched = tasks.alias("watched")
_shard = func.coalesce(nodes.c.slot, 0) % bindparam("shards", type_=BigInteger)
IS_WATCHED = (
    select(_watched.c.key)
    .where(
        _watched.c.kind == bindparam("watch_kind"),
        _watched.c.holder == bindparam("holder"),
        _watched.c.key
        == func.coalesce(
            select(cast(_shard, Text))
            .where(nodes.c.id == tasks.c.key)
            .correlate(tasks)
            .scalar_subquery(),
            literal("0"),
        ),
    )
    .exists()
)


def _ready(*conditions: object) -> Select[tuple[str, str]]:
    return (
        select(tasks.c.kind, tasks.c.key)
        .where(
            tasks.c.kind == bindparam("kind"),
            tasks.c.due <= bindparam("now"),
            tasks.c.lease <= bindparam("now"),
            *conditions,  # type: ignore[arg-type]
        )
        .order_by(tasks.c.due)
        .limit(bindparam("most", type_=BigInteger))
        .with_for_update(skip_locked=True, of=tasks)
    )


def _claim(*conditions: object) -> Update:
    return (
        update(tasks)
        .where(
            tuple_(tasks.c.kind, tasks.c.key).in_(_ready(*conditions)),
            tasks.c.lease <= bindparam("now"),
        )
        .values(
            lease=bindparam("until"),
            fence=tasks.c.fence + 1,
            attempts=tasks.c.attempts + 1,
            holder=bindparam("holder"),
        )
        .returning(
            tasks.c.kind,
            tasks.c.key,
            tasks.c.fence,
            tasks.c.asked,
            tasks.c.attempts,
            tasks.c.due,
        )
    )


CLAIM = _claim()
CLAIM_AT_HOME = _claim(IS_OURS)
CLAIM_WATCHED = _claim(IS_OURS, IS_WATCHED)

NEXT = (
    select(tasks.c.due)
    .where(tasks.c.kind == bindparam("kind"), tasks.c.lease <= bindparam("now"))
    .order_by(tasks.c.due)
    .limit(1)
)
NEXT_WATCHED = NEXT.where(IS_WATCHED)

_held = (
    tasks.c.kind == bindparam("task_kind"),
    tasks.c.key == bindparam("task_key"),
    tasks.c.fence == bindparam("held_fence"),
)
CHECK = select(tasks.c.fence).where(*_held).with_for_update()
END_ONE_OF_MANY = delete(tasks).where(*_held, tasks.c.asked == bindparam("seen"))
END = END_ONE_OF_MANY.returning(tasks.c.key)
FREE = update(tasks).where(*_held).values(lease=0, attempts=0, holder="")
FREE_ALL = update(tasks).where(tasks.c.lease > 0).values(lease=0, holder="")
AGAIN = (
    update(tasks)
    .where(*_held)
    .values(
        lease=0,
        holder="",
        # Whoever put it while it ran wants it now, whatever this run would rather.
        due=case(
            (tasks.c.asked == bindparam("seen"), bindparam("next_due")),
            else_=tasks.c.due,
        ),
        attempts=bindparam("next_attempts"),
    )
    .returning(tasks.c.key)
)
EXTEND = (
    update(tasks).where(*_held).values(lease=bindparam("until")).returning(tasks.c.key)
)
# What goes on for as long as it is held is next due when that ends, and goes well.
STAND = (
    update(tasks)
    .where(*_held)
    .values(lease=bindparam("until"), due=bindparam("until"), attempts=0)
    .returning(tasks.c.key)
)
