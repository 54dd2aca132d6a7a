"""Run by Alembic with the connection that base/database/schema.py opened."""

from alembic import context

from leyden.base.database.every_table import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
context.run_migrations()
