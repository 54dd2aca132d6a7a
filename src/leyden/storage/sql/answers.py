"""What is asked of the database about answers kept for repeated requests."""

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.tables import answers

_mine = (
    answers.c.organization_id == bindparam("of"),
    answers.c.key == bindparam("under"),
)
FORGET = delete(answers).where(*_mine, answers.c.expires <= bindparam("now"))
CLAIM = (
    insert(answers)
    .values(
        organization_id=bindparam("of"),
        key=bindparam("under"),
        request=bindparam("request"),
        started=bindparam("now"),
        expires=bindparam("expires"),
        holder=bindparam("holder"),
        status=None,
        body=None,
    )
    .on_conflict_do_nothing()
    .returning(answers.c.key)
)
GET = select(
    answers.c.request,
    answers.c.status,
    answers.c.body,
    answers.c.holder,
    answers.c.started,
).where(*_mine)
TAKE_OVER = (
    update(answers)
    .where(*_mine, answers.c.status.is_(None), answers.c.holder == bindparam("before"))
    .values(started=bindparam("now"), holder=bindparam("holder"))
    .returning(answers.c.key)
)
# Whoever answers says so again and again: `started` is when it was last heard of.
RENEW = (
    update(answers)
    .where(*_mine, answers.c.status.is_(None), answers.c.holder == bindparam("holder"))
    .values(started=bindparam("now"))
    .returning(answers.c.key)
)
SAVE = (
    update(answers)
    .where(*_mine, answers.c.holder == bindparam("holder"))
    .values(status=bindparam("status"), body=bindparam("body"))
)
DROP = delete(answers).where(*_mine, answers.c.holder == bindparam("holder"))
FORGET_ALL = delete(answers).where(answers.c.expires <= bindparam("now"))
