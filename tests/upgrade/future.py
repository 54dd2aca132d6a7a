"""A version that does not exist yet: this one, copied, with migrations of its own."""

import shutil
from pathlib import Path

import leyden
from leyden.base.database import schema_check

_MIGRATION = '''"""Of a version to come."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
    op.{does}
'''
_OLDEST = "UPDATE schema_floor SET oldest = '{}'"

NEXT = "9000_next"
AFTER = "9001_after"


def version(folder: Path) -> Path:
    """Make a copy of this version; return what PYTHONPATH runs it."""
    shutil.copytree(
        Path(leyden.__file__).parent,
        folder / "leyden",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return folder


def expand(source: Path) -> None:
    """Add a migration that adds what this version does not know."""
    column = 'sa.Column("mood", sa.Text(), nullable=False, server_default="calm")'
    _write(source, NEXT, f'add_column("node", {column})', before=schema_check.newest())


def contract(source: Path) -> None:
    """Add one that takes away what only this version uses."""
    does = f'drop_table("node_drill")\n    op.execute("{_OLDEST.format(NEXT)}")'
    _write(source, AFTER, does, before=NEXT)


def _write(source: Path, revision: str, does: str, *, before: str) -> None:
    path = source / "leyden/base/database/migrations/versions" / f"{revision}.py"
    path.write_text(_MIGRATION.format(revision=revision, before=before, does=does))
