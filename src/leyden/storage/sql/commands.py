"""What is asked of the database about the commands of nodes."""

from sqlalchemy import BigInteger, bindparam, delete, insert, select

from leyden.storage.tables_nodes import commands

ADD = insert(commands).values(
    node_id=bindparam("node_id"),
    action=bindparam("action"),
    at=bindparam("at"),
    actor=bindparam("actor"),
)
LIST = (
    select(commands.c.action, commands.c.at)
    .where(commands.c.node_id == bindparam("node_id"))
    .order_by(commands.c.id.desc())
    .limit(bindparam("kept", type_=BigInteger))
)
_too_old = (
    select(commands.c.id)
    .where(commands.c.node_id == bindparam("node_id"))
    .order_by(commands.c.id.desc())
    .limit(1)
    .offset(bindparam("kept", type_=BigInteger))
    .scalar_subquery()
)
FORGET = delete(commands).where(
    commands.c.node_id == bindparam("of_node"), commands.c.id <= _too_old
)
