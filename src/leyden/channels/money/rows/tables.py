"""Tables for what organizations have besides credit: coupons, corporate accounts."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
)

from leyden.base.database.tables import metadata

coupons = Table(
    "coupon",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sats", BigInteger, nullable=False),
    Column(
        "organization_id", ForeignKey("organization.id")
    ),  # NULL: for the first who claims it
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("note", Text, nullable=False),
    Column("claimed_by", ForeignKey("organization.id")),
    Column("claimed_at", BigInteger),
    CheckConstraint("sats > 0", name="worth_something"),
    CheckConstraint(
        "(claimed_by IS NULL) = (claimed_at IS NULL)", name="claimed_by_someone"
    ),
    CheckConstraint(
        "claimed_by IS NULL OR organization_id IS NULL OR claimed_by = organization_id",
        name="claimed_by_its_owner",
    ),
    Index("ix_coupon_organization_id", "organization_id"),
    Index("ix_coupon_claimed_by", "claimed_by"),
)

guesses = Table(
    "coupon_guess",
    metadata,
    Column("organization_id", ForeignKey("organization.id"), primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("count", Integer, nullable=False),
)

corporate_accounts = Table(
    "corporate_account",
    metadata,
    Column("organization_id", ForeignKey("organization.id"), primary_key=True),
    Column("most_owed", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    CheckConstraint("most_owed >= 0", name="limit_not_negative"),
)
