"""The ledger's entries, and the balances that must be known at once.

Kept as a row beside the entries: what an organization or an order has, changed in the
transaction of each entry. Added up when asked: the places that everyone shares.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from leyden.domain.ledger import Entry, What
from leyden.domain.times import from_us, to_us
from leyden.domain.units import Sats
from leyden.errors import Stale, Violated
from leyden.storage.statements import Row, Run, Value
from leyden.storage.words import written_words
from leyden.storage.written import ledger as sql
from leyden.values import Struct

_BELOW_ZERO = ("owed:", "receivable:")
_KEPT = ("credit:", "held:", *_BELOW_ZERO)
_NEWEST = 2**63 - 1


class Written(Struct, frozen=True, kw_only=True):
    """An entry as it stands in the ledger."""

    number: int
    at: datetime
    entry: Entry


class Ledger:
    """The rows of entry and balance."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def post(self, written: Sequence[Entry], *, at: datetime) -> None:
        """Write entries, and change the balances that they touch; all or nothing.

        Violated when one of them is there already, Stale when a place does not have
        what is to be taken from it. Whoever takes from a `held` place has locked the
        order that it is held for.
        """
        now = to_us(at)
        await self._run.many(sql.POST, [_row(entry, now) for entry in written])
        changes: Counter[str] = Counter()
        for entry in written:
            changes[entry.source] -= entry.sats
            changes[entry.target] += entry.sats
        raised: list[dict[str, Value]] = []
        released: list[dict[str, Value]] = []
        others: list[tuple[str, int]] = []
        # Always in the order of their names, so that no two wait for each other.
        for place, change in sorted(changes.items()):
            if not change or not place.startswith(_KEPT):
                continue
            if place.startswith("held:") and change < 0:
                released.append({"at_place": place, "by": -change})
            elif change > 0 and not place.startswith(_BELOW_ZERO):
                raised.append({"place": place, "change": change})
            else:
                others.append((place, change))
        for place, change in others:
            await self._change(place, change)
        await self._run.many(sql.RAISE, raised)
        if await self._run.many(sql.RELEASE, released) != len(released):
            raise Violated("an order is to release what it never held")

    async def _change(self, place: str, change: int) -> None:
        below_zero = place.startswith(_BELOW_ZERO)
        if change < 0:
            lowered = await self._run(
                sql.LOWER, at_place=place, by=-change, below_zero=int(below_zero)
            )
            if lowered:
                return
            if not below_zero:
                raise Stale(f"{place} has not the {-change} sat that are to be taken")
        elif below_zero:
            if not await self._run(sql.REPAY, at_place=place, by=change):
                raise Stale(f"{place} is less than the {change} sat that repay it")
            return
        await self._run(sql.RAISE, place=place, change=change)

    async def balances(self, places: Iterable[str]) -> dict[str, Sats]:
        """Give what is in each of these places, as far as there is anything."""
        rows = await self._run(sql.BALANCES, places=written_words(places))
        return {place: Sats(sats) for place, sats in rows}

    async def balance(self, place: str) -> Sats:
        """Give what is in a place that is kept as a row."""
        rows = await self._run(sql.BALANCE, place=place)
        return Sats(rows[0][0]) if rows else Sats(0)

    async def sums(self) -> dict[str, Sats]:
        """Add up every entry, place by place."""
        return {place: Sats(int(sats)) for place, sats in await self._run(sql.SUMS)}

    async def kept_balances(self) -> dict[str, Sats]:
        """Give every balance that is kept as a row."""
        return {place: Sats(sats) for place, sats in await self._run(sql.KEPT_BALANCES)}

    async def of_order(self, order_id: str) -> list[Written]:
        """Give every entry about an order, the first one first."""
        rows = await self._run(sql.OF_ORDER, order_id=order_id)
        return [_written(row) for row in rows]

    async def find(self, key: str) -> Written | None:
        """Give the entry with this key, if it was written."""
        rows = await self._run(sql.FIND, key=key)
        return _written(rows[0]) if rows else None

    async def page(
        self, organization_id: str, *, before: int | None = None, most: int
    ) -> list[Written]:
        """Give an organization's entries, newest first, from before a number on."""
        rows = await self._run(
            sql.PAGE,
            organization_id=organization_id,
            before=_NEWEST if before is None else before,
            most=most,
        )
        return [_written(row) for row in rows]


def _row(entry: Entry, at: int) -> dict[str, Value]:
    return {
        "key": entry.key,
        "at": at,
        "what": str(entry.what),
        "source": entry.source,
        "target": entry.target,
        "sats": entry.sats,
        "organization_id": entry.organization_id,
        "order_id": entry.order_id,
        "actor": entry.actor,
        "note": entry.note,
    }


def _written(row: Row) -> Written:
    (
        number,
        key,
        at,
        what,
        source,
        target,
        sats,
        organization_id,
        order_id,
        actor,
        note,
    ) = row
    return Written(
        number=number,
        at=from_us(at),
        entry=Entry(
            key=key,
            what=What(what),
            source=source,
            target=target,
            sats=Sats(sats),
            organization_id=organization_id,
            order_id=order_id,
            actor=actor,
            note=note,
        ),
    )
