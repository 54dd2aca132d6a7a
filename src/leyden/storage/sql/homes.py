"""What is asked of the database about the home, and the processes that run on it."""

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.sql.words import is_among
from leyden.storage.tables import tasks
from leyden.storage.tables_home import homes, processes

FIND = select(homes.c.identity, homes.c.authority, homes.c.place, homes.c.host)
LOCK = FIND.with_for_update()
ADD = (
    insert_once(homes)
    .values(
        id=1,
        identity=bindparam("identity"),
        authority=bindparam("authority"),
        place=bindparam("place"),
        host=bindparam("host"),
    )
    .on_conflict_do_nothing()
)
TAKE = update(homes).values(
    identity=bindparam("new_identity"),
    authority=bindparam("new_authority"),
    place=bindparam("new_place"),
    host=bindparam("new_host"),
)
IS_OURS = (
    select(homes.c.id)
    .where(
        homes.c.identity == bindparam("home_identity"),
        homes.c.place == bindparam("home_place"),
    )
    .exists()
)
# Whoever held a task of these kinds finds at its next step that it does not any more.
END_CLAIMS = (
    update(tasks)
    .where(is_among(tasks.c.kind, "kinds"))
    .values(lease=0, fence=tasks.c.fence + 1, holder="")
)

PROCESSES = select(
    processes.c.id,
    processes.c.session,
    processes.c.host,
    processes.c.pid,
    processes.c.beat,
    processes.c.until,
).order_by(processes.c.id)
ENTER = insert(processes).values(
    id=bindparam("id"),
    session=bindparam("session"),
    host=bindparam("host"),
    pid=bindparam("pid"),
    watches=bindparam("watches"),
    beat=0,
    until=bindparam("until"),
)
BEAT = (
    update(processes)
    .where(processes.c.id == bindparam("process_id"), IS_OURS)
    .values(beat=processes.c.beat + 1, until=bindparam("next_until"))
    .returning(processes.c.beat)
)
LEAVE = delete(processes).where(processes.c.id == bindparam("process_id"))
FORGET_SILENT = delete(processes).where(
    processes.c.id == bindparam("process_id"), processes.c.beat == bindparam("seen")
)
FORGET_OLD = delete(processes).where(processes.c.until < bindparam("before"))
FORGET_ALL = delete(processes)
WATCHING = select(func.count()).where(
    processes.c.watches == 1, processes.c.until > bindparam("now")
)
