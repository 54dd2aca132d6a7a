"""What is asked of the database about the outfits of nodes."""

from sqlalchemy import bindparam, insert, select, update

from leyden.storage.tables_nodes import outfits

ADD = insert(outfits)
GET = select(outfits).where(outfits.c.node_id == bindparam("node_id"))
_here = outfits.c.node_id == bindparam("of_node")
SET_SETTINGS = update(outfits).where(_here).values(sealed_settings=bindparam("sealed"))
SET_WEBHOOK_SECRET = (
    update(outfits).where(_here).values(webhook_secret=bindparam("sealed"))
)
SET_CERTIFICATE = (
    update(outfits)
    .where(_here)
    .values(
        certificate=bindparam("chain"),
        certificate_until=bindparam("until"),
        key=bindparam("sealed"),
    )
)
ENDINGS = select(outfits.c.node_id, outfits.c.certificate_until).where(
    outfits.c.certificate_until < bindparam("before")
)
