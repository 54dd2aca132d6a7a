"""Certificates issued by, or requested from, an external authority."""

from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import Stale
from leyden.values import Struct, hiding

sql = SqlFile(__file__)


class Issued(Struct, frozen=True, kw_only=True):
    """A name that needs a certificate, and the progress of issuing it."""

    name: str
    node_id: str | None  # None: the API's own name
    chain: bytes | None  # PEM
    until: datetime | None
    key: bytes | None  # sealed
    order_url: str
    order_key: bytes | None  # sealed
    refusals: int

    __repr__ = hiding("key", "order_key")


class IssuedCertificates:
    """The rows of issued_certificate, and of issuer_account."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, name: str, *, node_id: str | None) -> bool:
        """Request a certificate for a name; return False if requested before."""
        return bool(await self._run(sql.add, name=name, node_id=node_id))

    async def find(self, name: str) -> Issued | None:
        """Return the progress of a name's certificate, if one is requested."""
        rows = await self._run(sql.find, name=name)
        return issued_of(rows[0]) if rows else None

    async def delete(self, name: str) -> None:
        """Delete the request, and the certificate issued for it."""
        await self._run(sql.delete, name=name)

    async def set_order(self, name: str, url: str, *, key: bytes) -> None:
        """Store the order's URL and its key; raise Stale if another is open."""
        if not await self._run(sql.set_order, name=name, order_url=url, order_key=key):
            raise Stale

    async def end_order(self, name: str, url: str) -> int:
        """Delete a failed order; return the number of failures in a row.

        Without an order, only the count is incremented. Raise Stale if the order
        is another one by now.
        """
        rows = await self._run(sql.end_order, name=name, order_url=url)
        if not rows:
            raise Stale
        return int(rows[0][0])

    async def keep(self, name: str, url: str, *, chain: bytes, until: datetime) -> None:
        """Store the certificate from the order, with its key."""
        stored = await self._run(
            sql.keep,
            name=name,
            order_url=url,
            chain=chain,
            until=to_us(until),
        )
        if not stored:
            raise Stale

    async def nodes_without_request(self) -> list[str]:
        """Return the ids of nodes without a certificate request."""
        return [node_id for (node_id,) in await self._run(sql.nodes_without_request)]

    async def add_account(self, directory: str, sealed: bytes) -> None:
        """Store our account key at an authority; no-op if one is stored."""
        await self._run(sql.add_account, directory=directory, sealed=sealed)

    async def account(self, directory: str) -> bytes | None:
        """Return our account key at an authority, sealed."""
        rows = await self._run(sql.account, directory=directory)
        return rows[0][0] if rows else None


def issued_of(row: Row) -> Issued:
    """Build the certificate from a row."""
    name, node_id, chain, until, key, order_url, order_key, refusals = row
    return Issued(
        name=name,
        node_id=node_id,
        chain=chain,
        until=from_us(until) if until is not None else None,
        key=key,
        order_url=order_url,
        order_key=order_key,
        refusals=refusals,
    )
