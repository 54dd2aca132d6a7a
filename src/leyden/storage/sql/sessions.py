"""What is asked of the database about sessions."""

from sqlalchemy import BigInteger, bindparam, case, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_people import sessions
from leyden.storage.tables_people import sign_in_failures as failures

_shown = [column for column in sessions.c if column.name != "digest"]
ADD = insert(sessions)
FIND = select(*_shown).where(sessions.c.digest == bindparam("digest"))
LIST = (
    select(*_shown)
    .where(sessions.c.user_id == bindparam("user_id"))
    .order_by(sessions.c.seen.desc())
)
SEEN = (
    update(sessions)
    .where(sessions.c.id == bindparam("session_id"))
    .values(seen=bindparam("now"))
)
END = (
    delete(sessions)
    .where(
        sessions.c.user_id == bindparam("user_id"),
        sessions.c.id == bindparam("session_id"),
    )
    .returning(sessions.c.id)
)
END_OTHERS = delete(sessions).where(
    sessions.c.user_id == bindparam("user_id"), sessions.c.id != bindparam("session_id")
)
_latest = (
    select(sessions.c.id)
    .where(sessions.c.user_id == bindparam("whose"))
    .order_by(sessions.c.seen.desc(), sessions.c.created.desc(), sessions.c.id)
    .limit(bindparam("kept", type_=BigInteger))
)
BOUND = delete(sessions).where(
    sessions.c.user_id == bindparam("whose"), sessions.c.id.not_in(_latest)
)
FORGET = delete(sessions).where(sessions.c.expires < bindparam("now"))

_again = insert_once(failures).values(
    who=bindparam("who"), since=bindparam("now"), count=1
)
_is_old = failures.c.since < bindparam("start", type_=BigInteger)
FAILED = _again.on_conflict_do_update(
    index_elements=["who"],
    set_={
        "since": case((_is_old, _again.excluded.since), else_=failures.c.since),
        "count": case((_is_old, 1), else_=failures.c.count + 1),
    },
).returning(failures.c.count, failures.c.since)
FORGIVE = delete(failures).where(failures.c.who == bindparam("who"))
TAKE_BACK = (
    update(failures)
    .where(failures.c.who == bindparam("whose"))
    .values(count=failures.c.count - bindparam("attempts", type_=BigInteger))
)
FORGET_FAILURES = delete(failures).where(failures.c.since < bindparam("start"))
