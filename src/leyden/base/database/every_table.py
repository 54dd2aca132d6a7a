"""Import every module with tables, so that `metadata` has them all."""

# ruff: noqa: F401  each adds its own to `metadata`

from leyden.backups.rows import tables as tables_backups
from leyden.base.database import tables_schema
from leyden.base.database.tables import metadata
from leyden.channels.rows import tables as tables_money
from leyden.events.rows import tables as tables_events
from leyden.events.rows import tables_emails, tables_subscriptions, tables_webhooks
from leyden.nodes.rows import tables as tables_nodes
from leyden.nodes.rows import tables_certificates, tables_home
from leyden.people.rows import tables as tables_people
from leyden.people.rows import tables_quotas

__all__ = ["metadata"]
