"""What is asked of the database about backups."""

from sqlalchemy import BigInteger, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_nodes import channel_backups, macaroons, seeds

ADD_SEED = insert_once(seeds).on_conflict_do_nothing().returning(seeds.c.node_id)
GET_SEED = select(seeds.c.sealed).where(seeds.c.node_id == bindparam("node_id"))
ADD_MACAROON = (
    insert_once(macaroons).on_conflict_do_nothing().returning(macaroons.c.name)
)
GET_MACAROON = select(macaroons.c.sealed).where(
    macaroons.c.node_id == bindparam("node_id"), macaroons.c.name == bindparam("name")
)
LIST_MACAROONS = (
    select(macaroons.c.name, macaroons.c.created)
    .where(macaroons.c.node_id == bindparam("node_id"))
    .order_by(macaroons.c.created, macaroons.c.name)
)
REPLACE_SEED = (
    update(seeds)
    .where(seeds.c.node_id == bindparam("of_node"), seeds.c.sealed == bindparam("was"))
    .values(sealed=bindparam("sealed"))
    .returning(seeds.c.node_id)
)
REPLACE_MACAROON = (
    update(macaroons)
    .where(
        macaroons.c.node_id == bindparam("of_node"),
        macaroons.c.name == bindparam("of_name"),
        macaroons.c.sealed == bindparam("was"),
    )
    .values(sealed=bindparam("sealed"))
    .returning(macaroons.c.name)
)
ADD_CHANNELS = (
    insert_once(channel_backups)
    .values(
        node_id=bindparam("node_id"),
        taken=bindparam("taken"),
        digest=bindparam("digest"),
        content=bindparam("content"),
    )
    .on_conflict_do_nothing()
    .returning(channel_backups.c.id)
)
_of_node = channel_backups.c.node_id == bindparam("node_id")
LATEST_CHANNELS = (
    select(channel_backups.c.taken, channel_backups.c.digest, channel_backups.c.content)
    .where(_of_node)
    .order_by(channel_backups.c.id.desc())
    .limit(1)
)
HAS_CHANNELS = select(channel_backups.c.id).where(
    _of_node, channel_backups.c.digest == bindparam("digest")
)
_too_old = (
    select(channel_backups.c.id)
    .where(_of_node)
    .order_by(channel_backups.c.id.desc())
    .limit(1)
    .offset(bindparam("kept", type_=BigInteger))
    .scalar_subquery()
)
FORGET_CHANNELS = delete(channel_backups).where(
    channel_backups.c.node_id == bindparam("of_node"), channel_backups.c.id <= _too_old
)
_of_node = bindparam("node_id")
FORGET_SEED = delete(seeds).where(seeds.c.node_id == _of_node)
FORGET_MACAROONS = delete(macaroons).where(macaroons.c.node_id == _of_node)
FORGET_ALL_CHANNELS = delete(channel_backups).where(
    channel_backups.c.node_id == _of_node
)
