"""Extensions of leases, as stored."""

from collections.abc import Iterable
from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.direct.rules.extensions import Extension, ExtensionStatus

sql = SqlFile(__file__)


class Extensions:
    """The rows of lease_extension."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, extension: Extension) -> bool:
        """Store a new extension; return False if its id is known."""
        rows = await self._run(
            sql.add,
            id=extension.id,
            order_id=extension.order_id,
            status=str(extension.status),
            created=to_us(extension.created),
            expires=to_us(extension.expires),
            blocks=extension.blocks,
            ends=extension.ends,
            premium=extension.premium,
            service_fee=extension.service_fee,
            credit_used=extension.credit_used,
            charged=extension.charged,
            lightning_invoice=extension.lightning_invoice,
            payment_hash=extension.payment_hash or None,
            peer=extension.peer,
            scid=extension.scid,
            token=extension.token,
        )
        return bool(rows)

    async def find(self, extension_id: str) -> Extension | None:
        """Return the extension, or None."""
        rows = await self._run(sql.get, id=extension_id)
        return _extension(rows[0]) if rows else None

    async def of_orders(self, order_ids: Iterable[str]) -> list[Extension]:
        """Return the extensions of these orders, oldest first."""
        rows = await self._run(sql.of_orders, order_ids=tuple(order_ids))
        return [_extension(row) for row in rows]

    async def all_(self, *, after: str = "", limit: int) -> list[Extension]:
        """Return extensions of every status, ordered by id."""
        rows = await self._run(sql.all, after=after, limit=limit)
        return [_extension(row) for row in rows]

    async def open_of_order(self, order_id: str, *, but: str) -> int:
        """Count the other extensions that an order's owner did not pay yet."""
        rows = await self._run(sql.open_of_order, order_id=order_id, but=but)
        return int(rows[0][0])

    async def open_of_peer(self, peer: str) -> int:
        """Count the extensions that a node ordered and did not pay yet."""
        return int((await self._run(sql.open_of_peer, peer=peer))[0][0])

    async def invoiced(self, hashes: Iterable[str]) -> set[str]:
        """Return which of these are the payment hashes of extensions."""
        rows = await self._run(sql.invoiced, hashes=tuple(hashes))
        return {str(payment_hash) for (payment_hash,) in rows}

    async def waiting_for(self, hashes: Iterable[str]) -> list[str]:
        """Return the extensions that wait for a payment with one of these hashes."""
        rows = await self._run(sql.waiting_for, hashes=tuple(hashes))
        return [str(extension_id) for (extension_id,) in rows]

    async def move(self, before: Extension, after: Extension) -> bool:
        """Store the new status; return False if another process moved it first."""
        rows = await self._run(
            sql.move,
            id=before.id,
            was=str(before.status),
            status=str(after.status),
            ends=after.ends,
        )
        return bool(rows)

    async def forget(self, order_id: str, *, before: datetime) -> None:
        """Delete an order's extensions that expired unpaid before then."""
        await self._run(sql.forget, order_id=order_id, before=to_us(before))


def _extension(row: Row) -> Extension:
    (
        id_,
        order_id,
        status,
        created,
        expires,
        blocks,
        ends,
        premium,
        service_fee,
        credit_used,
        charged,
        lightning_invoice,
        payment_hash,
        peer,
        scid,
        token,
    ) = row
    return Extension(
        id=id_,
        order_id=order_id,
        status=ExtensionStatus(status),
        created=from_us(created),
        expires=from_us(expires),
        blocks=int(blocks),
        ends=int(ends),
        premium=Sats(premium),
        service_fee=Sats(service_fee),
        credit_used=Sats(credit_used),
        charged=Sats(charged),
        lightning_invoice=lightning_invoice,
        payment_hash=payment_hash or "",
        peer=peer,
        scid=scid,
        token=token,
    )
