"""Import every module with tables, so that `metadata` has them all."""

# ruff: noqa: F401  each adds its own to `metadata`

import leyden.backups.rows.tables
import leyden.channels.direct.rows.tables
import leyden.channels.money.rows.tables
import leyden.channels.rows.tables
import leyden.events.rows.tables
import leyden.nodes.rows.tables
import leyden.people.rows.tables
from leyden.base.database.tables import metadata
from leyden.events.rows import tables_subscriptions, tables_webhooks
from leyden.nodes.rows import tables_certificates, tables_home

__all__ = ["metadata"]
