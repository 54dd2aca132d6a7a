"""What is asked of the database about deliveries."""

from sqlalchemy import BigInteger, bindparam, case, delete, insert, select, update

from leyden.storage.tables_webhooks import attempts, events

# What is no longer pending can still turn out to have been delivered, and nothing else.
_may_become = (events.c.state == "pending") | (bindparam("becomes") == "delivered")
SETTLE = (
    update(events)
    .where(events.c.id == bindparam("event_id"))
    .values(
        attempts=events.c.attempts + 1,
        state=case((_may_become, bindparam("becomes")), else_=events.c.state),
        due=case((_may_become, bindparam("next_due")), else_=events.c.due),
        overtakable=bindparam("may_be_overtaken"),
    )
    .returning(events.c.attempts)
)
ADD = insert(attempts)
LIST = (
    select(events)
    .where(
        events.c.node_id == bindparam("node_id"),
        events.c.position < bindparam("before"),
    )
    .order_by(events.c.position.desc())
    .limit(bindparam("most", type_=BigInteger))
)
LIST_ATTEMPTS = (
    select(attempts)
    .join(events, events.c.id == attempts.c.event_id)
    .where(
        events.c.node_id == bindparam("node_id"),
        events.c.position.between(bindparam("first"), bindparam("last")),
    )
    .order_by(attempts.c.event_id, attempts.c.number)
)
_oldest = (
    select(events.c.position, events.c.created)
    .order_by(events.c.position)
    .limit(bindparam("most", type_=BigInteger))
    .subquery()
)
PRUNE = (
    delete(events)
    .where(
        events.c.position.in_(
            select(_oldest.c.position).where(_oldest.c.created < bindparam("before"))
        )
    )
    .returning(events.c.position)
)
