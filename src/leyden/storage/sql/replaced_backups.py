"""What is asked of the database about backups that were replaced."""

from sqlalchemy import BigInteger, bindparam, delete, insert, select

from leyden.storage.tables_nodes import replaced_backups as replaced

ADD = insert(replaced).values(
    node_id=bindparam("of_node"),
    name=bindparam("of_name"),
    at=bindparam("now"),
    sealed=bindparam("was"),
)
_of_one = (replaced.c.node_id == bindparam("of_node")) & (
    replaced.c.name == bindparam("of_name")
)
_too_many = (
    select(replaced.c.id)
    .where(_of_one)
    .order_by(replaced.c.id.desc())
    .limit(1)
    .offset(bindparam("kept", type_=BigInteger))
    .scalar_subquery()
)
BOUND = delete(replaced).where(_of_one, replaced.c.id <= _too_many)
LIST = (
    select(replaced.c.name, replaced.c.at, replaced.c.sealed)
    .where(replaced.c.node_id == bindparam("of_node"))
    .order_by(replaced.c.id.desc())
)
FORGET = delete(replaced).where(replaced.c.node_id == bindparam("of_node"))
FORGET_OLD = delete(replaced).where(replaced.c.at < bindparam("until"))
