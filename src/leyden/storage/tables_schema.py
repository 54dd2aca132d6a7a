"""Tables for versions that run beside each other on one schema."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text

from leyden.storage.tables import metadata

# The processes that run on this database; on SQLite there is one, and no row.
replicas = Table(
    "replica",
    metadata,
    Column("id", Text, primary_key=True),
    Column("newest", Text, nullable=False),  # migration that it knows
    Column("until", BigInteger, nullable=False),
)

schema_floors = Table(
    "schema_floor",
    metadata,
    Column("id", Integer, primary_key=True),
    # The migration that a replica has to know; "": it may be of any version.
    Column("oldest", Text, nullable=False),
    CheckConstraint("id = 1", name="only_one"),
)
