"""Rotate the sealing keys.

1. Add a new key to the file as the first one. The old keys still open older values.
   Running servers read the file again before they seal the next value.
2. Re-encrypt every sealed column in batches, each value only if it has not changed
   since it was read. Wait, and repeat that for values that were sealed before the new
   key was there, and stored only now.
3. When no value needs the old keys any more, remove them from the file, except the
   last one: a process that was frozen may store what it sealed before. The next
   rotation re-encrypts that, too.

If the process is killed at any point, the next run completes the rotation, with the key
that this one added: another would push out the one that is to stay. Two runs at once
take turns: the first would remove the key of the second.
"""

import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Column, Connection, Table, select, tuple_, update

from leyden.base import processes
from leyden.base.database.every_table import metadata
from leyden.base.database.schema import connected
from leyden.base.database.secrets import Sealer, load_keyring, save_keyring
from leyden.base.files import write_private
from leyden.nodes.certificates.previous_authorities import changing, sealed_keys

_BATCH = 500
# A value is stored within milliseconds after it was sealed.
_STORED_WITHIN_S = 5.0


def rotate(
    url: str,
    secrets_path: Path,
    authority: Path | None = None,
    *,
    tell: Callable[[str], object] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Re-encrypt all sealed values, and the authority's root key; return their number.

    Nobody puts another authority in place meanwhile: its key would be lost. `tell` gets
    progress messages.
    """
    lock = secrets_path.with_name(f".{secrets_path.name}.lock")
    with processes.locked(lock):
        keyring = load_keyring(secrets_path)
        if not keyring.rotating:
            keyring = keyring.with_new_key()
            save_keyring(secrets_path, keyring)
        sealer = Sealer(keyring)
        count = _reseal_all(url, sealer)
        tell(f"{count} values; waiting {_STORED_WITHIN_S:.0f} s for those being stored")
        pause(_STORED_WITHIN_S)
        while changed := _reseal_all(url, sealer):
            count += changed
        if authority is not None and authority.is_dir():
            with changing(authority):
                for path in sealed_keys(authority):
                    write_private(path, sealer.reseal(path.read_bytes()))
                    count += 1
        save_keyring(secrets_path, keyring.with_one_old_key())
    return count


def _reseal_all(url: str, sealer: Sealer) -> int:
    return sum(
        _reseal(url, sealer, table, column)
        for table in metadata.sorted_tables
        for column in table.columns
        if column.info.get("sealed")
    )


def _reseal(url: str, sealer: Sealer, table: Table, column: Column[bytes]) -> int:
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
                        .values({column: sealer.reseal(sealed)})
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
