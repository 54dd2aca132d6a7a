"""The purse of just-in-time channels on a private chain: its options and macaroon."""

from pathlib import Path
from typing import Final

from leyden.channels.direct.connection import (
    PURSE_PERMISSIONS,
    UNPUBLISHED_PERMISSIONS,
    WRAPPED_PERMISSIONS,
)
from leyden.channels.direct.rules.openings import LSPS
from leyden_workshop.devnet import seller
from leyden_workshop.devnet.access import LndEndpoint

# Without the first, lnd forwards a held payment without our fee once we are away.
OPTIONS: Final[tuple[tuple[str, str | int], ...]] = (
    ("requireinterceptor", 1),
    ("protocol.custom-init", LSPS),
    ("protocol.custom-nodeann", LSPS),
)
SATS: Final = 25_000_000  # in five coins, each of which opens a channel at a time


def macaroon(home: Path) -> Path:
    """Return the path of the macaroon's file."""
    return home / "jit.macaroon"


async def bake(purse: LndEndpoint, home: Path) -> None:
    """Bake the platform's macaroon with lnd."""
    permissions = (*PURSE_PERMISSIONS, *WRAPPED_PERMISSIONS, *UNPUBLISHED_PERMISSIONS)
    await seller.bake_into(macaroon(home), purse, permissions)
