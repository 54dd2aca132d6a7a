"""Tables for the version of the schema."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text

from leyden.base.database.tables import metadata

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
