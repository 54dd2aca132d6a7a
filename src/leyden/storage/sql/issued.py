"""What is asked of the database about certificates that others issue."""

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_certificates import issued_certificates as issued
from leyden.storage.tables_certificates import issuer_accounts
from leyden.storage.tables_nodes import nodes

_here = issued.c.name == bindparam("of_name")
_in_this_order = issued.c.order_url == bindparam("of_order")
_KEPT = (_here, _in_this_order)
ADD = (
    insert_once(issued)
    .values(
        name=bindparam("name"),
        node_id=bindparam("node_id"),
        order_url="",
        refusals=0,
    )
    .on_conflict_do_nothing()
    .returning(issued.c.name)
)
FIND = select(issued).where(_here)
FORGET = delete(issued).where(_here)
SET_ORDER = (
    update(issued)
    .where(_here, issued.c.order_url == "")
    .values(order_url=bindparam("url"), order_key=bindparam("sealed"))
    .returning(issued.c.name)
)
END_ORDER = (
    update(issued)
    .where(_here, _in_this_order)
    .values(order_url="", order_key=None, refusals=issued.c.refusals + 1)
    .returning(issued.c.refusals)
)
KEEP = (
    update(issued)
    .where(*_KEPT)
    .values(
        chain=bindparam("chain_pem"),
        until=bindparam("valid_until"),
        key=issued.c.order_key,
        order_url="",
        order_key=None,
        refusals=0,
    )
    .returning(issued.c.name)
)
WITHOUT = (
    select(nodes.c.id)
    .select_from(nodes)
    .outerjoin(issued, issued.c.node_id == nodes.c.id)
    .where(issued.c.name.is_(None), nodes.c.wanted != "deleted")
    .order_by(nodes.c.id)
)
ADD_ACCOUNT = insert_once(issuer_accounts).on_conflict_do_nothing()
ACCOUNT = select(issuer_accounts.c.sealed).where(
    issuer_accounts.c.directory == bindparam("directory")
)
