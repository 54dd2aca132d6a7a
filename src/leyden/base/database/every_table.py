"""Import every module with tables, so that `metadata` has them all."""

from leyden.storage import (  # noqa: F401  each adds its own to `metadata`
    tables_backups,
    tables_certificates,
    tables_emails,
    tables_events,
    tables_home,
    tables_money,
    tables_nodes,
    tables_people,
    tables_quotas,
    tables_schema,
    tables_subscriptions,
    tables_webhooks,
)
from leyden.storage.tables import metadata

__all__ = ["metadata"]
