"""The table of all commands: the module of each, and the sentence that lists it.

So that a list of commands, and what a shell completes, imports none of them. A test
holds the sentences to those with which the commands' own help begins.
"""

from collections.abc import Mapping
from typing import Final

from leyden.base.cli.groups import Listed

_PLATFORM = {
    "up": Listed(
        "",
        "Start the whole platform on this machine, with a private chain.",
        "up",
    ),
    "down": Listed(
        "leyden.app.cli.local_platform",
        "Stop the platform; nodes keep running unless you pass --nodes.",
        "down",
    ),
    "status": Listed(
        "leyden.app.cli.local_platform",
        "Print what is running; exit 1 if the platform is not up.",
        "status",
    ),
    "logs": Listed(
        "leyden.app.cli.local_platform",
        "Print the last lines of the platform's log, or of the daemons NAMES.",
        "logs",
    ),
    "serve": Listed("leyden.app.cli.serve", "Run the API server."),
    "worker": Listed(
        "leyden.app.cli.serve", "Run background jobs: nodes, payments, webhooks."
    ),
    "gateway": Listed(
        "leyden.app.cli.serve", "Run the gateway to nodes on a separate machine."
    ),
    "migrate": Listed(
        "leyden.app.cli.migration",
        "Create or upgrade the database schema and the keys.",
    ),
    "home": Listed(
        "leyden.nodes.cli.home",
        "Print which home owns the local nodes, or move them to this one.",
    ),
    "authority": Listed(
        "leyden.nodes.cli.authority",
        "Show or replace the certificate authority of the nodes.",
    ),
    "config": Listed(
        "leyden.app.cli.setup",
        "Print every setting with its value, default and meaning.",
    ),
    "doctor": Listed(
        "leyden.app.cli.setup",
        "Check what this machine lacks, and print commands that fix it.",
    ),
    "daemons": Listed(
        "leyden.app.cli.daemons",
        "Build the programs that nodes and private chains run.",
    ),
    "backup": Listed(
        "leyden.backups.cli.backup",
        "Back up the installation, verify backups, and restore one.",
    ),
    "secrets": Listed(
        "leyden.app.cli.migration", "Manage the keys that encrypt stored data."
    ),
}
_OPERATOR = {
    "overview": Listed(
        "leyden.operators.cli.oversight",
        "Print the installation's status and problems; exit 1 if it has any.",
    ),
    "fleet": Listed(
        "leyden.operators.cli.fleet",
        "Print nodes by status and lnd version, and list nodes that need attention.",
    ),
    "orders": Listed(
        "leyden.operators.cli.oversight",
        "List orders that need attention: lost, stuck half-way, or failed.",
    ),
    "seller": Listed(
        "leyden.channels.direct.cli.seller",
        "Print the seller's wallet, and the channels waiting for a confirmation.",
    ),
    "lsps1": Listed(
        "leyden.channels.direct.cli.lsps1",
        "Print the LSPS1 offer, unpaid LSPS1 orders, and problems.",
    ),
    "treasury": Listed(
        "leyden.operators.cli.treasury",
        "Print the treasury and auction balances, and outstanding tickets.",
    ),
    "org": Listed(
        "leyden.people.cli.organizations",
        "Create and list organizations, and set their quotas.",
    ),
    "team": Listed(
        "leyden.people.cli.team",
        "Manage an organization's members: invite, set roles, remove.",
    ),
    "user": Listed(
        "leyden.people.cli.people",
        "Create, list, reset and sign out dashboard users.",
    ),
    "mail": Listed("leyden.events.cli.mail", "Test the mail server."),
    "key": Listed("leyden.people.cli.keys", "Create, list and revoke API keys."),
    "coupon": Listed(
        "leyden.channels.money.cli.coupons",
        "Create and list coupons, each redeemable once for credit.",
    ),
    "account": Listed(
        "leyden.operators.cli.money",
        "Manage corporate accounts, and adjust organizations' balances.",
    ),
    "verify": Listed(
        "leyden.operators.cli.money",
        "Verify the ledger, also against the treasury's lnd.",
    ),
    "pool": Listed(
        "leyden.channels.tickets.cli.pool",
        "Manage the Pool account that pays for channels.",
    ),
    "alarms": Listed(
        "leyden.operators.cli.alarms",
        "List alarms, and send them to webhook endpoints.",
    ),
    "audit": Listed(
        "leyden.operators.cli.audit",
        "Print the audit log of who changed what, newest first.",
    ),
}
_CUSTOMER = {
    "nodes": Listed(
        "leyden.customer.nodes",
        "Create, view and control Lightning nodes.",
    ),
    "wallet": Listed(
        "leyden.customer.wallet",
        "Create and unlock a node's wallet, bake macaroons, manage backups.",
    ),
    "flow": Listed(
        "leyden.customer.flow",
        "Buy inbound channels, and manage orders and credit.",
    ),
    "claim": Listed(
        "leyden.customer.claim",
        "Use a paid order's ticket to open a channel to your hosted node.",
    ),
    "events": Listed(
        "leyden.customer.events",
        "Follow your organization's events, or forward them to a webhook endpoint.",
    ),
    "subscriptions": Listed(
        "leyden.customer.subscriptions",
        "Send your organization's events to webhook endpoints.",
    ),
    "quotas": Listed(
        "leyden.customer.quotas",
        "Print your organization's quotas and their usage.",
    ),
    "profile": Listed(
        "leyden.customer.profiles",
        "Manage profiles: platforms' URLs and your API keys.",
    ),
    "completion": Listed(
        "leyden.customer.completion",
        "Print a completion script for your shell.",
    ),
    "unlocker": Listed(
        "leyden.customer.unlocker",
        "Run a webhook endpoint that unlocks your nodes automatically.",
    ),
    "trust": Listed(
        "leyden.customer.trusting",
        "Make this machine's browsers and programs trust a platform's certificates.",
    ),
    "untrust": Listed(
        "leyden.customer.trusting", "Remove only what `leyden trust` added."
    ),
}
_PRIVATE_CHAIN = {
    "dev": Listed("", "Control the private chain that `leyden up` starts.", "dev")
}
_DEVELOPMENT = {
    "check": Listed(
        "", "Run the linters, the type checker and the import rules.", "check"
    ),
    "test": Listed("", "Run the tests; ARGUMENTS go to pytest.", "test"),
    "bench": Listed(
        "", "Run a benchmark from bench/, or list all benchmarks.", "bench"
    ),
}

HEADINGS: Final[Mapping[str, Mapping[str, Listed]]] = {
    "Platform commands": _PLATFORM,
    "Operator commands": _OPERATOR,
    "Customer commands": _CUSTOMER,
    "Private chain commands": _PRIVATE_CHAIN,
    "Development commands": _DEVELOPMENT,
}
COMMANDS: Final = {
    name: listed for below in HEADINGS.values() for name, listed in below.items()
}
# The name that a command had, and the one that it has; the former still works.
RENAMED: Final = {"till": "treasury", "node": "wallet"}
