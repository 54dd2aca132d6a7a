"""What is asked of the database about the treasury."""

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.storage.tables_money import treasuries

ADD = (
    insert_once(treasuries)
    .values(id=1, pubkey=bindparam("pubkey"), stranger="")
    .on_conflict_do_nothing()
)
FIND = select(treasuries.c.pubkey, treasuries.c.stranger)
TAKE = update(treasuries).values(pubkey=bindparam("known"), stranger="")
NOTICE = update(treasuries).values(stranger=bindparam("found"))
