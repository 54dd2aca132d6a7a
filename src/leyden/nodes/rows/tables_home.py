"""Tables for the home that nodes belong to, and its processes."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text

from leyden.base.database.tables import metadata

homes = Table(
    "home",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identity", Text, nullable=False),  # the content of the home's identity file
    Column("authority", Text, nullable=False),  # SHA-256 of its root, in hex
    Column(
        "place", Text, nullable=False
    ),  # identifies the copy of that file, and the machine
    Column("host", Text, nullable=False),  # the machine's name, for people
    # The mark in the nodes' namespace of a cluster; "" without a cluster.
    Column("cluster", Text, nullable=False, server_default=""),
    CheckConstraint("id = 1", name="only_one"),
)

# The processes that use it, or died; on SQLite a lock ensures that only one lives.
processes = Table(
    "process",
    metadata,
    Column("id", Text, primary_key=True),
    Column("session", Text, nullable=False),  # the boot and the container it is in
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("watches", Integer, nullable=False),  # for versions before this one
    Column("beat", BigInteger, nullable=False),  # rises as long as it lives
    Column("until", BigInteger, nullable=False),
)
