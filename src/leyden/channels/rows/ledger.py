"""The ledger's entries, and the balances that must be known quickly.

A balance of an organization or an order is stored in a row beside the
entries, and changed in the transaction of each entry. Balances of shared
accounts are added up when needed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from leyden.base.database.statements import AFTER_ALL, Row, Run, SqlFile, Value
from leyden.base.rules.times import from_us, to_us
from leyden.base.rules.units import Sats
from leyden.channels.rules import ledger
from leyden.channels.rules.customer_ledger import CustomerEntry, customer_entry
from leyden.channels.rules.ledger import Entry, Reason
from leyden.errors import Stale, Violated
from leyden.values import Struct, replace

sql = SqlFile(__file__)

_BELOW_ZERO = ("owed:", "receivable:")
_BALANCED = ("credit:", *_BELOW_ZERO)


class Written(Struct, frozen=True, kw_only=True):
    """A stored ledger entry."""

    number: int
    at: datetime
    entry: Entry


class Ledger:
    """The rows of entry and balance."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def post(self, written: Sequence[Entry], *, at: datetime) -> None:
        """Write entries, and update the balances they change; all or nothing.

        Raise Violated if an entry already exists, and Stale if an account's
        balance is too low. A caller that takes from a `held` account must have
        locked its order.
        """
        now = to_us(at)
        await self._run.many(sql.post, [row_of(entry, now) for entry in written])
        changes: Counter[str] = Counter()
        for entry in written:
            changes[entry.source] -= entry.sats
            changes[entry.target] += entry.sats
        held: dict[str, int] = {}
        # Always in the order of their names, so that there are no deadlocks.
        for account, change in sorted(changes.items()):
            if account.startswith("held:"):
                held[account] = change
            elif change and account.startswith(_BALANCED):
                await self._change(account, change)
        await self._hold(held)

    async def _hold(self, changes: Mapping[str, int]) -> None:
        """Change what orders hold; the orders are locked, so this never waits."""
        await self._run.many(
            sql.add_to,
            [
                {"account": account, "sats": change}
                for account, change in changes.items()
                if change > 0
            ],
        )
        released = {account: -each for account, each in changes.items() if each < 0}
        if await self._run.many(
            sql.release,
            [{"account": account, "sats": sats} for account, sats in released.items()],
        ) != len(released):
            raise Violated("an order would release more than it holds")

    async def _change(self, account: str, change: int) -> None:
        below_zero = account.startswith(_BELOW_ZERO)
        if change < 0:
            lowered = await self._run(
                sql.take_from, account=account, sats=-change, below_zero=int(below_zero)
            )
            if lowered:
                return
            if not below_zero:
                raise Stale(f"{account} has less than {-change} sat")
        elif below_zero:
            if not await self._run(sql.repay, account=account, sats=change):
                raise Stale(f"{account} owes less than {change} sat")
            return
        await self._run(sql.add_to, account=account, sats=change)

    async def balances(self, accounts: Iterable[str]) -> dict[str, Sats]:
        """Return the balances of these accounts, without those that have none."""
        rows = await self._run(sql.balances, accounts=tuple(accounts))
        return {account: Sats(sats) for account, sats in rows}

    async def balance(self, account: str) -> Sats:
        """Return the balance of an account that is stored as a row."""
        rows = await self._run(sql.balance, account=account)
        return Sats(rows[0][0]) if rows else Sats(0)

    async def credit_change_since(self, organization_id: str, since: int) -> Sats:
        """Return the change of an organization's credit from this entry on."""
        rows = await self._run(
            sql.change_since,
            organization_id=organization_id,
            account=ledger.credit(organization_id),
            since=since,
        )
        return Sats(int(rows[0][0]))

    async def sums(self) -> dict[str, Sats]:
        """Add up all entries by account."""
        return {account: Sats(int(sats)) for account, sats in await self._run(sql.sums)}

    async def sums_of(self, accounts: tuple[str, ...]) -> dict[str, Sats]:
        """Add up the entries of these accounts; those without entries are missing."""
        rows = await self._run(sql.sums_of, accounts=accounts)
        return {account: Sats(int(sats)) for account, sats in rows}

    async def stored_balances(self) -> dict[str, Sats]:
        """Return all balances that are stored as rows."""
        return {
            account: Sats(sats)
            for account, sats in await self._run(sql.stored_balances)
        }

    async def receivables(self) -> dict[str, Sats]:
        """Return what organizations must repay, by organization, the largest first."""
        rows = await self._run(sql.receivables)
        return {ledger.owner(account): Sats(-sats) for account, sats in rows}

    async def of_order(self, order_id: str) -> list[Written]:
        """Return all entries about an order, oldest first."""
        rows = await self._run(sql.of_order, order_id=order_id)
        return [written_of(row) for row in rows]

    async def find(self, key: str) -> Written | None:
        """Return the entry with this key, if it was written."""
        rows = await self._run(sql.find, key=key)
        return written_of(rows[0]) if rows else None

    async def customer_page(
        self, organization_id: str, *, before: int | None = None, limit: int
    ) -> list[CustomerEntry]:
        """Return an organization's side of its entries below a number, newest first."""
        rows = await self._run(
            sql.customer_page,
            organization_id=organization_id,
            before=AFTER_ALL if before is None else before,
            operators=ledger.OPERATORS,
            limit=limit,
        )
        return [_customer_entry(row) for row in rows]


def row_of(entry: Entry, at: int) -> dict[str, Value]:
    """Convert the entry to a row."""
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


def _customer_entry(row: Row) -> CustomerEntry:
    written, earned = written_of(row[:-1]), int(row[-1])
    complete = replace(written.entry, sats=Sats(written.entry.sats + earned))
    return customer_entry(written.number, written.at, complete)


def written_of(row: Row) -> Written:
    """Build the entry from a row."""
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
            what=Reason(what),
            source=source,
            target=target,
            sats=Sats(sats),
            organization_id=organization_id,
            order_id=order_id,
            actor=actor,
            note=note,
        ),
    )
