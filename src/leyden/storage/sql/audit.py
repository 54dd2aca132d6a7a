"""What is asked of the database about the audit."""

from sqlalchemy import bindparam, insert, select

from leyden.storage.tables import audit

ADD = insert(audit)
LATEST = select(audit).order_by(audit.c.at.desc()).limit(bindparam("most"))
OF_SUBJECT = (
    select(audit)
    .where(
        audit.c.organization_id == bindparam("organization_id"),
        audit.c.at >= bindparam("since"),
        audit.c.subject == bindparam("subject"),
        audit.c.action == bindparam("action"),
    )
    .order_by(audit.c.at.desc())
    .limit(bindparam("most"))
)
