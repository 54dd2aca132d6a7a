"""What is asked of the database about corporate accounts."""

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.tables_money import corporate_accounts as accounts

_new = insert(accounts).values(
    organization_id=bindparam("organization_id"),
    most_owed=bindparam("most_owed"),
    since=bindparam("since"),
)
SET = _new.on_conflict_do_update(
    index_elements=["organization_id"], set_={"most_owed": _new.excluded.most_owed}
)
END = delete(accounts).where(accounts.c.organization_id == bindparam("of"))
LIMIT = select(accounts.c.most_owed).where(
    accounts.c.organization_id == bindparam("organization_id")
)
