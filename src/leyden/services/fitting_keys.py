"""Proving at every start that the sealing keys fit the database."""

from leyden.storage.first_look import look
from leyden.storage.secrets import Keyring, Sealer
from leyden.storage.written import schema as sql

PURPOSE = "check of the keys"


def keep_check(url: str, keyring: Keyring) -> None:
    """Keep a value that only these keys open; refuse keys that do not open it."""
    sealer = Sealer(keyring)
    if kept := look(url, sql.SEALED_CHECK):
        sealer.open(kept[0][0], purpose=PURPOSE)
    else:
        from leyden.services import rotation  # noqa: PLC0415  once in a database's life

        rotation.keep_check(url, sealer)
