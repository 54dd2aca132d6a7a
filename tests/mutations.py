"""Each guard that counts, how to take it away, and the tests that must then fail.

    python -m tests.mutations [WORD]

takes each away in turn (those with the word in their name), in a copy of the sources,
and shows what fails. A guard that can be taken away unnoticed is not held by a test.
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.guards import Guard

ROOT = Path(__file__).parents[1]
_SCHEMA = "storage/migrations/versions/0001_ground_floor.py"


_OF_MONEY = (
    Guard(
        "a ledger key can be written once (UNIQUE)",
        _SCHEMA,
        'sa.UniqueConstraint("key", name=op.f("uq_entry_key")),',
        "",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "an entry moves something (CHECK)",
        _SCHEMA,
        'sa.CheckConstraint("sats > 0", name=op.f("ck_entry_moves_something")),',
        "",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "an entry moves somewhere (CHECK)",
        _SCHEMA,
        'sa.CheckConstraint("source <> target", '
        'name=op.f("ck_entry_moves_somewhere")),',
        "",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "entries are only ever added (trigger)",
        _SCHEMA,
        "SELECT RAISE(ABORT, 'entries are only ever added'); END",
        "SELECT 1; END",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "credit is never below zero (CHECK)",
        _SCHEMA,
        "sats >= 0 OR place LIKE 'owed:%' OR place LIKE 'receivable:%'",
        "1 = 1",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "one ticket, one order (UNIQUE)",
        _SCHEMA,
        'sa.UniqueConstraint("ticket_ref", name=op.f("uq_channel_order_ticket_ref")),',
        "",
        "tests/storage/test_orders.py",
    ),
    Guard(
        "what is taken is there (WHERE sats >= by)",
        "storage/sql/ledger.py",
        'balances.c.sats >= bindparam("by", type_=BigInteger),',
        'bindparam("by", type_=BigInteger) > 0,',
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "a debt is repaid at most to nothing (WHERE sats <= -by)",
        "storage/sql/ledger.py",
        'balances.c.sats <= -bindparam("by", type_=BigInteger),',
        "",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "entries that belong together are written together",
        "storage/sql/ledger.py",
        "POST = insert(entries).values(",
        "POST = insert(entries).on_conflict_do_nothing().values(",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "an order moves by compare-and-set (WHERE status =)",
        "storage/sql/orders.py",
        'orders.c.id == bindparam("order_id"), orders.c.status == bindparam("was")',
        'orders.c.id == bindparam("order_id"), bindparam("was") != ""',
        "tests/storage/test_orders.py",
    ),
    Guard(
        "a move that touched no row is seen",
        "storage/orders.py",
        "if touched != len(moved):",
        "if False:",
        "tests/storage/test_orders.py",
    ),
    Guard(
        "an order that is known is looked at again once it is locked",
        "services/checkout.py",
        "    order = work.order(made.order.id)\n    if order.status in ENDED:\n",
        "    order = made.order\n    if order.status in ENDED:\n",
        "tests/services/test_tickets.py",
    ),
    Guard(
        "of many rows it is told how many there were",
        "storage/sqlite_statements.py",
        "touched += self._connection.execute(sql, given).rowcount",
        "self._connection.execute(sql, given)\n                touched += len(values)",
        "tests/storage/test_columns.py tests/storage/test_orders.py",
    ),
    Guard(
        "a cancelled transaction waits for what runs in the thread",
        "storage/sqlite_statements.py",
        "        while not running.done():\n",
        "        while False:\n",
        "tests/storage/test_columns.py",
    ),
    Guard(
        "an output changes by compare-and-set",
        "storage/outputs.py",
        "if touched != len(changed):",
        "if False:",
        "tests/storage/test_orders.py",
    ),
    Guard(
        "a coupon is claimed once (WHERE claimed_by IS NULL)",
        "storage/sql/coupons.py",
        "coupons.c.claimed_by.is_(None),",
        "",
        "tests/storage/test_coupons.py",
    ),
    Guard(
        "a coupon with a name on it is nobody else's",
        "storage/sql/coupons.py",
        'coupons.c.organization_id == bindparam("claimant"),',
        'bindparam("claimant") != "",',
        "tests/storage/test_coupons.py tests/api/flow/test_coupons.py",
    ),
    Guard(
        "guessing coupons is slowed down",
        "services/credit.py",
        "if guessed and guessed[0] >= guesses:",
        "if False:",
        "tests/api/flow/test_coupons.py",
    ),
    Guard(
        "tasks that are no longer ours end nothing",
        "storage/tasks.py",
        "if ended != len(claims):",
        "if False:",
        "tests/test_tasks.py tests/services/test_tickets.py",
    ),
    Guard(
        "a task has a fence (WHERE fence =)",
        "storage/sql/tasks.py",
        'tasks.c.fence == bindparam("held_fence"),',
        'tasks.c.fence >= bindparam("held_fence") - 99,',
        "tests/test_tasks.py tests/services/test_tickets.py",
    ),
    Guard(
        "credit is counted again once it is locked",
        "services/orders.py",
        "if await _cover(tx, organization_id, order.quote) != cover:",
        "if False:",
        "tests/api/flow/test_create.py",
    ),
    Guard(
        "a corporate account has a limit",
        "services/orders.py",
        "if owed + rest > limit:",
        "if False:",
        "tests/api/flow/test_create.py",
    ),
    Guard(
        "an order is shown to its own organization",
        "services/orders.py",
        "if order.organization_id != organization_id:",
        "if False:",
        "tests/services/test_settlement.py tests/api/flow/test_status.py",
    ),
    Guard(
        "a ticket is cancelled in the market before its order",
        "services/orders.py",
        "await shop.market.withdraw(order.id, order.ticket_ref)",
        "True",
        "tests/api/flow/test_cancel.py",
    ),
    Guard(
        "a ticket that poold does not know is not called cancelled",
        "market/pool.py",
        "            if given:\n",
        "            if False:\n",
        "tests/market/test_pool.py",
    ),
    Guard(
        "a ticket is made only where the account has room for it",
        "market/offers.py",
        "if account.available < outstanding + may_take(quote):",
        "if False:",
        "tests/market/test_pool.py",
    ),
    Guard(
        "each ticket's bid is looked at in its own time",
        "market/ends.py",
        "return any(self._seen[ref] < due for ref in refs)",
        "return max(self._seen.values(), default=0) < due",
        "tests/market/test_pool.py",
    ),
    Guard(
        "a second cancel moves nothing",
        "services/orders.py",
        "    if order.status is Status.CANCELLED:\n        return order\n",
        "",
        "tests/api/flow/test_cancel.py",
    ),
    Guard(
        "an accepted payment is booked once",
        "services/checkout.py",
        "    if order.invoice in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}:\n"
        "        return  # seen before\n",
        "",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "a settled payment is booked once",
        "services/invoices.py",
        "    if order.invoice is InvoiceState.SETTLED:\n"
        "        return  # seen before\n",
        "",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "what comes for an ended order is handed back",
        "services/checkout.py",
        "order.status is not Status.WAITING_PAYMENT\n",
        "False\n",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "a payment is taken only if it is still held",
        "services/checkout.py",
        "elif order.held_htlc and not await _settle(shop, order):",
        "elif order.held_htlc and not (await _settle(shop, order), True):",
        "tests/services/test_tickets.py",
    ),
    Guard(
        "how an order was paid is looked at again before its ticket is kept",
        "services/checkout.py",
        "if order.held_htlc != made.order.held_htlc:",
        "if False:",
        "tests/services/test_tickets.py",
    ),
    Guard(
        "a ticket nobody wants is withdrawn",
        "services/holding.py",
        "    if order.offered:\n",
        "    if False:\n",
        "tests/services/test_tickets.py tests/services/test_outputs.py",
    ),
    Guard(
        "an invoice is closed once the order is paid another way",
        "services/checkout.py",
        "    if order.invoice is InvoiceState.OPEN:\n        # Paid",
        "    if False:\n        # Paid",
        "tests/services/test_settlement.py tests/services/test_outputs.py",
    ),
    Guard(
        "an output counts only as deep as it has to lie",
        "services/outputs.py",
        "return OutputState.BOOKED if depth >= needed else OutputState.SEEN",
        "return OutputState.BOOKED",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "an output is booked again under a key of its own",
        "services/outputs.py",
        "bookings=known.bookings + 1,",
        "bookings=1,",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "a spent payment that the chain takes back is owed",
        "services/outputs.py",
        "owed = known.to_order if order.status in TICKETED else 0",
        "owed = 0",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "a payment is looked for before its order ends",
        "services/expiry.py",
        "        await look_for(shop, [request])\n",
        "        pass\n",
        "tests/services/test_expiry.py",
    ),
    Guard(
        "coins on their way stop the clock",
        "services/expiry.py",
        "    return work.holds(order) + detected(work, order) >= order.total_fee",
        "    return False",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "what a strange treasury does not know of is not gone",
        "services/sweep.py",
        "        if each.payment_hash not in strange\n",
        "",
        "tests/services/test_restored.py",
    ),
    Guard(
        "an invoice that a treasury never made is not settled, nor cancelled",
        "payments/lnd.py",
        "        if state is InvoiceState.MISSING:\n",
        "        if False:\n",
        "tests/contracts/test_payments.py",
        "lnd and never_made",
    ),
    Guard(
        "all coins are told of first",
        "payments/watching.py",
        "self._told_to = 0  #",
        "self._told_to = 10**9  #",
        "tests/contracts/test_payments.py",
        "lnd and all_coins",
    ),
    Guard(
        "a payment that cannot be booked stops no other",
        "services/checkout.py",
        "            await _record_alone(shop, each, now)\n",
        "            pass\n",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "of a batch that fails nothing is written",
        "storage/sqlite.py",
        'self._execute("ROLLBACK TO step")',
        "pass",
        "tests/services/test_unit_of_work.py",
    ),
    Guard(
        "a ticket is kept by whoever still has its task, and by nobody else",
        "services/checkout.py",
        "            await end_together(tx, [each.due for each in made])\n",
        "",
        "tests/services/test_tickets.py",
    ),
    Guard(
        "a correction's key is for one correction",
        "services/corrections.py",
        "    if whole != correction:\n",
        "    if False:\n",
        "tests/services/test_credit.py",
    ),
    Guard(
        "what is granted repays a debt first",
        "domain/ledger.py",
        "repaid = min(entry.sats, outstanding)",
        "repaid = 0",
        "tests/services/test_credit.py",
    ),
    Guard(
        "an order releases what it holds",
        "storage/ledger.py",
        "if await self._run.many(sql.RELEASE, released) != len(released):",
        "if await self._run.many(sql.RELEASE, released) < 0:",
        "tests/storage/test_ledger.py",
    ),
    Guard(
        "a cancellation that comes with a connection is heeded",
        "storage/postgres.py",
        "if task and task.cancelling() > cancelled_before:",
        "if False:",
        "tests/storage/test_transactions.py",
        "heeded",
    ),
    Guard(
        "another lnd in the treasury's place is a stranger",
        "services/recognition.py",
        'stranger = found if found != known.pubkey else ""',
        'stranger = ""',
        "tests/services/test_recognition.py",
    ),
    Guard(
        "a database that may lose commits is told of",
        "storage/sqlite.py",
        "if is_ not in lasting:",
        "if False:",
        "tests/storage/test_doubts.py",
    ),
    Guard(
        "what is read together is of one moment",
        "storage/sqlite_reads.py",
        'self._connection.execute("BEGIN")',
        "pass",
        "tests/storage/test_sqlite_reads.py",
    ),
    Guard(
        "what is buried is not taken back for want of news",
        "services/sweep.py",
        "if each.state in _MAY_VANISH and each.outpoint",
        "if each.outpoint",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "an order that ends hands back what is held for it",
        "services/holding.py",
        "    if order.held_htlc or order.invoice is InvoiceState.OPEN:\n",
        "    if order.invoice is InvoiceState.OPEN:\n",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "a closed invoice holds no HTLC",
        "services/checkout.py",
        "        or order.invoice is not InvoiceState.OPEN\n",
        "",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "an HTLC of nothing is none",
        "services/checkout.py",
        "        or invoice.sats <= 0\n",
        "",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "an HTLC that is gone before the ticket ends its order",
        "services/invoices.py",
        "    if order.status is Status.CREATING:\n"
        "        end(work, order, Event.BROKE)\n"
        "        return\n",
        "",
        "tests/services/test_tickets.py",
    ),
    Guard(
        "a payment that is held is not closed with its invoice",
        "services/expiry.py",
        "if request is None or order.held_htlc or order.invoice",
        "if request is None or order.invoice",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "what was taken as its invoice was closed is credit",
        "services/expiry.py",
        "if await shop.payments.cancel(request):",
        "if await shop.payments.cancel(request) or request:",
        "tests/services/test_settlement.py",
    ),
    Guard(
        "small coins for a large order lie as deep",
        "services/outputs.py",
        "max(order.to_be_paid, output.sats)",
        "output.sats",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "a large coin for a small order lies as deep",
        "services/outputs.py",
        "max(order.to_be_paid, output.sats)",
        "order.to_be_paid",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "what counted counts as long as any block has it",
        "services/outputs.py",
        "        if depth < 1:",
        "        if depth < needed:",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "what all is held for waits for no part of it",
        "services/outputs.py",
        "        and work.holds(order) < order.total_fee\n",
        "",
        "tests/services/test_outputs.py",
    ),
    Guard(
        "a payment that turns out to be ours is booked as ours",
        "services/refunds.py",
        "if order.held_htlc and not handed_back:",
        "if False:",
        "tests/services/test_tickets.py",
    ),
    Guard(
        "an order is covered once at most (CHECK)",
        _SCHEMA,
        "credit_used >= 0 AND charged >= 0 AND credit_used + charged <= "
        "service_fee + pool_fee + self_chan_balance_fee",
        "1 = 1",
        "tests/storage/test_constraints.py",
    ),
    Guard(
        "one payment hash, one order (UNIQUE)",
        _SCHEMA,
        'sa.UniqueConstraint("payment_hash", '
        'name=op.f("uq_channel_order_payment_hash")),',
        "",
        "tests/storage/test_constraints.py",
    ),
    Guard(
        "one address, one order (UNIQUE)",
        _SCHEMA,
        "        sa.UniqueConstraint(\n"
        '            "onchain_address", '
        'name=op.f("uq_channel_order_onchain_address")\n        ),\n',
        "",
        "tests/storage/test_constraints.py",
    ),
    Guard(
        "one output, one booking (PRIMARY KEY)",
        _SCHEMA,
        'sa.PrimaryKeyConstraint("txid", "vout", name=op.f("pk_chain_output")),',
        "",
        "tests/storage/test_constraints.py",
    ),
    Guard(
        "a coupon is claimed by its owner (CHECK)",
        _SCHEMA,
        "claimed_by IS NULL OR organization_id IS NULL OR claimed_by = organization_id",
        "1 = 1",
        "tests/storage/test_constraints.py",
    ),
    Guard(
        "who decides about an order has locked it (FOR UPDATE)",
        "storage/sql/orders.py",
        "    .order_by(orders.c.id)\n    .with_for_update()\n)\nPAID_TO",
        "    .order_by(orders.c.id)\n)\nPAID_TO",
        "tests/storage/test_orders.py",
        "postgres and waits_for",
    ),
    Guard(
        "who makes an order twice at once is told of the one there is",
        "services/orders.py",
        "        if not await tx.orders.add(order):\n"
        "            return _own(await tx.orders.get(order.id), organization_id)\n",
        "        await tx.orders.add(order)\n",
        "tests/services/test_meanwhile.py",
    ),
    Guard(
        "an order that moved while it was cancelled is looked at again",
        "services/orders.py",
        "if current.status is not order.status:",
        "if False:",
        "tests/services/test_meanwhile.py",
    ),
    Guard(
        "two who cancel at once are told the same",
        "services/orders.py",
        "        if current.status is Status.CANCELLED:\n            return current\n",
        "",
        "tests/services/test_meanwhile.py",
    ),
    Guard(
        "one key is for one request",
        "api/idempotency.py",
        "if saved.request != request:",
        "if False:",
        "tests/api/flow/test_one_key.py",
    ),
    Guard(
        "while the first is under way nobody else begins",
        "api/idempotency.py",
        "if _is_under_way(platform, mine, saved, now) or (",
        "if (",
        "tests/api/flow/test_one_key.py",
    ),
    Guard(
        "who was taken for dead says nothing any more (WHERE holder =)",
        "storage/sql/answers.py",
        '    .where(*_mine, answers.c.holder == bindparam("holder"))\n'
        '    .values(status=bindparam("status"), body=bindparam("body"))',
        '    .where(*_mine, bindparam("holder") != "")\n'
        '    .values(status=bindparam("status"), body=bindparam("body"))',
        "tests/api/flow/test_one_key.py",
    ),
    Guard(
        "what a block pays its finder counts once it can be spent",
        "payments/coins.py",
        "depth if depth >= coin.ripe else 0",
        "depth",
        "tests/contracts/test_payments.py",
        "lnd and block_pays",
    ),
    Guard(
        "a second lnd in a node's folder is told of",
        "services/verify.py",
        "            if number > 1\n",
        "            if number > 2\n",
        "tests/runtimes/test_census.py",
    ),
    Guard(
        "an order that credit covers is not paid again",
        "devnet/purchase.py",
        '        if not order["lightning_invoice"]:\n',
        "        if False:\n",
        "tests/api/flow/test_purchase.py",
    ),
    Guard(
        "an order whose ticket was not registered becomes credit",
        "devnet/purchase.py",
        '                await self.call("POST", "/flow/cancel", wish)\n',
        "                pass\n",
        "tests/api/flow/test_purchase.py",
    ),
)

GUARDS = (
    *_OF_MONEY,
    *(
        guard
        for module in sorted(Path(__file__).parent.glob("guards_of_*.py"))
        for guard in importlib.import_module(f"tests.{module.stem}").GUARDS
    ),
)


def taken_away(guard: Guard, folder: Path) -> Path:
    """Copy the sources without this guard; give the folder to import them from."""
    shutil.copytree(ROOT / "src", folder / "src")
    file = folder / "src" / "leyden" / guard.file
    text = file.read_text()
    assert text.count(guard.with_it) == 1, f"{guard.what}: it stands elsewhere now"
    file.write_text(text.replace(guard.with_it, guard.without_it))
    if "storage/sql" in guard.file:
        write = "from leyden.storage import writing; writing.write()"
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        subprocess.run([sys.executable, "-c", write], env=environment, check=True)
    return folder / "src"


def failing(guard: Guard) -> str | None:
    """Run the tests without the guard; name the one that fails, if one does."""
    with tempfile.TemporaryDirectory() as folder:
        sources = taken_away(guard, Path(folder))
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-x", "--timeout=60"),
            *("-p", "no:cacheprovider", "-k", guard.only, *guard.tests.split()),
        ]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(sources), "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split()[1].partition("[")[0].rpartition("/")[2]
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return None


def main(word: str = "") -> int:
    """Take each away, and tell."""
    unnoticed = 0
    for guard in GUARDS:
        if word in guard.what:
            began = time.monotonic()
            test = failing(guard)
            unnoticed += test is None
            seconds = time.monotonic() - began
            print(  # noqa: T201  this is how it tells
                f"| {guard.what} | `{guard.file}` | `{test}` | {seconds:.0f} s",
                flush=True,
            )
    return unnoticed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
