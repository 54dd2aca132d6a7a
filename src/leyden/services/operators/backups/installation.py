"""What tells an installation from others."""

from typing import Final

from leyden.storage.secrets import Sealer

_PURPOSE: Final = "installation of a backup"
_ID_BYTES: Final = 8


def installation_id(sealer: Sealer) -> str:
    """Return what tells this installation from others; it stays for ever.

    It follows from the keys, survives their rotation and every restore, and tells
    nothing about them.
    """
    return sealer.digest(b"", purpose=_PURPOSE)[:_ID_BYTES].hex()
