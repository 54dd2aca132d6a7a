"""Tables for signing in: people, credentials, sessions, invitations."""

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
)

from leyden.base.database.tables import SEALED, metadata, one_of

sessions = Table(
    "session",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),  # of the cookie
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("whole", Integer, nullable=False),  # 0: the second factor is still missing
    Column("address", Text, nullable=False),
    Column("browser", Text, nullable=False),
    CheckConstraint("whole IN (0, 1)", name="whole_is_known"),
    Index("ix_session_user_id", "user_id"),
    Index("ix_session_expires", "expires"),
)

# Recent failed attempts; `who` is a digest, so that this does not list people.
sign_in_failures = Table(
    "sign_in_failure",
    metadata,
    Column("who", LargeBinary, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
    Index("ix_sign_in_failure_since", "since"),
)

totps = Table(
    "totp",
    metadata,
    Column("user_id", ForeignKey("person.id"), primary_key=True),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),
    Column("confirmed", BigInteger),  # NULL: codes are not required yet
    Column(
        "last_step", BigInteger, nullable=False
    ),  # so that no code is accepted twice
)

# Unused codes; used ones are deleted.
recovery_codes = Table(
    "recovery_code",
    metadata,
    Column("user_id", ForeignKey("person.id"), primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
)

passkeys = Table(
    "passkey",
    metadata,
    Column("id", LargeBinary, primary_key=True),  # the credential's id
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("sign_count", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("last_used", BigInteger),
    Index("ix_passkey_user_id", "user_id"),
)

# Used challenges of passkeys, so that none is accepted twice.
used_challenges = Table(
    "used_challenge",
    metadata,
    Column("challenge", LargeBinary, primary_key=True),
    Column(
        "until", BigInteger, nullable=False
    ),  # then the challenge has expired anyway
    Index("ix_used_challenge_until", "until"),
)

invitations = Table(
    "invitation",
    metadata,
    Column("id", Text, primary_key=True),
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("email", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False, unique=True),  # of the link
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("ended", BigInteger),  # accepted or revoked
    one_of("role", ("owner", "admin", "developer", "billing", "viewer")),
    Index("ix_invitation_organization_id", "organization_id"),
)

operators = Table(
    "operator",
    metadata,
    Column("user_id", ForeignKey("person.id"), primary_key=True),
    Column("created", BigInteger, nullable=False),
)
# No constraint on the names, because each release may add quotas.
quotas = Table(
    "organization_quota",
    metadata,
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("most", BigInteger, nullable=False),
    PrimaryKeyConstraint("organization_id", "name"),
    CheckConstraint("most >= 0", name="most_not_negative"),
)

# An unpaid order counts before its invoice is created, and so before it has a row.
order_places = Table(
    "order_place",
    metadata,
    Column("order_id", Text, primary_key=True),
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("until", BigInteger, nullable=False),  # in case the process dies meanwhile
    Index("ix_order_place_organization_id", "organization_id"),
)
