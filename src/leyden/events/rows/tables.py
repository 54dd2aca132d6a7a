"""Tables of the event log, of alarms, and of emails and who gets them.

The log has no foreign key to the organization: its check would lock the row of the
organization after the log's, while another transaction has locked that row and waits
for the log.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from leyden.base.database.tables import SEALED, metadata, one_of

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
# Emails that the mail server has not accepted yet; accepted ones are deleted.
emails = Table(
    "email",
    metadata,
    Column("id", Text, primary_key=True),
    Column("organization_id", Text, nullable=False),  # empty: of no organization
    Column("address", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),  # it may contain a link
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),  # that failed
)

email_links = Table(
    "email_link",
    metadata,
    Column("digest", LargeBinary, primary_key=True),  # of the token in the link
    Column("kind", Text, nullable=False),
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("address", Text, nullable=False),  # that it was sent to
    Column("browser", LargeBinary),  # the digest of the requesting browser's cookie
    Column("password", LargeBinary),  # the digest of the password hash at that time
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    one_of("kind", ("confirm", "reset")),
    Index("ix_email_link_user_id", "user_id"),
    Index("ix_email_link_expires", "expires"),
)

# A person's subscription to the events of an organization, or of the installation.
email_subscriptions = Table(
    "email_subscription",
    metadata,
    Column(
        "subscription_id",
        ForeignKey("subscription.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("organization_id", Text, nullable=False),
    Column("hour_began", BigInteger, nullable=False),
    Column("hour_sent", Integer, nullable=False),  # emails since then
    # The number of the last event of the email that is being sent; 0 for none.
    Column("sending_to", BigInteger, nullable=False),
    UniqueConstraint("user_id", "organization_id"),
)


Index(
    "ix_event_once",
    events.c.organization_id,
    events.c.once,
    sqlite_where=_once,
    postgresql_where=_once,
)
