"""The id of an installation."""

from typing import Final

from leyden.base.database.secrets import Sealer

_PURPOSE: Final = "installation of a backup"
_ID_BYTES: Final = 8


def installation_id(sealer: Sealer) -> str:
    """Return the permanent id of this installation.

    It is derived from the keys, survives their rotation and every restore, and reveals
    nothing about them.
    """
    return sealer.digest(b"", purpose=_PURPOSE)[:_ID_BYTES].hex()
