"""Tables for nodes, and for the data stored for their owners."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from leyden.base.database.tables import SEALED, metadata, one_of
from leyden.nodes.rules.nodes import (
    Action,
    DesiredState,
    Network,
    NodeStatus,
    NodeType,
    PurchasedType,
    PurchaseStatus,
)
from leyden.nodes.rules.relocations import RelocationStep

# SQLite numbers rows by itself only where the type is its own word for integer.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

nodes = Table(
    "node",
    metadata,
    Column("id", Text, primary_key=True),
    Column("organization_id", ForeignKey("organization.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("network", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column(
        "api_endpoint", Text, nullable=False, unique=True
    ),  # even after the node is deleted
    Column("slot", Integer, unique=True),  # NULL once the node's data is deleted
    Column("created", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("process", Text, nullable=False),
    Column("launched", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("launched_at", BigInteger),
    Column("crashes", Integer, nullable=False),
    Column("due", BigInteger, nullable=False),
    Column("purchased_type", Text, nullable=False),
    Column("purchase_status", Text, nullable=False),
    Column("expires", BigInteger),
    Column("edition", BigInteger, nullable=False),
    Column("settings", Text, nullable=False),  # JSON, without the secrets
    # 1 once its lnd reported one; then it is not started without it, unless forced.
    Column("has_wallet", Integer, nullable=False, server_default="0"),
    Column("peer_port", Integer),  # kept after deletion, until another node takes it
    Column("peer_port_released", BigInteger),
    Column(
        "runtime", Text, nullable=False, server_default="local"
    ),  # where its data is
    Column(
        "moves_to", Text, nullable=False, server_default=""
    ),  # "": it is not being moved
    Column("onion", Text, nullable=False, server_default=""),  # kept after deletion
    # JSON: why its lnd does not run, or ended; why it can't be observed. "": neither
    Column("trouble", Text, nullable=False, server_default=""),
    Column("unknown", Text, nullable=False, server_default=""),
    one_of("network", Network),
    one_of("type", NodeType),
    one_of("status", NodeStatus),
    one_of("wanted", DesiredState),
    one_of("purchased_type", PurchasedType),
    one_of("purchase_status", PurchaseStatus),
    CheckConstraint("launched <= revision", name="launched_what_there_was"),
    CheckConstraint(
        "status <> 'deleting' OR wanted = 'deleted'", name="deleting_is_wanted"
    ),
    CheckConstraint(
        "slot IS NOT NULL OR (wanted = 'deleted' AND process = '')",
        name="has_a_slot_while_it_lives",
    ),
    Index("ix_node_organization_id", "organization_id", "created", "id"),
    Index("uq_node_peer_port", "peer_port", unique=True),
    Index("ix_node_peer_port_released", "peer_port_released"),
)
# Lets ten thousand nodes be counted by status and searched by name from the index
# alone.
_shown = text("wanted <> 'deleted' OR process <> ''")
Index(
    "ix_node_shown",
    nodes.c.organization_id,
    nodes.c.status,
    nodes.c.name,
    nodes.c.edition,
    nodes.c.created,
    sqlite_where=_shown,
    postgresql_where=_shown,
)
_there = nodes.c.wanted != "deleted"
Index(
    "uq_node_name",
    nodes.c.organization_id,
    nodes.c.name,
    unique=True,
    sqlite_where=_there,
    postgresql_where=_there,
)

launch_specs = Table(
    "node_outfit",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("sealed_settings", LargeBinary, nullable=False, info=SEALED),
    Column("webhook_secret", LargeBinary, nullable=False, info=SEALED),
    Column("certificate", LargeBinary, nullable=False),  # the chain, PEM
    Column("certificate_until", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, info=SEALED),
)

commands = Table(
    "node_command",
    metadata,
    Column("id", _NUMBER, primary_key=True),
    Column("node_id", ForeignKey("node.id"), nullable=False),
    Column("action", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    one_of("action", Action),
    Index("ix_node_command_node_id", "node_id", "id"),
)

# The position up to which the log of a node's lnd was read; see nodes/lnd/tail.py.
log_places = Table(
    "node_log_place",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("inode", BigInteger, nullable=False),
    Column("byte", BigInteger, nullable=False),  # -1: the current end
    Column("head", LargeBinary, nullable=False),
    Column("rotated", Integer, nullable=False),
    Column("edition", Integer, nullable=False),
)

# The last report of the companion of a node in a cluster. It counts deleted macaroons
# since its start; `run` identifies that start.
reports = Table(
    "node_report",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("run", Text, nullable=False),
    Column("macaroons_removed", Integer, nullable=False),
    Column("disk", BigInteger, nullable=False),
    Column("height", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("log_tail", LargeBinary),  # the end of lnd's log, compressed
)

# What each node used in each step of a span: a quarter of an hour for a day, an hour
# for a month. The newest takes the row of the oldest.
samples = Table(
    "node_sample",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("span", Integer, primary_key=True),  # its step in seconds
    Column("slot", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),  # seconds since 1970
    Column("memory", BigInteger),
    Column("cpu_millis", Integer),  # thousandths of a core, on average
    Column("bytes_in", BigInteger),  # as the gateway counts them
    Column("bytes_out", BigInteger),
    Column("height", Integer, nullable=False),
    sqlite_with_rowid=False,  # one tree less to write for each sample
)

# The public key of each node whose wallet was unlocked here, read from lnd's files.
node_keys = Table(
    "node_key",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("pubkey", Text, nullable=False),
)

# The key of each node's onion service, as long as the node's data is kept; and the
# target that Tor forwards to, "" until it is set.
node_onions = Table(
    "node_onion",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("seed", LargeBinary, nullable=False, info=SEALED),
    Column("told", Text, nullable=False),
)

# The last start of each node, to compare with the node's folder.
starts = Table(
    "node_start",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("copy", Text, nullable=False),  # identifies the folder; "" is any copy
)

# The last move of each node between runtimes: its step, or how it ended.
relocations = Table(
    "relocation",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("origin", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("copy", Text, nullable=False),  # the attempt that was verified
    Column("size", BigInteger, nullable=False),  # bytes that were copied
    Column("failures", Integer, nullable=False),  # of this step, in a row
    Column("why", Text, nullable=False),  # of the last failure
    Column("at", BigInteger, nullable=False),  # when the step started
    one_of("step", RelocationStep),
)

# When an owner last tested that the backups of a node can be opened.
drills = Table(
    "node_drill",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("message", Text, nullable=False),  # what the node signed
    Column("signature", Text, nullable=False),
)

# When an owner was last reminded of that.
drill_reminders = Table(
    "node_drill_reminder",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("at", BigInteger, nullable=False),
)

seeds = Table(
    "node_seed",
    metadata,
    Column("node_id", ForeignKey("node.id"), primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),
)

macaroons = Table(
    "node_macaroon",
    metadata,
    Column("node_id", ForeignKey("node.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),
    PrimaryKeyConstraint("node_id", "name"),
)

# Replaced backups; a seed's name is empty.
replaced_backups = Table(
    "replaced_backup",
    metadata,
    Column("id", _NUMBER, primary_key=True),
    Column("node_id", ForeignKey("node.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=SEALED),
    Index("ix_replaced_backup_node_id", "node_id", "name", "id"),
    Index("ix_replaced_backup_at", "at"),
)

channel_backups = Table(
    "node_channel_backup",
    metadata,
    Column("id", _NUMBER, primary_key=True),
    Column("node_id", ForeignKey("node.id"), nullable=False),
    Column("taken", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),  # encrypted by lnd itself
    UniqueConstraint("node_id", "digest"),
)
