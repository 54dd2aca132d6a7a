"""Tables for the home of local nodes, and the processes that watch them."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text

from leyden.storage.tables import metadata

homes = Table(
    "home",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("identity", Text, nullable=False),  # what is in the home's own file
    Column("authority", Text, nullable=False),  # SHA-256 of its root, in hex
    Column("place", Text, nullable=False),  # which copy of that file, on which machine
    Column("host", Text, nullable=False),  # the machine's name, for people
    # What the namespace of nodes in a cluster is marked with; "": there is none.
    Column("cluster", Text, nullable=False, server_default=""),
    CheckConstraint("id = 1", name="only_one"),
)

# The processes that run on it; on SQLite there is one, and a lock says so.
processes = Table(
    "process",
    metadata,
    Column("id", Text, primary_key=True),
    Column("session", Text, nullable=False),  # the boot and the container it is in
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("watches", Integer, nullable=False),  # 1: it looks after nodes
    Column("beat", BigInteger, nullable=False),  # rises as long as it lives
    Column("until", BigInteger, nullable=False),
)
