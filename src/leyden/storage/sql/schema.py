"""What is asked of the database about its schema, and about the keys that seal it."""

from sqlalchemy import column, select, table

from leyden.storage.tables import secrets

_version = table("alembic_version", column("version_num"))
VERSION = select(_version.c.version_num)
SEALED_CHECK = select(secrets.c.sealed)
