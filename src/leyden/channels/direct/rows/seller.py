"""The seller's lnd, as last seen."""

from leyden.base.database.statements import Run, SqlFile
from leyden.values import Struct

sql = SqlFile(__file__)


class KnownSeller(Struct, frozen=True):
    """The seller's public key, and the address at which buyers connect to it."""

    pubkey: str
    uri: str


class SellerRow:
    """The one row of seller."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self) -> KnownSeller | None:
        """Return the seller; None if it was never seen."""
        rows = await self._run(sql.find)
        return KnownSeller(*rows[0]) if rows else None

    async def lock(self) -> None:
        """Lock the reservation of coins until the commit."""
        await self._run(sql.lock)

    async def add(self, seller: KnownSeller) -> None:
        """Store the seller; no-op if one is stored."""
        await self._run(sql.add, pubkey=seller.pubkey, uri=seller.uri)

    async def replace(self, seller: KnownSeller) -> None:
        """Replace the seller's public key or address."""
        await self._run(sql.replace, pubkey=seller.pubkey, uri=seller.uri)
