"""Tables for different versions that run on one schema at the same time."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text

from leyden.storage.tables import metadata

# The processes that run on this PostgreSQL database; with SQLite there are no rows.
replicas = Table(
    "replica",
    metadata,
    Column("id", Text, primary_key=True),
    Column("newest", Text, nullable=False),  # the newest migration that it knows
    Column("until", BigInteger, nullable=False),
)

schema_floors = Table(
    "schema_floor",
    metadata,
    Column("id", Integer, primary_key=True),
    # The migration that a replica must know; "": any version can run.
    Column("oldest", Text, nullable=False),
    CheckConstraint("id = 1", name="only_one"),
)
