"""The tables of the database, with a constraint for each rule that can be one.

So no program can break these rules. Columns contain only integers, text and bytes:
times are microseconds since the epoch, amounts are satoshis, enums are
strings under a CHECK, lists and objects are JSON text. Both drivers then
return the same plain values.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

SEALED = {"sealed": True}  # a column that `leyden encryption-keys rotate` re-encrypts
# A migration that takes something away stores which versions can do without it.
schema_floors = Table(
    "schema_floor",
    metadata,
    Column("id", Integer, primary_key=True),
    # The migration that a version must know; "": any version can run.
    Column("oldest", Text, nullable=False),
    CheckConstraint("id = 1", name="only_one"),
)
# Nothing uses it but versions from before this one, while both run.
replicas = Table(
    "replica",
    metadata,
    Column("id", Text, primary_key=True),
    Column("newest", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
)


def one_of(column: str, words: "type[object] | tuple[str, ...]") -> CheckConstraint:
    """Restrict the column to these strings, or the values of this enum."""
    listed = ", ".join(f"'{word}'" for word in words)  # type: ignore[union-attr]
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


organizations = Table(
    "organization",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
)

users = Table(
    "person",  # "user" is a reserved word in PostgreSQL
    metadata,
    Column("id", Text, primary_key=True),
    Column("email", Text, nullable=False, unique=True),
    Column("password", Text),  # argon2; NULL until one is chosen
    Column("created", BigInteger, nullable=False),
    Column(
        "confirmed", BigInteger
    ),  # when the email address was confirmed; NULL if it was not
    Column("theme", Text, nullable=False, server_default=""),  # "" is the browser's
    Column("time_zone", Text, nullable=False, server_default=""),
)

memberships = Table(
    "membership",
    metadata,
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("user_id", ForeignKey("person.id"), nullable=False),
    Column("role", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    PrimaryKeyConstraint("organization_id", "user_id"),
    one_of("role", ("owner", "admin", "developer", "billing", "viewer")),
    Index("ix_membership_user_id", "user_id"),
)

keys = Table(
    "api_key",
    metadata,
    Column("id", Text, primary_key=True),
    # An organization's id, or "installation": so no foreign key, here and in the next.
    Column("organization_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("hint", Text, nullable=False),  # the first characters, to tell them apart
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("scopes", Text, nullable=False),  # separated by commas
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("last_used", BigInteger),
    Column("revoked", BigInteger),
    Index("ix_api_key_organization_id", "organization_id"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    # key:<id>, user:<id>, operator:<login>, operator:key:<id>
    Column("actor", Text, nullable=False),
    Column("organization_id", Text),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),  # JSON, never a secret
    Index("ix_audit_organization_id_at", "organization_id", "at"),
    Index("ix_audit_at", "at"),
)

answers = Table(
    "saved_answer",
    metadata,
    Column("organization_id", Text, nullable=False),
    Column("key", LargeBinary, nullable=False),  # digest of the Idempotency-Key
    Column("request", LargeBinary, nullable=False),  # digest of operation and body
    Column("started", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column(
        "holder", Text, nullable=False
    ),  # the process that handles the first request
    Column("status", Integer),  # NULL while in flight
    Column("body", LargeBinary, info=SEALED),  # a response may contain a ticket
    PrimaryKeyConstraint("organization_id", "key"),
    Index("ix_saved_answer_expires", "expires"),
)

# The last failure of a node, and everybody who was ever a member.
_node_failed = audit.c.action == "node failed"
Index(
    "ix_audit_node_failed",
    audit.c.subject,
    audit.c.at,
    sqlite_where=_node_failed,
    postgresql_where=_node_failed,
)
_joined = audit.c.action.in_(["user created", "member joined"])
Index(
    "ix_audit_members",
    audit.c.organization_id,
    audit.c.subject,
    sqlite_where=_joined,
    postgresql_where=_joined,
)

tasks = Table(
    "task",
    metadata,
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("lease", BigInteger, nullable=False),  # until when the claim is valid
    Column("fence", BigInteger, nullable=False),  # rises with every claim
    Column("asked", BigInteger, nullable=False),  # rises with every put
    Column("attempts", Integer, nullable=False),
    # The process that claimed it last; "" where it is not needed.
    Column("holder", Text, nullable=False, server_default=""),
    PrimaryKeyConstraint("kind", "key"),
    Index("ix_task_kind_due", "kind", "due"),
)

secrets = Table(
    "secret_check",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),
    CheckConstraint("id = 1", name="only_one"),
)

__all__ = [
    "SEALED",
    "answers",
    "audit",
    "keys",
    "memberships",
    "metadata",
    "one_of",
    "organizations",
    "secrets",
    "tasks",
    "users",
]
