"""Made of sql/schema.py by `leyden check --write`."""

from leyden.storage.statements import Statement

VERSION = Statement(
    sqlite="""\
SELECT alembic_version.version_num
FROM alembic_version""",
    postgresql="""\
SELECT alembic_version.version_num
FROM alembic_version""",
)
SEALED_CHECK = Statement(
    sqlite="""\
SELECT secret_check.sealed
FROM secret_check""",
    postgresql="""\
SELECT secret_check.sealed
FROM secret_check""",
)
