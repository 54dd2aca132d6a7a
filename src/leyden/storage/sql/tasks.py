"""What is asked of the database about the queue."""

from sqlalchemy import BigInteger, bindparam, case, delete, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.tables import tasks

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

_ready = (
    select(tasks.c.kind, tasks.c.key)
    .where(
        tasks.c.kind == bindparam("kind"),
        tasks.c.due <= bindparam("now"),
        tasks.c.lease <= bindparam("now"),
    )
    .order_by(tasks.c.due)
    .limit(bindparam("most", type_=BigInteger))
    .with_for_update(skip_locked=True)
)
CLAIM = (
    update(tasks)
    .where(
        tuple_(tasks.c.kind, tasks.c.key).in_(_ready),
        tasks.c.lease <= bindparam("now"),
    )
    .values(
        lease=bindparam("until"),
        fence=tasks.c.fence + 1,
        attempts=tasks.c.attempts + 1,
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

NEXT = (
    select(tasks.c.due)
    .where(tasks.c.kind == bindparam("kind"), tasks.c.lease <= bindparam("now"))
    .order_by(tasks.c.due)
    .limit(1)
)

_held = (
    tasks.c.kind == bindparam("task_kind"),
    tasks.c.key == bindparam("task_key"),
    tasks.c.fence == bindparam("held_fence"),
)
CHECK = select(tasks.c.fence).where(*_held).with_for_update()
END_ONE_OF_MANY = delete(tasks).where(*_held, tasks.c.asked == bindparam("seen"))
END = END_ONE_OF_MANY.returning(tasks.c.key)
FREE = update(tasks).where(*_held).values(lease=0, attempts=0)
FREE_ALL = update(tasks).where(tasks.c.lease > 0).values(lease=0)
AGAIN = (
    update(tasks)
    .where(*_held)
    .values(
        lease=0,
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
