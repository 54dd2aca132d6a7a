"""What is asked of the database about second factors."""

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_people import passkeys, totps, used_challenges

TOTP = select(totps.c.sealed, totps.c.confirmed, totps.c.last_step).where(
    totps.c.user_id == bindparam("user_id")
)
KEEP = insert_once(totps)
KEEP_TOTP = KEEP.on_conflict_do_update(
    index_elements=["user_id"],
    set_={"sealed": KEEP.excluded.sealed, "last_step": KEEP.excluded.last_step},
    where=totps.c.confirmed.is_(None),
)
CONFIRM = (
    update(totps)
    .where(totps.c.user_id == bindparam("of"), totps.c.confirmed.is_(None))
    .values(confirmed=bindparam("now"))
)
USE_STEP = (
    update(totps)
    .where(totps.c.user_id == bindparam("of"), totps.c.last_step < bindparam("step"))
    .values(last_step=bindparam("step"))
    .returning(totps.c.user_id)
)
REMOVE_TOTP = delete(totps).where(totps.c.user_id == bindparam("user_id"))

ADD = insert_once(passkeys).on_conflict_do_nothing().returning(passkeys.c.id)
FIND = select(passkeys).where(passkeys.c.id == bindparam("id"))
LIST = (
    select(passkeys)
    .where(passkeys.c.user_id == bindparam("user_id"))
    .order_by(passkeys.c.created)
)
USED = (
    update(passkeys)
    .where(passkeys.c.id == bindparam("passkey_id"))
    .values(sign_count=bindparam("sign_count"), last_used=bindparam("now"))
    .returning(passkeys.c.id)
)
REMOVE = (
    delete(passkeys)
    .where(
        passkeys.c.user_id == bindparam("user_id"),
        passkeys.c.id == bindparam("passkey_id"),
    )
    .returning(passkeys.c.id)
)
REMOVE_PASSKEYS = delete(passkeys).where(passkeys.c.user_id == bindparam("user_id"))

USE_CHALLENGE = (
    insert_once(used_challenges)
    .on_conflict_do_nothing()
    .returning(used_challenges.c.challenge)
)
FORGET_CHALLENGES = delete(used_challenges).where(
    used_challenges.c.until < bindparam("now")
)
