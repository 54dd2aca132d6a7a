"""Certificates that an authority of others has issued, or is asked for."""

from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.errors import Stale
from leyden.storage.statements import Row, Run
from leyden.storage.written import issued as sql
from leyden.values import Struct, hiding


class Issued(Struct, frozen=True, kw_only=True):
    """A name that a certificate is wanted for, and how far that has come."""

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
        """Want a certificate of that name; False when one was wanted before."""
        return bool(await self._run(sql.ADD, name=name, node_id=node_id))

    async def find(self, name: str) -> Issued | None:
        """Give what is known of a name's certificate, if one is wanted."""
        rows = await self._run(sql.FIND, of_name=name)
        return _issued(rows[0]) if rows else None

    async def forget(self, name: str) -> None:
        """Want it no longer; what was issued is forgotten."""
        await self._run(sql.FORGET, of_name=name)

    async def set_order(self, name: str, url: str, *, key: bytes) -> None:
        """Keep where the order is and the key it is for; Stale beside another order."""
        if not await self._run(sql.SET_ORDER, of_name=name, url=url, sealed=key):
            raise Stale

    async def end_order(self, name: str, url: str) -> int:
        """Forget an order that came to nothing; give how many did, one after the other.

        Without an order, the count alone goes up. Stale when it is another one by now.
        """
        rows = await self._run(sql.END_ORDER, of_name=name, of_order=url)
        if not rows:
            raise Stale
        return int(rows[0][0])

    async def keep(self, name: str, url: str, *, chain: bytes, until: datetime) -> None:
        """Keep what came of the order, with the order's key."""
        kept = await self._run(
            sql.KEEP,
            of_name=name,
            of_order=url,
            chain_pem=chain,
            valid_until=to_us(until),
        )
        if not kept:
            raise Stale

    async def nodes_without(self) -> list[str]:
        """Give the ids of nodes that no certificate is wanted for."""
        return [node_id for (node_id,) in await self._run(sql.WITHOUT)]

    async def add_account(self, directory: str, sealed: bytes) -> None:
        """Keep who we are to an authority; nothing when that is settled already."""
        await self._run(sql.ADD_ACCOUNT, directory=directory, sealed=sealed)

    async def account(self, directory: str) -> bytes | None:
        """Give who we are to an authority, sealed."""
        rows = await self._run(sql.ACCOUNT, directory=directory)
        return rows[0][0] if rows else None


def _issued(row: Row) -> Issued:
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
