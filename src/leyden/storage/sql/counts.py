"""What is asked of the database about how much there is of everything."""

from sqlalchemy import bindparam, func, or_, select

from leyden.storage.tables import tasks
from leyden.storage.tables_money import orders
from leyden.storage.tables_nodes import nodes

NODES = (
    select(nodes.c.status, func.count())
    .where(nodes.c.wanted != "deleted")
    .group_by(nodes.c.status)
    .order_by(nodes.c.status)
)
ORDERS = (
    select(orders.c.status, func.count())
    .group_by(orders.c.status)
    .order_by(orders.c.status)
)
TASKS = (
    select(
        tasks.c.kind, func.count(), func.min(tasks.c.due), func.max(tasks.c.attempts)
    )
    .where(tasks.c.due <= bindparam("until"))
    .group_by(tasks.c.kind)
    .order_by(tasks.c.kind)
)
VERSIONS = (
    select(nodes.c.version, func.count())
    .where(nodes.c.wanted != "deleted")
    .group_by(nodes.c.version)
    .order_by(nodes.c.version)
)
AILING = (
    select(
        nodes.c.id,
        nodes.c.name,
        nodes.c.organization_id,
        nodes.c.status,
        nodes.c.version,
        nodes.c.crashes,
        nodes.c.due,
    )
    .where(
        nodes.c.wanted != "deleted",
        or_(nodes.c.status == "failed", nodes.c.crashes > 0),
    )
    .order_by(nodes.c.crashes.desc(), nodes.c.id)
    .limit(bindparam("most"))
)
TRIED = (
    select(tasks.c.kind, tasks.c.key, tasks.c.due, tasks.c.attempts)
    .where(tasks.c.attempts > 1)
    .order_by(tasks.c.attempts.desc(), tasks.c.kind, tasks.c.key)
    .limit(bindparam("most"))
)
