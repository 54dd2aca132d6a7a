"""Guards of what somebody does who may not do it any more."""

from tests.guards import Guard

_PAGES = "tests/web/test_rights_of_every_page.py"
_RIGHTS = "tests/web/test_rights.py"
_LOCK = "await tx.accounts.lock(organization_id)"


def _on(page: str) -> str:
    return f"{page} and not postgres"


GUARDS = (
    Guard(
        "a role is looked up again under the lock",
        "services/shared/rights.py",
        "if role is None or right not in RIGHTS[role]:",
        "if role is None:",
        _RIGHTS,
        "sqlite and demoted",
    ),
    Guard(
        "who is removed meanwhile has no role",
        "services/shared/rights.py",
        "    if role is None or right not in RIGHTS[role]:",
        "    if role is not None and right not in RIGHTS[role]:",
        _RIGHTS,
        "sqlite and removed",
    ),
    Guard(
        "a person who acts is looked up",
        "services/shared/rights.py",
        "    if actor.startswith(_PERSON):\n        await check(",
        "    if False:\n        await check(",
        _PAGES,
        _on("whitelist"),
    ),
    Guard(
        "a person is looked up before what is no transaction",
        "services/shared/rights.py",
        "    if actor.startswith(_PERSON):\n        async with database",
        "    if False:\n        async with database",
        f"{_PAGES} tests/services/test_meanwhile.py",
        "redeliver or takes_no_ticket",
    ),
    Guard(
        "who lost a right is recognised anew",
        "web/site.py",
        "or their session.\n                await recognise(visit)\n",
        "or their session.\n",
        _PAGES,
        _on("whitelist"),
    ),
    Guard(
        "who changes a node may run nodes",
        "services/nodes/commands.py",
        "    await rights.confirm(tx, actor, organization_id, Right.NODES)\n",
        "",
        _PAGES,
        _on("restart"),
    ),
    Guard(
        "who tests a webhook may run nodes",
        "services/nodes/webhooks.py",
        "confirm(tx, actor, organization_id, Right.NODES)\n        await tx.webhooks",
        "check_operator(tx, '')\n        await tx.webhooks",
        _PAGES,
        _on("test"),
    ),
    Guard(
        "who makes a new webhook secret may run nodes",
        "services/nodes/webhooks.py",
        "confirm(tx, actor, organization_id, Right.NODES)\n        # Locked",
        "check_operator(tx, '')\n        # Locked",
        _PAGES,
        _on("rotate"),
    ),
    Guard(
        "who keeps a seed may run nodes",
        "services/nodes/backups.py",
        "        await rights.confirm(tx, actor, organization_id, Right.NODES)\n",
        "",
        _PAGES,
        _on("seed"),
    ),
    Guard(
        "who keeps a macaroon may run nodes",
        "services/nodes/backups.py",
        "await rights.check(tx, actor, organization_id, Right.NODES)",
        _LOCK,
        _PAGES,
        _on("backups"),
    ),
    Guard(
        "who replaces backups may run nodes",
        "services/nodes/resealing.py",
        "await rights.check(tx, actor, organization_id, Right.NODES)",
        _LOCK,
        _PAGES,
        _on("reseal"),
    ),
    Guard(
        "who claims a coupon may spend",
        "services/channels/credit.py",
        "await rights.check(tx, actor, organization_id, Right.MONEY)",
        _LOCK,
        _PAGES,
        _on("credit"),
    ),
    Guard(
        "who orders may spend",
        "services/channels/orders.py",
        "await rights.check(tx, actor, organization_id, Right.MONEY)",
        _LOCK,
        _PAGES,
        _on("channels"),
    ),
    Guard(
        "who cancels may spend",
        "services/channels/orders.py",
        "            await rights.confirm(tx, actor, organization_id, Right.MONEY)\n",
        "            pass\n",
        _PAGES,
        _on("cancel"),
    ),
)
