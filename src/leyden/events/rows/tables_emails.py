"""Tables of emails: waiting emails, single-use links, and subscriptions of people."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from leyden.base.database.tables import SEALED, metadata, one_of

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
