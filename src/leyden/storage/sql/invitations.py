"""What is asked of the database about invitations."""

from sqlalchemy import bindparam, delete, insert, or_, select, update

from leyden.storage.tables_people import invitations

_shown = [column for column in invitations.c if column.name != "digest"]
ADD = insert(invitations)
OPEN = select(*_shown).where(
    invitations.c.ended.is_(None), invitations.c.expires > bindparam("now")
)
FIND = OPEN.where(invitations.c.digest == bindparam("digest"))
LIST = OPEN.where(
    invitations.c.organization_id == bindparam("organization_id")
).order_by(invitations.c.created)
END = (
    update(invitations)
    .where(
        invitations.c.organization_id == bindparam("of"),
        invitations.c.id == bindparam("invitation_id"),
        invitations.c.ended.is_(None),
    )
    .values(ended=bindparam("now"))
    .returning(invitations.c.id)
)
FORGET_ENDED = delete(invitations).where(
    invitations.c.organization_id == bindparam("of"),
    or_(invitations.c.ended.is_not(None), invitations.c.expires <= bindparam("now")),
)
END_FOR = (
    update(invitations)
    .where(
        invitations.c.organization_id == bindparam("of"),
        invitations.c.email == bindparam("whose"),
        invitations.c.ended.is_(None),
    )
    .values(ended=bindparam("now"))
    .returning(invitations.c.id)
)
