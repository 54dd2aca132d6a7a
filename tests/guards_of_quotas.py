"""The guards of what one organization may take from all; see mutations.py."""

from tests.guards import Guard

_QUOTAS = "tests/services/test_quotas.py"
_RIGHTS = "tests/web/test_rights.py"
_SIGN_IN = "tests/web/test_sign_in.py"
_EVERY = "tests/api/test_every_endpoint.py"

GUARDS = (
    Guard(
        "nodes have a quota",
        "services/nodes/creation.py",
        "        await quotas.check_nodes(tx, rules.quotas, organization_id)\n",
        "",
        _QUOTAS,
        "sqlite and at_once_get_as_many_as",
    ),
    Guard(
        "of many at once none sees the others' nodes too late (FOR UPDATE)",
        "storage/sql/accounts.sql",
        "WHERE id = :id\n/* FOR UPDATE */;",
        "WHERE id = :id;",
        _QUOTAS,
        "postgres and at_once",
    ),
    Guard(
        "deleted nodes whose data is kept have a limit",
        "services/shared/quotas.py",
        "    if found.kept > most * KEPT_NODES:",
        "    if False:",
        _QUOTAS,
        "sqlite and fills_no_disk",
    ),
    Guard(
        "an unpaid order has a place before it has an invoice",
        "services/shared/quotas.py",
        "        quotas.check(Quota.UNPAID_ORDERS, used=used, limit=most)\n"
        "        given_up",
        "        given_up",
        _QUOTAS,
        "sqlite and as_many_invoices",
    ),
    Guard(
        "places count as unpaid orders",
        "storage/quotas.py",
        "sql.places, organization_id=organization_id, but=but, now=to_us(now)\n"
        "        )",
        "sql.places, organization_id=organization_id, but=but, now=1 << 62\n        )",
        _QUOTAS,
        "sqlite and as_many_invoices",
    ),
    Guard(
        "an order that lost its place is counted again",
        "services/channels/orders.py",
        "if order.to_be_paid and not has_place:",
        "if False:",
        _QUOTAS,
        "sqlite and loses_the_place",
    ),
    Guard(
        "an order that could not be made leaves its place",
        "services/channels/orders.py",
        "        await quotas.leave_place(shop.database, order_id)\n        raise",
        "        raise",
        _QUOTAS,
        "sqlite and leaves_its_place",
    ),
    Guard(
        "orders that are cancelled unpaid have a limit",
        "services/shared/quotas.py",
        "given_up.orders >= most * CANCELLED_ORDERS:",
        "given_up.orders < 0:",
        _QUOTAS,
        "sqlite and has_to_wait",
    ),
    Guard(
        "stored macaroons have a quota",
        "services/nodes/backups.py",
        "            used=await tx.quotas.macaroons(node_id) - 1,",
        "            used=0,",
        _QUOTAS,
        "sqlite and macaroons",
    ),
    Guard(
        "the history of replaced backups is refused, not forgotten",
        "services/nodes/resealing.py",
        "        await quotas.check_replaced(tx, fleet.rules.quotas, "
        "organization_id)\n",
        "",
        _QUOTAS,
        "sqlite and not_forgotten",
    ),
    Guard(
        "saved answers have a quota",
        "api/idempotency.py",
        "        await quotas.check_answers(tx, limits, mine[0], now=now)",
        "        pass",
        _QUOTAS,
        "sqlite and answers",
    ),
    Guard(
        "a person has so many sessions",
        "services/people/sign_in.py",
        "    await tx.sessions.limit_sessions(person.id, whole=whole)\n",
        "",
        _QUOTAS,
        "sqlite and sessions",
    ),
    Guard(
        "sign-ins that wait for a code end no session",
        "storage/sql/sessions.sql",
        "    AND whole = :whole\n    AND id",
        "    AND id",
        _QUOTAS,
        "sqlite and sessions",
    ),
    Guard(
        "refused keys are counted",
        "api/callers.py",
        'self._failures.take(address, hint(key or ""), at_s=time.monotonic())',
        "pass",
        _EVERY,
        "sqlite and guesses",
    ),
    Guard(
        "guesses that begin otherwise each time are counted together",
        "services/shared/limits.py",
        "        self._of_all.take(address, at_s=at_s)",
        "        pass",
        _EVERY,
        "sqlite and begin_otherwise",
    ),
    Guard(
        "who guesses in a known browser is counted",
        "services/people/attempts.py",
        '    counted = {f"{email} {here}": most,',
        '    counted = {f"{email} {here}": 10**9,',
        _SIGN_IN,
        "guesses_in_a_known or guesses_a_few",
    ),
    Guard(
        "a browser is known as one person's",
        "services/people/sign_in.py",
        '    return f"in browser {random}" if right else ""',
        '    return f"in browser {random}" if known else ""',
        _SIGN_IN,
        "one_persons",
    ),
    Guard(
        "an operator is looked up again under the lock",
        "services/shared/rights.py",
        "        if not await tx.people.is_operator(user_id):",
        "        if False:",
        _RIGHTS,
        "sqlite and operator",
    ),
    Guard(
        "a session is looked up again under the person's lock",
        "services/people/profile.py",
        "        raise Unauthorized(ENDED)",
        "        return",
        _RIGHTS,
        "sqlite and signed_out",
    ),
)
