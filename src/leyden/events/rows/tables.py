"""Tables of the event log.

There is no foreign key to the organization: its check would lock the organization's row
after the log's, while another transaction has locked that row and waits for the log.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from leyden.base.database.tables import metadata

# The counter of an organization's events. It is locked last in a transaction, so that
# numbers become visible in order.
logs = Table(
    "event_log",
    metadata,
    Column("organization_id", Text, primary_key=True),
    Column("last", BigInteger, nullable=False),  # the newest number
    Column("first", BigInteger, nullable=False),  # the oldest stored number
    Column("oldest", BigInteger, nullable=False),  # no stored event is older
)

events = Table(
    "event",
    metadata,
    Column("organization_id", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("tag", Text, nullable=False),  # the random digits of its id
    Column("type", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("once", Text),  # the key under which it is logged only once
    Column("data", Text, nullable=False),  # JSON, never a secret
    PrimaryKeyConstraint("organization_id", "number"),
    sqlite_with_rowid=False,  # one tree less to write for each event
)
# Alarms that were announced as raised, and not yet as cleared.
alarms = Table(
    "raised_alarm",
    metadata,
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    PrimaryKeyConstraint("kind", "subject", "reason"),
)
# What the release before this one announced, by kind alone. Only that release uses it,
# while both run.
alarms_by_kind = Table(
    "alarm",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
)
# When the alarms were checked last, by the process that logs them: one row.
alarm_checks = Table(
    "alarm_check",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="only_one"),
)
# What jobs found wrong, and no other table shows afterwards.
findings = Table(
    "finding",
    metadata,
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("found", BigInteger, nullable=False),  # the last time
    Column("until", BigInteger, nullable=False),
    PrimaryKeyConstraint("kind", "subject"),
)

_once = events.c.once.is_not(None)
Index(
    "ix_event_once",
    events.c.organization_id,
    events.c.once,
    sqlite_where=_once,
    postgresql_where=_once,
)
