"""Each guard of money, how to take it away, and the tests that must then fail.

    python -m tests.mutations [WORD]

takes each away in turn (those with the word in their name), in a copy of the sources,
and shows what fails. A guard that can be taken away unnoticed is not held by a test.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SCHEMA = "base/database/migrations/versions/0001_ground_floor.py"


@dataclass(frozen=True)
class Guard:
    """Something that keeps money from being lost or created."""

    what: str
    file: str  # below src/leyden
    with_it: str
    without_it: str
    tests: str  # where the failing test is to be found
    only: str = "not postgres"  # as pytest's -k


GUARDS = (
    Guard(
        "a ledger key can be written once (UNIQUE)",
        _SCHEMA,
        'sa.UniqueConstraint("key", name=op.f("uq_entry_key")),',
        "",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "an entry moves something (CHECK)",
        _SCHEMA,
        'sa.CheckConstraint("sats > 0", name=op.f("ck_entry_moves_something")),',
        "",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "an entry moves somewhere (CHECK)",
        _SCHEMA,
        'sa.CheckConstraint("source <> target", '
        'name=op.f("ck_entry_moves_somewhere")),',
        "",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "entries are only ever added (trigger)",
        _SCHEMA,
        "SELECT RAISE(ABORT, 'entries are only ever added'); END",
        "SELECT 1; END",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "credit is never below zero (CHECK)",
        _SCHEMA,
        "sats >= 0 OR place LIKE 'owed:%' OR place LIKE 'receivable:%'",
        "1 = 1",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "one ticket, one order (UNIQUE)",
        _SCHEMA,
        'sa.UniqueConstraint("ticket_ref", name=op.f("uq_channel_order_ticket_ref")),',
        "",
        "tests/channels/rows/test_orders.py",
    ),
    Guard(
        "what is taken is there (WHERE sats >= by)",
        "channels/rows/ledger.sql",
        "    AND (:below_zero = 1 OR sats >= :sats)\n",
        "",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "a debt is repaid at most to nothing (WHERE sats <= -by)",
        "channels/rows/ledger.sql",
        "    AND sats + :sats <= 0\n",
        "",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "entries that belong together are written together",
        "channels/rows/ledger.sql",
        "    :note\n);",
        "    :note\n)\nON CONFLICT DO NOTHING;",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "an order moves by compare-and-set (WHERE status =)",
        "channels/rows/orders.py",
        " AND status = :was",
        "",
        "tests/channels/rows/test_orders.py",
    ),
    Guard(
        "a just-in-time order moves by compare-and-set (WHERE status =)",
        "channels/direct/rows/jit_orders.sql",
        "\n    AND status = :was",
        "",
        "tests/channels/rows/test_jit_orders.py",
    ),
    Guard(
        "an invoice is wrapped once (UNIQUE)",
        "base/database/migrations/versions/0056_wrapped_invoices.py",
        'sa.UniqueConstraint("payment_hash", '
        'name=op.f("uq_jit_wrapped_payment_hash")),',
        "",
        "tests/channels/api/test_wrapped.py",
    ),
    Guard(
        "a hold invoice is not cancelled while its inner payment may succeed",
        "channels/direct/rules/wrapped.py",
        "return WrapStep.FOLLOW",
        "return WrapStep.CANCEL",
        "tests/channels/test_wrapped.py",
    ),
    Guard(
        "what is held for an order that a restored database lost is settled",
        "channels/direct/jit/wrapped.py",
        "        await self._search()\n",
        "",
        "tests/channels/test_wrapped.py",
        "restored",
    ),
    Guard(
        "a node that pays only a part of the fee counts as one that did not pay",
        "channels/direct/rows/jit_orders.sql",
        "WHERE peer = :peer\n    AND (status = 'unpaid' OR (status = 'earned' AND "
        "earned_msat < fee_msat))",
        "WHERE peer = :peer\n    AND status = 'unpaid'",
        "tests/channels/rows/test_jit_orders.py",
    ),
    Guard(
        "a payment that an lnd knows already is not paid on with this invoice",
        "channels/direct/jit/wrapped.py",
        "if began.state is not PaidState.NONE:",
        "if False:",
        "tests/channels/test_wrapped.py",
    ),
    Guard(
        "a move that touched no row is seen",
        "channels/rows/orders.py",
        "if touched != len(moved):",
        "if False:",
        "tests/channels/rows/test_orders.py",
    ),
    Guard(
        "an order that is known is looked at again once it is locked",
        "channels/tickets/ticket_source.py",
        "    order = work.order(made.order.id)\n    if order.status in ENDED:\n",
        "    order = made.order\n    if order.status in ENDED:\n",
        "tests/channels/test_tickets.py",
    ),
    Guard(
        "of many rows it is told how many there were",
        "base/database/sqlite_statements.py",
        "touched += cursor.rowcount",
        "touched += len(some)",
        "tests/base/database/test_many_rows.py tests/channels/rows/test_orders.py",
    ),
    Guard(
        "a cancelled transaction waits for the pipeline that it is in",
        "base/database/postgres.py",
        "return await _shielded(self._all(statement, values))",
        "return await self._all(statement, values)",
        "tests/base/database/test_many_rows.py",
        "pipeline",
    ),
    Guard(
        "an output changes by compare-and-set",
        "channels/rows/outputs.py",
        "if touched != len(changed):",
        "if False:",
        "tests/channels/rows/test_orders.py",
    ),
    Guard(
        "a coupon is claimed once (WHERE claimed_by IS NULL)",
        "channels/money/rows/coupons.sql",
        "    AND claimed_by IS NULL\n",
        "",
        "tests/channels/rows/test_coupons.py",
    ),
    Guard(
        "a coupon with a name on it is nobody else's",
        "channels/money/rows/coupons.sql",
        "    AND (organization_id IS NULL OR organization_id = :claimant)\n",
        "",
        "tests/channels/rows/test_coupons.py tests/channels/api/flow/test_coupons.py",
    ),
    Guard(
        "guessing coupons is slowed down",
        "channels/money/credit.py",
        "if guessed and guessed[0] >= guesses:",
        "if False:",
        "tests/channels/api/flow/test_coupons.py",
    ),
    Guard(
        "tasks that are no longer ours end nothing",
        "base/tasks/rows/tasks.py",
        "if ended != len(claims):",
        "if False:",
        "tests/test_tasks.py tests/channels/test_tickets.py",
    ),
    Guard(
        "what fails while the database is away waits for no claim to run out",
        "base/tasks/worker.py",
        "if await self._try_reschedule(claim, due):",
        "if await self._try_reschedule(claim, due) or True:",
        "tests/test_tasks.py",
        "run_out",
    ),
    Guard(
        "a transaction of a task checks at its end that the task is still ours",
        "base/tasks/work.py",
        "if error is None and self._tx is not None and not self._work.settled:",
        "if False:",
        "tests/test_tasks.py",
    ),
    Guard(
        "rows of tasks are locked last",
        "base/tasks/work.py",
        "await self._tx.tasks.check_held(self._work.claim)",
        "await self._tx.tasks.lock(self._work.claim)",
        "tests/test_tasks.py",
    ),
    Guard(
        "a task has a fence (WHERE fence =)",
        "base/tasks/rows/tasks.sql",
        "    AND fence = :fence\n    AND asked = :asked;",
        "    AND asked = :asked;",
        "tests/test_tasks.py tests/channels/test_tickets.py",
    ),
    Guard(
        "a fence rises although its task was completed meanwhile",
        "base/tasks/rows/tasks.sql",
        "    fence = CASE WHEN fence < :now THEN :now ELSE fence + 1 END,\n"
        "    attempts = attempts + 1,\n"
        "    holder = :holder\n"
        "WHERE (kind, key) IN (SELECT kind, key FROM free)\n"
        "    AND lease <= :now\n"
        "RETURNING kind, key, fence, asked, attempts, due;\n\n"
        "-- name: next_due",
        "    fence = fence + 1,\n"
        "    attempts = attempts + 1,\n"
        "    holder = :holder\n"
        "WHERE (kind, key) IN (SELECT kind, key FROM free)\n"
        "    AND lease <= :now\n"
        "RETURNING kind, key, fence, asked, attempts, due;\n\n"
        "-- name: next_due",
        "tests/test_tasks.py",
        "sqlite and next_task",
    ),
    Guard(
        "a claim that has ended is not extended",
        "base/tasks/rows/tasks.sql",
        "        AND lease > 0\n",
        "",
        "tests/test_tasks.py",
        "has_ended_is_not_extended",
    ),
    Guard(
        "credit is counted again once it is locked",
        "channels/orders.py",
        "if await split_payment(tx, organization_id, price) != cover:",
        "if False:",
        "tests/channels/api/flow/test_create.py",
    ),
    Guard(
        "a corporate account has a limit",
        "channels/orders.py",
        "if owed + rest > limit:",
        "if False:",
        "tests/channels/api/flow/test_create.py",
    ),
    Guard(
        "credit that was spent meanwhile extends nothing",
        "channels/direct/extensions.py",
        "        if await _paid_by(tx, offered) != offered.paid_by:\n",
        "        if False:\n",
        "tests/channels/test_extensions.py",
    ),
    Guard(
        "a lease that changed meanwhile is not extended",
        "channels/rows/leases.sql",
        "    AND extended = :was_extended\n",
        "",
        "tests/channels/test_extensions.py",
    ),
    Guard(
        "a channel that closes is not extended",
        "channels/direct/extensions.py",
        "    if lease.point in now.closed:\n",
        "    if False:\n",
        "tests/channels/test_extensions.py",
    ),
    Guard(
        "a lease is not extended above its owner's limit",
        "channels/direct/extensions.py",
        "        if offered.total_fee > lease.auto_most:\n",
        "        if False:\n",
        "tests/channels/test_extensions.py",
    ),
    Guard(
        "an extension is looked at again before its payment is settled",
        "channels/direct/extensions.py",
        "            why = await _why_not(channels, extension)\n",
        '            why = ""\n',
        "tests/channels/test_extensions.py",
    ),
    Guard(
        "what a node has not paid is not in the way of its lease's owner",
        "channels/direct/rows/extensions.sql",
        "    AND peer = '';\n",
        ";\n",
        "tests/channels/test_lsps7.py",
    ),
    Guard(
        "a settled payment for a closed channel extends nothing",
        "channels/direct/extensions.py",
        "    if not paid:\n",
        "    if False:\n",
        "tests/channels/test_extensions.py",
    ),
    Guard(
        "an order is shown to its own organization",
        "channels/orders.py",
        "if order.organization_id != organization_id:",
        "if False:",
        "tests/channels/test_settlement.py tests/channels/api/flow/test_status.py",
    ),
    Guard(
        "a ticket is cancelled in the market before its order",
        "channels/orders.py",
        "await channels.market.withdraw(order.id, order.ticket_ref)",
        "True",
        "tests/channels/api/flow/test_cancel.py",
    ),
    Guard(
        "a ticket that poold does not know is not called cancelled",
        "channels/tickets/pool.py",
        "            if has_ref:\n",
        "            if False:\n",
        "tests/channels/tickets/test_pool.py",
    ),
    Guard(
        "a ticket is made only where the account has room for it",
        "channels/tickets/pool.py",
        "if account.available < outstanding + may_take(quote):",
        "if False:",
        "tests/channels/tickets/test_pool.py",
    ),
    Guard(
        "each ticket's bid is looked at in its own time",
        "channels/tickets/ticket_ends.py",
        "return any(self._checked_at[ref] < due for ref in refs)",
        "return max(self._checked_at.values(), default=0) < due",
        "tests/channels/tickets/test_pool.py",
    ),
    Guard(
        "a second cancel moves nothing",
        "channels/orders.py",
        "    if order.status is OrderStatus.CANCELLED:\n        return order\n",
        "",
        "tests/channels/api/flow/test_cancel.py",
    ),
    Guard(
        "an accepted payment is booked once",
        "channels/checkout.py",
        "    if order.invoice in {InvoiceState.ACCEPTED, InvoiceState.SETTLED}:\n"
        "        return  # already booked\n",
        "",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "what comes for an ended order is handed back",
        "channels/checkout.py",
        "order.status is not OrderStatus.WAITING_PAYMENT\n",
        "False\n",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "a payment is taken only if it is still held",
        "channels/tickets/ticket_source.py",
        "elif order.held_htlc and not await _settle(channels, order):",
        "elif order.held_htlc and not (await _settle(channels, order), True):",
        "tests/channels/test_tickets.py",
    ),
    Guard(
        "how an order was paid is looked at again before its ticket is kept",
        "channels/tickets/ticket_source.py",
        "if order.held_htlc != made.order.held_htlc:",
        "if False:",
        "tests/channels/test_tickets.py",
    ),
    Guard(
        "a ticket nobody wants is withdrawn",
        "channels/holding.py",
        "    if order.offered:\n",
        "    if False:\n",
        "tests/channels/test_tickets.py tests/channels/test_outputs.py",
    ),
    Guard(
        "an invoice is closed once the order is paid another way",
        "channels/checkout.py",
        "    if order.invoice is InvoiceState.OPEN:\n        # Paid",
        "    if False:\n        # Paid",
        "tests/channels/test_settlement.py tests/channels/test_outputs.py",
    ),
    Guard(
        "a payment is looked for before its order ends",
        "channels/expiry.py",
        "        updates = await look_up(channels, [request])\n",
        "        pass\n",
        "tests/channels/test_expiry.py",
    ),
    Guard(
        "a payment with too few confirmations stops the clock",
        "channels/expiry.py",
        "    return work.holds(order) + confirming(work, order, confirmed) "
        ">= order.total_fee",
        "    return False",
        "tests/channels/test_expiry.py",
    ),
    Guard(
        "an answer from before a block takes nothing back",
        "channels/payment_sweep.py",
        "or each.outpoint not in unconfirmed",
        "or True",
        "tests/channels/test_outputs.py",
        "answer_from_before",
    ),
    Guard(
        "what a strange treasury does not know of is not gone",
        "channels/payment_sweep.py",
        "        if each.payment_hash not in unknown\n",
        "",
        "tests/channels/test_restored.py",
    ),
    Guard(
        "an invoice that a treasury never made is not settled, nor cancelled",
        "channels/payments/lnd.py",
        "        if state is InvoiceState.MISSING:\n",
        "        if False:\n",
        "tests/channels/contracts/test_payments.py",
        "lnd and never_made",
    ),
    Guard(
        "an invoice that has expired is not given out again",
        "channels/payments/lnd.py",
        'if created.get("state") != invoices.CANCELLED:',
        "if True:",
        "tests/channels/contracts/test_payments.py",
        "lnd and asking_late",
    ),
    Guard(
        "all coins are told of first",
        "channels/payments/lnd.py",
        "self._reported_to = 0  #",
        "self._reported_to = 10**9  #",
        "tests/channels/contracts/test_payments.py",
        "lnd and all_coins",
    ),
    Guard(
        "a payment that cannot be booked stops no other",
        "channels/checkout.py",
        "            await _record_alone(channels, order_id, update, now)\n",
        "            pass\n",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "of a batch that fails nothing is written",
        "base/database/sqlite.py",
        'self._execute("ROLLBACK")',
        "pass",
        "tests/channels/test_unit_of_work.py",
    ),
    Guard(
        "a ticket is kept by whoever still has its task, and by nobody else",
        "channels/tickets/ticket_source.py",
        "            await complete_all(tx, [each.due for each in made])\n",
        "",
        "tests/channels/test_tickets.py",
    ),
    Guard(
        "a correction's key is for one correction",
        "channels/money/corrections.py",
        "    if complete != correction:\n",
        "    if False:\n",
        "tests/channels/test_credit.py",
    ),
    Guard(
        "what is granted repays a debt first",
        "channels/rules/ledger.py",
        "repaid = min(entry.sats, outstanding)",
        "repaid = 0",
        "tests/channels/test_credit.py",
    ),
    Guard(
        "an order releases what it holds",
        "channels/rows/ledger.py",
        ") != len(released):",
        ") < 0:",
        "tests/channels/rows/test_ledger.py",
    ),
    Guard(
        "a cancellation that comes with a connection is heeded",
        "base/database/postgres_errors.py",
        "if task and task.cancelling() > cancelled_before:",
        "if False:",
        "tests/base/database/test_transactions.py",
        "heeded",
    ),
    Guard(
        "another lnd in the treasury's place is a stranger",
        "channels/treasury_identity.py",
        'stranger = found if found != known.pubkey else ""',
        'stranger = ""',
        "tests/nodes/test_recognition.py",
    ),
    Guard(
        "a database that may lose commits is told of",
        "base/database/sqlite_connections.py",
        "if is_ not in lasting:",
        "if False:",
        "tests/base/database/test_doubts.py",
    ),
    Guard(
        "what is read together is of one moment",
        "base/database/sqlite_statements.py",
        'self._connection.execute("BEGIN")',
        "pass",
        "tests/base/database/test_sqlite_reads.py",
    ),
    Guard(
        "what is booked while it is looked for is not gone",
        "channels/payment_sweep.py",
        "    known = await reader.of_orders(each.order_id for each in requests)\n"
        "    updates = await channels.payments.lookup(requests)\n",
        "    updates = await channels.payments.lookup(requests)\n"
        "    known = await reader.of_orders(each.order_id for each in requests)\n",
        "tests/channels/test_expiry.py",
        "booked_while",
    ),
    Guard(
        "verify sees coins that nobody booked",
        "channels/books/treasury_rules.py",
        "depth > _ENOUGH_CONFIRMATIONS",
        "False",
        "tests/channels/test_verify.py",
        "nobody_booked",
    ),
    Guard(
        "what is buried is not taken back for want of news",
        "channels/payment_sweep.py",
        "        and each.state in _MAY_VANISH\n",
        "",
        "tests/channels/test_outputs.py",
    ),
    Guard(
        "a closed invoice holds no HTLC",
        "channels/checkout.py",
        "        or order.invoice is not InvoiceState.OPEN\n",
        "",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "an HTLC of nothing is none",
        "channels/checkout.py",
        "        or invoice.sats <= 0\n",
        "",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "a payment that is held is not closed with its invoice",
        "channels/expiry.py",
        "if request is None or order.held_htlc or order.invoice",
        "if request is None or order.invoice",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "what was taken as its invoice was closed is credit",
        "channels/expiry.py",
        "if await channels.payments.cancel(request):",
        "if await channels.payments.cancel(request) or request:",
        "tests/channels/test_settlement.py",
    ),
    Guard(
        "a payment that turns out to be ours is booked as ours",
        "channels/refunds.py",
        "if order.held_htlc and not handed_back:",
        "if False:",
        "tests/channels/test_tickets.py",
    ),
    Guard(
        "an order is covered once at most (CHECK)",
        _SCHEMA,
        "credit_used >= 0 AND charged >= 0 AND credit_used + charged <= "
        "service_fee + pool_fee + self_chan_balance_fee",
        "1 = 1",
        "tests/base/database/test_constraints.py",
    ),
    Guard(
        "one payment hash, one order (UNIQUE)",
        _SCHEMA,
        'sa.UniqueConstraint("payment_hash", '
        'name=op.f("uq_channel_order_payment_hash")),',
        "",
        "tests/base/database/test_constraints.py",
    ),
    Guard(
        "one address, one order (UNIQUE)",
        _SCHEMA,
        "        sa.UniqueConstraint(\n"
        '            "onchain_address", '
        'name=op.f("uq_channel_order_onchain_address")\n        ),\n',
        "",
        "tests/base/database/test_constraints.py",
    ),
    Guard(
        "one output, one booking (PRIMARY KEY)",
        _SCHEMA,
        'sa.PrimaryKeyConstraint("txid", "vout", name=op.f("pk_chain_output")),',
        "",
        "tests/base/database/test_constraints.py",
    ),
    Guard(
        "a coupon is claimed by its owner (CHECK)",
        _SCHEMA,
        "claimed_by IS NULL OR organization_id IS NULL OR claimed_by = organization_id",
        "1 = 1",
        "tests/base/database/test_constraints.py",
    ),
    Guard(
        "who decides about an order has locked it (FOR UPDATE)",
        "channels/rows/orders.sql",
        "ORDER BY id\n/* FOR UPDATE */;",
        "ORDER BY id;",
        "tests/channels/rows/test_orders.py",
        "postgres and waits_for",
    ),
    Guard(
        "who makes an order twice at once is told of the one there is",
        "channels/orders.py",
        "            return _own(made, organization_id)\n        if order",
        "            pass\n        if order",
        "tests/channels/test_meanwhile.py",
    ),
    Guard(
        "an order that moved while it was cancelled is looked at again",
        "channels/orders.py",
        "if current.status is not order.status:",
        "if False:",
        "tests/channels/test_meanwhile.py",
    ),
    Guard(
        "two who cancel at once are told the same",
        "channels/orders.py",
        "        if current.status is OrderStatus.CANCELLED:\n"
        "            return current\n",
        "",
        "tests/channels/test_meanwhile.py",
    ),
    Guard(
        "one key is for one request",
        "app/serving/idempotency.py",
        "if saved.request != request:",
        "if False:",
        "tests/channels/api/flow/test_one_key.py",
    ),
    Guard(
        "while the first is under way nobody else begins",
        "app/serving/idempotency.py",
        "if _is_in_progress(platform, mine, saved, now) or (",
        "if (",
        "tests/channels/api/flow/test_one_key.py",
    ),
    Guard(
        "who was taken for dead says nothing any more (WHERE holder =)",
        "base/rows/answers.sql",
        "SET status = :status, body = :body\n"
        "WHERE organization_id = :organization_id\n"
        "    AND key = :key\n"
        "    AND holder = :holder;",
        "SET status = :status, body = :body\n"
        "WHERE organization_id = :organization_id\n"
        "    AND key = :key;",
        "tests/channels/api/flow/test_one_key.py",
    ),
    Guard(
        "what a block pays its finder counts once it can be spent",
        "channels/payments/coins.py",
        "depth if depth >= coin.min_confirmations else 0",
        "depth",
        "tests/channels/contracts/test_payments.py",
        "lnd and block_pays",
    ),
    Guard(
        "the books are read as of one moment, on PostgreSQL",
        "base/database/postgres.py",
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "BEGIN READ ONLY",
        "tests/channels/test_verify.py",
        "postgres and while_the_books",
    ),
    Guard(
        "the books are read as of one moment, on SQLite",
        "base/database/sqlite.py",
        '            connection.execute("BEGIN")\n            yield',
        "            yield",
        "tests/channels/test_verify.py",
        "sqlite and while_the_books",
    ),
    Guard(
        "a second lnd in a node's folder is told of",
        "channels/books/verify.py",
        "            if number > 1\n",
        "            if number > 2\n",
        "tests/nodes/runtimes/test_census.py",
    ),
    Guard(
        "a forwarded HTLC gets the same answer, whatever is true by then",
        "channels/direct/jit/interceptor.py",
        "asked_again = looked_at & set(stored)",
        "asked_again = looked_at & set[CircuitKey]()",
        "tests/channels/test_jit.py",
    ),
    Guard(
        "an HTLC that a restored database does not know of is not failed",
        "channels/direct/jit/interceptor.py",
        "was_forwarded = await self._was_forwarded(order, payment)",
        "was_forwarded = False",
        "tests/channels/test_jit.py",
        "restored",
    ),
    Guard(
        "an HTLC that may be forwarded yet is not counted as refused",
        "channels/direct/jit/watch.py",
        "if event is JitEvent.REFUSED and self._interceptor.holds_part(order, parts):",
        "if False:",
        "tests/channels/test_jit.py",
    ),
    Guard(
        "nothing else passes a channel that is not published",
        "channels/direct/jit/interceptor.py",
        "if self.unpublished and jit.may_be_lnds(scid):",
        "if False:",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "a channel with a node's balance is published, whatever the history says",
        "channels/direct/rules/jit.py",
        "or (channel is not None and channel.remote):",
        "or False:",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "nothing is given up while a payment may be on its way into it",
        "channels/direct/rules/jit.py",
        "or is_held or waited < GIVEN_UP_AFTER:",
        "or waited < GIVEN_UP_AFTER:",
        "tests/channels/rules/test_jit.py",
    ),
    Guard(
        "a channel that a stored transaction doesn't fund is not used",
        "channels/direct/rules/jit.py",
        "return txid_of(order.transaction) == ",
        "return True or txid_of(order.transaction) == ",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "a node's balance is not given up with an unknown transaction",
        "channels/direct/jit/interceptor.py",
        "if channel is None or channel.remote or not channel.settled:",
        "if False:",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "an order that can't be given up keeps no other from being published",
        "channels/direct/jit/watch.py",
        "failed = error  # what the nodes of others claimed is published",
        "raise",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "a channel that is not empty any more is not given up",
        "channels/direct/jit/watch.py",
        "if channel is not None and (channel.remote or not channel.settled):",
        "if False:",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "only the process that has the task gives up channels",
        "channels/direct/jit/interceptor.py",
        "await self._steps.check_held()\n        await self._own().give_up",
        "await self._own().give_up",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "a node that paid since it bought gets a published channel",
        "channels/direct/jit/interceptor.py",
        "trusts = order.trusts and await purses.is_stranger(",
        "trusts = order.trusts or await purses.is_stranger(",
        "tests/channels/test_unpublished.py",
    ),
    Guard(
        "only a zero-conf channel gets a just-in-time payment",
        "channels/direct/jit/interceptor.py",
        "if not channel.zero_conf or takes is None:",
        "if takes is None:",
        "tests/channels/test_jit.py",
    ),
    Guard(
        "what is forwarded is stored first",
        "channels/direct/jit/interceptor.py",
        "await self._steps.resume(order, taken)\n",
        "pass\n",
        "tests/channels/test_jit.py",
    ),
    Guard(
        "a wallet has in its channel what the history says",
        "channels/books/purse_rules.py",
        "if channel.remote != jit.whole_sats(sent - received):",
        "if False:",
        "tests/channels/test_purse_check.py",
    ),
)


def _link(source: str, target: str) -> None:
    """Have a file twice without reading it: a copy of all takes seconds."""
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)


def taken_away(guard: Guard, folder: Path) -> Path:
    """Copy the sources without this guard; give the folder to import them from."""
    shutil.copytree(ROOT / "src", folder / "src", copy_function=_link)
    file = folder / "src" / "leyden" / guard.file
    text = file.read_text()
    assert text.count(guard.with_it) == 1, f"{guard.what}: it stands elsewhere now"
    file.unlink()  # not written in place: it is the same file as ours
    file.write_text(text.replace(guard.with_it, guard.without_it))
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
            env={
                **os.environ,
                "PYTHONPATH": str(sources),
                "COLUMNS": "300",
                # What pytest makes of a test file's asserts is kept for the next guard.
                "PYTHONDONTWRITEBYTECODE": "",
            },
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
