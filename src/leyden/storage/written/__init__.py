"""All statements as the databases read them: made by `leyden check --write`."""

# The newest version of the schema.
SCHEMA = '0012_log_places'
