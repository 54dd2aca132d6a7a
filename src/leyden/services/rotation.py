"""Sealing keys: proving that they fit the database, and changing them.

1. A new key goes into the file, first in line; the old ones still open.
2. Every sealed column is sealed anew, a batch a transaction, each value only if it is
   still what was read. Running servers meet the new key and read the file again.
3. When nothing is left under the old keys, they are forgotten.

Killed anywhere, the next run goes on.
"""

from pathlib import Path

from sqlalchemy import Column, Connection, Table, insert, select, tuple_, update

from leyden.errors import SetupError
from leyden.services.fitting_keys import PURPOSE
from leyden.storage.every_table import metadata
from leyden.storage.schema import connected
from leyden.storage.secrets import Sealer, load_keyring, save_keyring
from leyden.storage.tables import secrets

_BATCH = 500
_CHECKED = b"these are the keys"


def rotate(url: str, secrets_path: Path) -> int:
    """Seal everything anew under a new key; give the number of values."""
    keyring = load_keyring(secrets_path).with_new_key()
    save_keyring(secrets_path, keyring)
    sealer = Sealer(keyring)
    count = 0
    while changed := sum(
        _seal_anew(url, sealer, table, column)
        for table in metadata.sorted_tables
        for column in table.columns
        if column.info.get("sealed")
    ):
        count += changed
    save_keyring(secrets_path, keyring.only_newest())
    return count


def keep_check(url: str, sealer: Sealer) -> None:
    """Keep a value that only these keys open; refuse keys that do not open it."""
    with connected(url) as connection:
        kept = connection.execute(select(secrets.c.sealed)).scalar()
        if kept is None:
            sealed = sealer.seal(_CHECKED, purpose=PURPOSE)
            connection.execute(insert(secrets).values(id=1, sealed=sealed))
        else:
            sealer.open(kept, purpose=PURPOSE)


def refuse_lost_keys(url: str, secrets_path: Path) -> None:
    """Refuse to make new keys for a database that was sealed with others."""
    with connected(url) as connection:
        if connection.execute(select(secrets.c.sealed)).scalar() is not None:
            raise SetupError(
                f"secrets_file: {secrets_path} does not exist, and this database was "
                "sealed with it; restore it from your backup"
            )


def _seal_anew(url: str, sealer: Sealer, table: Table, column: Column[bytes]) -> int:
    changed = 0
    last: tuple[object, ...] | None = None
    while True:
        with connected(url) as connection:
            rows = _batch(connection, table, column, after=last)
            for *identity, sealed in rows:
                if isinstance(sealed, bytes) and not sealer.is_newest(sealed):
                    here = [
                        name == value
                        for name, value in zip(table.primary_key, identity, strict=True)
                    ]
                    connection.execute(
                        update(table)
                        .where(*here, column == sealed)
                        .values({column: sealer.sealed_anew(sealed)})
                    )
                    changed += 1
        if len(rows) < _BATCH:
            return changed
        last = tuple(rows[-1][:-1])


def _batch(
    connection: Connection,
    table: Table,
    column: Column[bytes],
    *,
    after: tuple[object, ...] | None,
) -> list[tuple[object, ...]]:
    """Read the next rows in the order of the primary key."""
    identity = list(table.primary_key)
    query = select(*identity, column).order_by(*identity).limit(_BATCH)
    if after is not None:
        query = query.where(tuple_(*identity) > tuple_(*after))
    return [tuple(row) for row in connection.execute(query)]
