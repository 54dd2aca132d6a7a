"""The platform's macaroon for the treasury: it may only take payments."""

from pathlib import Path

from leyden.base.files import write_private
from leyden.channels.payments.treasury import PERMISSIONS
from leyden_workshop.devnet.access import LndEndpoint
from leyden_workshop.devnet.wallet import opened


def macaroon(home: Path) -> Path:
    """Return the path of the macaroon's file."""
    return home / "treasury.macaroon"


async def bake(treasury: LndEndpoint, home: Path) -> None:
    """Bake the macaroon with lnd and store it for its owner only.

    Baking it again at each start does no harm.
    """
    wanted = [
        dict(zip(("entity", "action"), each.split(":"), strict=True))
        for each in PERMISSIONS
    ]
    async with opened(treasury) as wallet:
        baked = await wallet.call("POST", "/v1/macaroon", {"permissions": wanted})
    write_private(macaroon(home), bytes.fromhex(baked["macaroon"]))
