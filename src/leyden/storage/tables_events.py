"""Tables of the event log.

No foreign key to the organization: its check would lock the organization's row after
the log's, while whoever holds that row waits for the log.
"""

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from leyden.storage.tables import metadata

# The row that numbers an organization's events: locked last in a transaction, so that
# numbers become visible in their order.
logs = Table(
    "event_log",
    metadata,
    Column("organization_id", Text, primary_key=True),
    Column("last", BigInteger, nullable=False),  # the newest number
    Column("first", BigInteger, nullable=False),  # the oldest one that is kept
    Column("oldest", BigInteger, nullable=False),  # no event that is kept is older
)

events = Table(
    "event",
    metadata,
    Column("organization_id", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("tag", Text, nullable=False),  # the random digits of its id
    Column("type", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("once", Text),  # what must not be told twice
    Column("data", Text, nullable=False),  # JSON, never a secret
    PrimaryKeyConstraint("organization_id", "number"),
    sqlite_with_rowid=False,  # one tree less to write for each event
)
# What an operator was told of, and not yet that it is over.
alarms = Table(
    "alarm",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
)

_once = events.c.once.is_not(None)
Index(
    "ix_event_once",
    events.c.organization_id,
    events.c.once,
    sqlite_where=_once,
    postgresql_where=_once,
)
