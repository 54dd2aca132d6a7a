"""The table of results of backups."""

from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Table, Text

from leyden.base.database.tables import metadata, one_of

# The last success and the last failure of each kind.
backup_results = Table(
    "backup_result",
    metadata,
    Column("kind", Text, nullable=False),
    Column("ok", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("took_ms", BigInteger, nullable=False),
    Column("snapshot", Text, nullable=False),  # "" if there is none
    Column("detail", Text, nullable=False),  # what was wrong, never a secret
    PrimaryKeyConstraint("kind", "ok"),
    one_of("kind", ("run", "check", "drill", "attended", "channels")),
)
