"""What is asked of the database about how far nodes' logs were read."""

from typing import Any

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_nodes import log_places

_PLACE = ("inode", "byte", "head", "rotated")
_place: dict[str, Any] = {name: bindparam(name) for name in _PLACE}

ALL = select(log_places)
GET = ALL.where(log_places.c.node_id == bindparam("node_id"))
# Who has read on from the same place, and was faster, has told what there is to tell.
ADD = (
    insert_once(log_places)
    .values(node_id=bindparam("node_id"), **_place, edition=1)
    .on_conflict_do_nothing()
    .returning(log_places.c.node_id)
)
MOVE = (
    update(log_places)
    .where(log_places.c.node_id == bindparam("of"))
    .where(log_places.c.edition == bindparam("was"))
    .values(**_place, edition=log_places.c.edition + 1)
    .returning(log_places.c.node_id)
)
FORGET = delete(log_places).where(log_places.c.node_id == bindparam("node_id"))
