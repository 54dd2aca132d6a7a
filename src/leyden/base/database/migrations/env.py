"""Run by Alembic with the connection that storage/schema.py opened."""

from alembic import context

from leyden.storage.every_table import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
context.run_migrations()
