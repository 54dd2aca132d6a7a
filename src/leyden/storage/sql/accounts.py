"""What is asked of the database about organizations and people."""

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables import memberships, organizations, users

ADD_ORGANIZATION = (
    insert_once(organizations).on_conflict_do_nothing().returning(organizations.c.id)
)
GET_ORGANIZATION = select(organizations).where(organizations.c.id == bindparam("id"))
LOCK_ORGANIZATION = (
    select(organizations.c.id)
    .where(organizations.c.id == bindparam("id"))
    .with_for_update()
)
REACH = select(organizations.c.id).limit(1)
LIST_ORGANIZATIONS = select(organizations).order_by(organizations.c.created)

_person = (users.c.id, users.c.email, users.c.created)
ADD_PERSON = insert_once(users).on_conflict_do_nothing().returning(users.c.id)
FIND_PERSON = select(*_person).where(users.c.email == bindparam("email"))
LIST_PEOPLE = select(*_person).order_by(users.c.created)
SET_PASSWORD = (
    update(users)
    .where(users.c.id == bindparam("user_id"))
    .values(password=bindparam("password"))
    .returning(users.c.id)
)
JOIN = insert_once(memberships)
JOIN = JOIN.on_conflict_do_update(
    index_elements=["organization_id", "user_id"],
    set_={"role": JOIN.excluded.role},
)
LIST_MEMBERS = (
    select(memberships)
    .where(memberships.c.organization_id == bindparam("organization_id"))
    .order_by(memberships.c.created)
)
