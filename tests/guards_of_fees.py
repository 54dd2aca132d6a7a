"""Guards of what comes back to a buyer, and of what a customer sees of the ledger."""

from tests.guards import Guard

_TESTS = "tests/services/test_unused_fees.py"
_MOMENT = "tests/services/test_same_moment.py"
_TICKETS = "services/channels/tickets.py"
_FILLING = "services/channels/filling.py"
_ENDS = "market/ticket_ends.py"
_POOL = "tests/market/test_pool.py"

GUARDS = (
    Guard(
        "an order is filled once",
        _TICKETS,
        "if has_ticket and order.status in {Status.CREATED, Status.SUBMITTED}:",
        "if True:",
        _TESTS,
    ),
    Guard(
        "an order is filled only once its cost is known",
        _TICKETS,
        "if progress.state is TicketState.FILLED and progress.lease is None:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "what the auction left is given back",
        _FILLING,
        "    _refund_unused(work, order, unused)\n",
        "",
        _TESTS,
    ),
    Guard(
        "what is given back is not earned as well",
        _FILLING,
        "held - to_seller - unused),",
        "held - to_seller),",
        _TESTS,
    ),
    Guard(
        "an auction that took more left nothing",
        "domain/orders.py",
        "max(0, self.quote.auction_share - lease.cost)",
        "abs(self.quote.auction_share - lease.cost)",
        _TESTS,
    ),
    Guard(
        "the buyer's own balance is no unused fee",
        "domain/pricing.py",
        "Sats(self.pool_fee + self.channel.self_chan_balance)",
        "Sats(self.pool_fee + self.self_chan_balance_fee)",
        _TESTS,
    ),
    Guard(
        "an operator keeps what the quote says is kept",
        "domain/orders.py",
        "if self.quote.keeps_unused_fee:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "what a quote says of it is kept with the quote",
        "storage/quotes.py",
        "keeps_unused_fee=bool(keeps),",
        "keeps_unused_fee=False,",
        _TESTS,
    ),
    Guard(
        "what a quote says of it is kept with the order",
        "storage/order_rows.py",
        "keeps_unused_fee=bool(keeps_unused_fee),",
        "keeps_unused_fee=False,",
        _TESTS,
    ),
    Guard(
        "of a charged order the debt is lowered first",
        _FILLING,
        "            holds=unused,\n"
        "            held_htlc=0,  # it was settled before the ticket was stored\n"
        "            charged=order.charged,\n",
        "            holds=unused,\n            held_htlc=0,\n            charged=0,\n",
        _TESTS,
    ),
    Guard(
        "a bill that was paid is not lowered",
        "domain/ledger.py",
        "min(charged, holds - to_payer, owes)",
        "min(charged, holds - to_payer)",
        _TESTS,
    ),
    Guard(
        "orders filled before are not paid back for",
        "storage/migrations/versions/0016_unused_fees.py",
        "UPDATE channel_order SET keeps_unused_fee = 1 WHERE status = 'filled'",
        "UPDATE channel_order SET keeps_unused_fee = 0 WHERE status = 'filled'",
        "tests/storage/test_schema.py",
    ),
    Guard(
        "a customer sees no entry between the operator's accounts",
        "storage/sql/ledger.sql",
        "    AND NOT (source IN (:operators) AND target IN (:operators))\n",
        "    AND NOT (source IN (:operators) AND source = target)\n",
        "tests/api/flow/test_orders.py",
    ),
    Guard(
        "a customer does not see how the price of a channel is divided",
        "storage/sql/ledger.sql",
        "        what = 'earned'\n        AND EXISTS",
        "        what = 'nothing'\n        AND EXISTS",
        "tests/api/flow/test_orders.py",
    ),
    Guard(
        "a customer sees no name of an operator's account",
        "domain/customer_ledger.py",
        "OUTSIDE if place in ledger.OPERATORS else ",
        "",
        "tests/domain/test_customer_ledger.py",
    ),
    Guard(
        "what comes back is divided by the debts that there are, not that there were",
        "services/channels/unit_of_work.py",
        "        if lock_organizations:\n",
        "        if False:\n",
        _MOMENT,
        "postgres and a_filled_ticket",
    ),
    *(
        Guard(
            f"a debt of the same moment is repaid first by {who}",
            f"services/channels/{file}.py",
            with_it,
            without_it,
            _MOMENT,
            f"postgres and {who}",
        )
        for who, file, with_it, without_it in (
            *(
                (who, file, "lock_organizations=True", "lock_organizations=False")
                for who, file in (
                    ("an_abandoned_ticket", "missing_tickets"),
                    ("a_refusal_of_the_market", "refunds"),
                    ("the_end_of_its_time", "expiry"),
                    ("its_buyer", "orders"),
                    ("a_published_channel", "opening"),
                    ("a_lost_channel", "funding_watch"),
                )
            ),
            (
                "a_filled_ticket",
                "tickets",
                "frozenset({TicketState.FILLED, TicketState.CANCELLED})",
                "frozenset({TicketState.CANCELLED})",
            ),
            (
                "a_cancelled_ticket",
                "tickets",
                "frozenset({TicketState.FILLED, TicketState.CANCELLED})",
                "frozenset({TicketState.FILLED})",
            ),
            (
                "a_payment_that_timed_out",
                "checkout",
                "lock_organizations = any(_may_credit(each) for _, each in unbooked)",
                "lock_organizations = False",
            ),
            (
                "a_payment_settled_late",
                "checkout",
                "if not lock_organizations and any(",
                "if False and any(",
            ),
            (
                "a_late_payment",
                "checkout",
                "return isinstance(update, Output) or update.state is ",
                "return isinstance(update, Invoice) and update.state is ",
            ),
            (
                "too_much_over_lightning",
                "checkout",
                "if any(work.surplus(work.order(order_id)) > 0 for order_id in ids):",
                "if False:",
            ),
        )
    ),
    Guard(
        "balances are changed in one order whether they rise or fall",
        "storage/ledger.py",
        "in sorted(changes.items()):",
        "in changes.items():",
        "tests/storage/test_ledger.py",
        "postgres and one_order",
    ),
    Guard(
        "a correction that somebody came before is looked at again",
        "services/channels/corrections.py",
        "    await retry_while_stale(step)\n",
        "    await step()\n",
        "tests/services/test_credit.py",
        "postgres and same_moment",
    ),
    Guard(
        "a correction takes no credit that is not there",
        "services/channels/corrections.py",
        "work.balance(credit) < correction.sats",
        "work.balance(credit) < 0",
        "tests/services/test_credit.py",
    ),
    Guard(
        "a height that is not known holds no order back",
        _ENDS,
        "except (MarketAway, MarketRefused) as error:",
        "except MarketRefused as error:",
        _POOL,
    ),
    Guard(
        "a height is not waited for as long as the auction",
        _ENDS,
        "self._account.height(brief=True)",
        "self._account.height()",
        _POOL,
    ),
    Guard(
        "a lease is read though its account was closed",
        "market/account.py",
        "ListAccountsRequest(active_only=False)",
        "ListAccountsRequest(active_only=True)",
        _POOL,
    ),
    Guard(
        "a lease costs what the account paid that bought it",
        _ENDS,
        "taproot.get(each.offer_sign_pubkey.hex(), True)",
        "True",
        _POOL,
    ),
    Guard(
        "verify sees a refund that never became credit",
        "services/operators/order_rules.py",
        "            refund != order.credit_refund\n",
        "            False\n",
        "tests/services/test_verify.py",
        "forged",
    ),
    Guard(
        "verify sees an order's money at another organization",
        "services/operators/order_rules.py",
        'owner not in {"", order.id, order.organization_id}',
        "False",
        "tests/services/test_verify.py",
        "forged",
    ),
    Guard(
        "verify sees what came back",
        "services/operators/order_rules.py",
        "        if back != due:\n",
        "        if False:\n",
        _TESTS,
    ),
)
