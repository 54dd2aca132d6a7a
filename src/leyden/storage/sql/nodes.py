"""What is asked of the database about nodes."""

from sqlalchemy import BigInteger, bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_nodes import commands, nodes, outfits

MUTABLE = (
    "version",
    "status",
    "wanted",
    "revision",
    "process",
    "launched",
    "host",
    "launched_at",
    "crashes",
    "due",
    "purchased_type",
    "purchase_status",
    "expires",
    "settings",
    "has_wallet",
)

ADD = insert_once(nodes).on_conflict_do_nothing().returning(nodes.c.id)
GET = select(nodes).where(nodes.c.id == bindparam("node_id"))
LOCK = GET.with_for_update()
LISTED = (
    nodes.c.id,
    nodes.c.name,
    nodes.c.status,
    nodes.c.expires,
    nodes.c.created,
    nodes.c.type,
    nodes.c.purchased_type,
    nodes.c.purchase_status,
    nodes.c.api_endpoint,
    nodes.c.network,
    nodes.c.version,
    nodes.c.edition,
)
# A deleted node is gone for its owner as soon as its lnd has ended.
_in_sight = (nodes.c.wanted != "deleted") | (nodes.c.process != "")
LIST = (
    select(*LISTED)
    .where(nodes.c.organization_id == bindparam("organization_id"), _in_sight)
    .order_by(nodes.c.created, nodes.c.id)
)
STAMPS = LIST.with_only_columns(nodes.c.id, nodes.c.edition)
# Secrets and commands change without the node's row: each is new when it is written.
STAMP = (
    select(
        nodes.c.id,
        nodes.c.edition,
        outfits.c.sealed_settings,
        outfits.c.webhook_secret,
        select(func.max(commands.c.id))
        .where(commands.c.node_id == nodes.c.id)
        .scalar_subquery(),
    )
    .join(outfits, outfits.c.node_id == nodes.c.id)
    .where(
        nodes.c.id == bindparam("node_id"),
        nodes.c.organization_id == bindparam("organization_id"),
        _in_sight,
    )
)
BY_NAME = select(nodes.c.id).where(
    nodes.c.organization_id == bindparam("organization_id"),
    nodes.c.name == bindparam("name"),
    nodes.c.wanted != "deleted",
)
BY_SLOT = select(nodes.c.id).where(nodes.c.slot == bindparam("slot"))
WHAT_IS_LEFT = select(nodes).where(nodes.c.slot.is_not(None)).order_by(nodes.c.id)
OF_SHARD = WHAT_IS_LEFT.where(
    nodes.c.slot % bindparam("shards", type_=BigInteger) == bindparam("shard")
)
EDITIONS = select(nodes.c.id, nodes.c.edition).where(
    nodes.c.slot.is_not(None), nodes.c.wanted != "deleted"
)
SAVE = (
    update(nodes)
    .where(nodes.c.id == bindparam("node_id"), nodes.c.edition == bindparam("was"))
    .values({name: bindparam(name) for name in MUTABLE} | {"edition": bindparam("is")})
    .returning(nodes.c.id)
)
VACATE = update(nodes).where(nodes.c.id == bindparam("node_id")).values(slot=None)
