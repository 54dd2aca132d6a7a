"""Check at every start that the sealing keys are those of the database.

The database stores a value that only its own keys can open. Importing SQLAlchemy takes
longer than the rest of a start, so it is imported only if that value is missing.
"""

from pathlib import Path
from typing import Final

from leyden.base.database import schema_check
from leyden.base.database.secrets import Keyring, Sealer
from leyden.errors import SetupError

PURPOSE: Final = "check of the keys"
_CHECKED: Final = b"these are the keys"


def check(url: str, keyring: Keyring) -> None:
    """Raise SetupError for keys of another database; store the value the first time."""
    sealer = Sealer(keyring)
    sealed = schema_check.sealed_check(url)
    if sealed is None:
        sealed = _find_or_add(url, sealer)
    sealer.open(sealed, purpose=PURPOSE)


def refuse_lost(url: str, secrets_path: Path) -> None:
    """Raise SetupError if the database was sealed with keys that are lost."""
    if _find(url) is not None:
        raise SetupError(
            f"secrets_file: {secrets_path} does not exist, and this database was "
            "sealed with it; restore it from your backup"
        )


def _find(url: str) -> bytes | None:
    from sqlalchemy import select  # noqa: PLC0415  once in a database's life

    from leyden.base.database.schema import connected  # noqa: PLC0415  the same
    from leyden.base.database.tables import secrets  # noqa: PLC0415  the same

    with connected(url) as connection:
        return connection.execute(select(secrets.c.sealed)).scalar()


def _find_or_add(url: str, sealer: Sealer) -> bytes:
    """Return the stored value; store one in the same transaction if there is none."""
    from sqlalchemy import insert, select  # noqa: PLC0415  once in a database's life

    from leyden.base.database.schema import connected  # noqa: PLC0415  the same
    from leyden.base.database.tables import secrets  # noqa: PLC0415  the same

    with connected(url) as connection:
        stored = connection.execute(select(secrets.c.sealed)).scalar()
        if stored is None:
            stored = sealer.seal(_CHECKED, purpose=PURPOSE)
            connection.execute(insert(secrets).values(id=1, sealed=stored))
        return bytes(stored)
