"""What is asked of the database about API keys."""

from sqlalchemy import BigInteger, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables import keys

_shown = [column for column in keys.c if column.name != "digest"]
ADD = insert_once(keys).on_conflict_do_nothing().returning(keys.c.id)
# Every request begins with this, so it reads no more than is needed.
SPEAKER = select(
    keys.c.organization_id, keys.c.id, keys.c.scopes, keys.c.expires
).where(keys.c.digest == bindparam("digest"), keys.c.revoked.is_(None))
LIST = (
    select(*_shown)
    .where(keys.c.organization_id == bindparam("organization_id"))
    .order_by(keys.c.created)
)
COUNT_LIVE = select(func.count()).where(
    keys.c.organization_id == bindparam("organization_id"),
    keys.c.revoked.is_(None),
    or_(keys.c.expires.is_(None), keys.c.expires > bindparam("now")),
)
_ended_at = func.coalesce(keys.c.revoked, keys.c.expires)
_has_ended = and_(
    keys.c.organization_id == bindparam("of"),
    or_(keys.c.revoked.is_not(None), keys.c.expires <= bindparam("now")),
)
_latest = (
    select(keys.c.id)
    .where(_has_ended)
    .order_by(_ended_at.desc(), keys.c.id)
    .limit(bindparam("kept", type_=BigInteger))
)
FORGET_ENDED = delete(keys).where(_has_ended, keys.c.id.not_in(_latest))
REVOKE = (
    update(keys)
    .where(
        keys.c.organization_id == bindparam("of"),
        keys.c.id == bindparam("key_id"),
        keys.c.revoked.is_(None),
    )
    .values(revoked=bindparam("now"))
    .returning(keys.c.id)
)
USED = (
    update(keys)
    .where(
        keys.c.id == bindparam("key_id"),
        or_(keys.c.last_used.is_(None), keys.c.last_used < bindparam("used")),
    )
    .values(last_used=bindparam("used"))
)
