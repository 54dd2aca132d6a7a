"""Tables for certificates from external authorities."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    Table,
    Text,
)

from leyden.base.database.tables import SEALED, metadata

# Our account at an authority, by the URL of its directory.
issuer_accounts = Table(
    "issuer_account",
    metadata,
    Column("directory", Text, primary_key=True),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),
)

# A name that needs a certificate, its newest one, and the order in progress.
issued_certificates = Table(
    "issued_certificate",
    metadata,
    Column("name", Text, primary_key=True),
    Column("node_id", ForeignKey("node.id"), unique=True),  # NULL: the API's own name
    Column("chain", LargeBinary),  # PEM
    Column("until", BigInteger),
    Column("key", LargeBinary, info=SEALED),
    Column("order_url", Text, nullable=False),
    Column("order_key", LargeBinary, info=SEALED),
    Column("refusals", Integer, nullable=False),  # in a row
    CheckConstraint(
        "(chain IS NULL) = (key IS NULL) AND (chain IS NULL) = (until IS NULL)",
        name="chain_has_its_key",
    ),
    CheckConstraint("(order_url = '') = (order_key IS NULL)", name="order_has_its_key"),
)
