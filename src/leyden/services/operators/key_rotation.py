"""Rotating the sealing keys.

1. A new key goes into the file, first in line; the old ones still open.
2. Every sealed column is sealed anew, a batch a transaction, each value only if it is
   still what was read. Running servers meet the new key and read the file again.
3. When nothing is left under the old keys, they are forgotten.

Killed anywhere, the next run goes on.
"""

from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Column, Connection, Table, select, tuple_, update

from leyden.files import write_private
from leyden.storage.every_table import metadata
from leyden.storage.schema import connected
from leyden.storage.secrets import Sealer, load_keyring, save_keyring

_BATCH = 500


def rotate(url: str, secrets_path: Path, files: Iterable[Path] = ()) -> int:
    """Seal everything anew under a new key, files too; return the number of values."""
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
    for path in files:
        if path.exists():
            write_private(path, sealer.sealed_anew(path.read_bytes()))
            count += 1
    save_keyring(secrets_path, keyring.only_newest())
    return count


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
    """Read the next batch of rows, in primary key order."""
    identity = list(table.primary_key)
    query = select(*identity, column).order_by(*identity).limit(_BATCH)
    if after is not None:
        query = query.where(tuple_(*identity) > tuple_(*after))
    return [tuple(row) for row in connection.execute(query)]
