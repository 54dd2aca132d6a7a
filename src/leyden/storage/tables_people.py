"""Tables for signing in: people, credentials, sessions, invitations."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
)

from leyden.storage.tables import SEALED, metadata, one_of

sessions = Table(
    "session",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),  # of the cookie
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("whole", Integer, nullable=False),  # 0: the second factor is to come
    Column("address", Text, nullable=False),
    Column("browser", Text, nullable=False),
    CheckConstraint("whole IN (0, 1)", name="whole_is_known"),
    Index("ix_session_user_id", "user_id"),
    Index("ix_session_expires", "expires"),
)

# How often somebody got it wrong of late; `who` is a digest, so no list of people.
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
    Column("confirmed", BigInteger),  # NULL: not asked for yet
    Column("last_step", BigInteger, nullable=False),  # no code opens twice
)

# Codes that are not used yet: a used one is deleted.
recovery_codes = Table(
    "recovery_code",
    metadata,
    Column("user_id", ForeignKey("person.id"), primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
)

passkeys = Table(
    "passkey",
    metadata,
    Column("id", LargeBinary, primary_key=True),  # the credential's own
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("sign_count", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("last_used", BigInteger),
    Index("ix_passkey_user_id", "user_id"),
)

# Challenges of passkeys that were answered, so that none is twice.
used_challenges = Table(
    "used_challenge",
    metadata,
    Column("challenge", LargeBinary, primary_key=True),
    Column("until", BigInteger, nullable=False),  # then it is too old anyway
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
    Column("ended", BigInteger),  # accepted or withdrawn
    one_of("role", ("owner", "admin", "developer", "billing", "viewer")),
    Index("ix_invitation_organization_id", "organization_id"),
)

operators = Table(
    "operator",
    metadata,
    Column("user_id", ForeignKey("person.id"), primary_key=True),
    Column("created", BigInteger, nullable=False),
)
