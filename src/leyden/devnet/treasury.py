"""The platform's way into the treasury: a macaroon that takes payments, no more."""

from pathlib import Path

from leyden.devnet.access import Lnd
from leyden.devnet.wallet import opened
from leyden.files import write_private
from leyden.payments.treasury import PERMISSIONS


def macaroon(home: Path) -> Path:
    """Give the file in which it is kept."""
    return home / "treasury.macaroon"


async def bake(treasury: Lnd, home: Path) -> None:
    """Have lnd make it, for the owner's eyes only; anew at each start does no harm."""
    wanted = [
        dict(zip(("entity", "action"), each.split(":"), strict=True))
        for each in PERMISSIONS
    ]
    async with opened(treasury) as wallet:
        baked = await wallet.call("POST", "/v1/macaroon", {"permissions": wanted})
    write_private(macaroon(home), bytes.fromhex(baked["macaroon"]))
