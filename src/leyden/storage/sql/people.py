"""What is asked of the database about people and their roles."""

from sqlalchemy import bindparam, delete, exists, func, select
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.accounts import Role
from leyden.storage.tables import memberships, organizations, users
from leyden.storage.tables_people import operators

_person = (users.c.id, users.c.email, users.c.created)
GET = select(*_person).where(users.c.id == bindparam("user_id"))
LOCK = GET.with_for_update()
PASSWORD = select(*_person, users.c.password).where(users.c.email == bindparam("email"))
BELONGS = (
    select(
        organizations.c.id,
        organizations.c.name,
        organizations.c.created,
        memberships.c.role,
    )
    .join_from(memberships, organizations)
    .where(memberships.c.user_id == bindparam("user_id"))
    .order_by(memberships.c.created, organizations.c.id)
)
MEMBERS = (
    select(*_person, memberships.c.role, memberships.c.created)
    .join_from(memberships, users)
    .where(memberships.c.organization_id == bindparam("organization_id"))
    .order_by(memberships.c.created, users.c.id)
)
ROLE = select(memberships.c.role).where(
    memberships.c.organization_id == bindparam("organization_id"),
    memberships.c.user_id == bindparam("user_id"),
)
COUNT_OWNERS = select(func.count()).where(
    memberships.c.organization_id == bindparam("organization_id"),
    memberships.c.role == Role.OWNER.value,
)
LEAVE = (
    delete(memberships)
    .where(
        memberships.c.organization_id == bindparam("organization_id"),
        memberships.c.user_id == bindparam("user_id"),
    )
    .returning(memberships.c.user_id)
)
IS_OPERATOR = select(exists().where(operators.c.user_id == bindparam("user_id")))
MAKE_OPERATOR = insert_once(operators).on_conflict_do_nothing()
UNMAKE_OPERATOR = delete(operators).where(operators.c.user_id == bindparam("user_id"))
