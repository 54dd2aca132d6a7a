"""What is asked of the database about quotas, and what counts against them."""

from sqlalchemy import (
    BigInteger,
    BindParameter,
    and_,
    bindparam,
    case,
    delete,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import insert

from leyden.storage.tables import answers, memberships
from leyden.storage.tables_money import orders
from leyden.storage.tables_nodes import macaroons, nodes, replaced_backups
from leyden.storage.tables_quotas import places, quotas

_of: BindParameter[str] = bindparam("organization_id")
_new = insert(quotas).values(
    organization_id=bindparam("organization_id"),
    name=bindparam("name"),
    most=bindparam("most"),
)
SET = _new.on_conflict_do_update(
    index_elements=["organization_id", "name"], set_={"most": _new.excluded.most}
)
RESET = delete(quotas).where(
    quotas.c.organization_id == _of, quotas.c.name == bindparam("name")
)
LIMITS = select(quotas.c.name, quotas.c.most).where(quotas.c.organization_id == _of)

# A deleted node counts as one until its lnd has ended; its data is kept for longer.
_is_there = (nodes.c.wanted != "deleted") | (nodes.c.process != "")
NODES = select(
    func.coalesce(func.sum(case((_is_there, 1), else_=0)), 0),
    func.count(),
    func.min(case((~_is_there, nodes.c.due))),
).where(nodes.c.organization_id == _of, nodes.c.slot.is_not(None))

_waits = orders.c.status == "waiting_payment"
UNPAID = (
    select(func.count())
    .select_from(orders)
    .where(orders.c.organization_id == _of, _waits)
)
GIVEN_UP = select(func.count(), func.min(orders.c.created)).where(
    orders.c.organization_id == _of,
    orders.c.created > bindparam("since"),
    orders.c.status == "cancelled",
    orders.c.paid_at.is_(None),
    orders.c.payment_hash.is_not(None),
)
PLACES = select(func.count()).where(
    places.c.organization_id == _of,
    places.c.order_id != bindparam("but"),
    places.c.until > bindparam("now"),
)
_place = insert(places).values(
    order_id=bindparam("order_id"),
    organization_id=bindparam("organization_id"),
    until=bindparam("until"),
)
KEEP_PLACE = _place.on_conflict_do_update(
    index_elements=["order_id"], set_={"until": _place.excluded.until}
)
LEAVE_PLACE = (
    delete(places)
    .where(places.c.order_id == bindparam("order_id"))
    .returning(places.c.order_id)
)
FORGET_PLACES = delete(places).where(
    places.c.organization_id == bindparam("of"), places.c.until <= bindparam("now")
)

MEMBERS = (
    select(func.count())
    .select_from(memberships)
    .where(memberships.c.organization_id == _of)
)
MACAROONS = (
    select(func.count())
    .select_from(macaroons)
    .where(macaroons.c.node_id == bindparam("node_id"))
)
_each = (
    select(func.count().label("kept"))
    .select_from(macaroons)
    .join(nodes, nodes.c.id == macaroons.c.node_id)
    .where(nodes.c.organization_id == _of)
    .group_by(macaroons.c.node_id)
    .subquery()
)
MOST_MACAROONS = select(func.coalesce(func.max(_each.c.kept), 0))
REPLACED = (
    select(func.coalesce(func.sum(func.length(replaced_backups.c.sealed)), 0))
    .select_from(replaced_backups)
    .join(nodes, nodes.c.id == replaced_backups.c.node_id)
    .where(nodes.c.organization_id == _of)
)
_kept = and_(answers.c.organization_id == _of, answers.c.expires > bindparam("now"))
# As far as anybody has to know: who has a hundred times as many is not counted out.
ANSWERS = select(func.count()).select_from(
    select(answers.c.key)
    .where(_kept)
    .limit(bindparam("most", type_=BigInteger))
    .subquery()
)
FIRST_ANSWER = select(func.min(answers.c.expires)).where(_kept)
