"""What is asked of the database about API keys."""

from sqlalchemy import bindparam, func, or_, select, update
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
