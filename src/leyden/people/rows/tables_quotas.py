"""Tables for quotas: operators' exceptions, and reserved places."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from leyden.base.database.tables import metadata

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
places = Table(
    "order_place",
    metadata,
    Column("order_id", Text, primary_key=True),
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("until", BigInteger, nullable=False),  # in case the process dies meanwhile
    Index("ix_order_place_organization_id", "organization_id"),
)
