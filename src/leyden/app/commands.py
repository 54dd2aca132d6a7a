"""The table of all commands: the module of each, and the sentence that lists it.

So that a list of commands, and what a shell completes, imports none of them. A test
holds the sentences to those with which the commands' own help begins.
"""

from collections.abc import Mapping
from typing import Final

from leyden.cli.groups import Listed

_PLATFORM = {
    "up": Listed(
        "",
        "Start the whole platform on this machine, with a private chain.",
        "up",
    ),
    "down": Listed(
        "leyden.cli.local_platform",
        "Stop the platform; nodes keep running unless you pass --nodes.",
        "down",
    ),
    "status": Listed(
        "leyden.cli.local_platform",
        "Print what is running; exit 1 if the platform is not up.",
        "status",
    ),
    "logs": Listed(
        "leyden.cli.local_platform",
        "Print the last lines of the platform's log, or of the daemons NAMES.",
        "logs",
    ),
    "serve": Listed("leyden.cli.serve", "Run the API server."),
    "worker": Listed(
        "leyden.cli.serve", "Run background jobs: nodes, payments, webhooks."
    ),
    "gateway": Listed(
        "leyden.cli.serve", "Run the gateway to nodes on a separate machine."
    ),
    "migrate": Listed(
        "leyden.cli.migration", "Create or upgrade the database schema and the keys."
    ),
    "home": Listed(
        "leyden.cli.operator.home",
        "Print which home owns the local nodes, or move them to this one.",
    ),
    "authority": Listed(
        "leyden.cli.operator.authority",
        "Show or replace the certificate authority of the nodes.",
    ),
    "config": Listed(
        "leyden.cli.setup", "Print every setting with its value, default and meaning."
    ),
    "doctor": Listed(
        "leyden.cli.setup",
        "Check what this machine lacks, and print commands that fix it.",
    ),
    "daemons": Listed(
        "leyden.cli.daemons", "Build the programs that nodes and private chains run."
    ),
    "backup": Listed(
        "leyden.cli.operator.backup",
        "Back up the installation, verify backups, and restore one.",
    ),
    "secrets": Listed(
        "leyden.cli.migration", "Manage the keys that encrypt stored data."
    ),
}
_OPERATOR = {
    "overview": Listed(
        "leyden.cli.operator.oversight",
        "Print the installation's status and problems; exit 1 if it has any.",
    ),
    "fleet": Listed(
        "leyden.cli.operator.fleet",
        "Print nodes by status and lnd version, and list nodes that need attention.",
    ),
    "orders": Listed(
        "leyden.cli.operator.oversight",
        "List orders that need attention: lost, stuck half-way, or failed.",
    ),
    "seller": Listed(
        "leyden.cli.operator.seller",
        "Print the seller's wallet, and the channels waiting for a confirmation.",
    ),
    "lsps1": Listed(
        "leyden.cli.operator.lsps1",
        "Print the LSPS1 offer, unpaid LSPS1 orders, and problems.",
    ),
    "treasury": Listed(
        "leyden.cli.operator.treasury",
        "Print the treasury and auction balances, and outstanding tickets.",
    ),
    "org": Listed(
        "leyden.cli.operator.organizations",
        "Create and list organizations, and set their quotas.",
    ),
    "team": Listed(
        "leyden.cli.operator.team",
        "Manage an organization's members: invite, set roles, remove.",
    ),
    "user": Listed(
        "leyden.cli.operator.people",
        "Create, list, reset and sign out dashboard users.",
    ),
    "mail": Listed("leyden.cli.operator.mail", "Test the mail server."),
    "key": Listed("leyden.cli.operator.keys", "Create, list and revoke API keys."),
    "coupon": Listed(
        "leyden.cli.operator.coupons",
        "Create and list coupons, each redeemable once for credit.",
    ),
    "account": Listed(
        "leyden.cli.operator.money",
        "Manage corporate accounts, and adjust organizations' balances.",
    ),
    "verify": Listed(
        "leyden.cli.operator.money",
        "Verify the ledger, also against the treasury's lnd.",
    ),
    "pool": Listed(
        "leyden.cli.operator.pool", "Manage the Pool account that pays for channels."
    ),
    "alarms": Listed(
        "leyden.cli.operator.alarms",
        "List alarms, and send them to webhook endpoints.",
    ),
    "audit": Listed(
        "leyden.cli.operator.audit",
        "Print the audit log of who changed what, newest first.",
    ),
}
_CUSTOMER = {
    "nodes": Listed(
        "leyden.cli.customer.nodes",
        "Create, view and control Lightning nodes.",
    ),
    "wallet": Listed(
        "leyden.cli.wallet",
        "Create and unlock a node's wallet, bake macaroons, manage backups.",
    ),
    "flow": Listed(
        "leyden.cli.customer.flow",
        "Buy inbound channels, and manage orders and credit.",
    ),
    "claim": Listed(
        "leyden.cli.claim",
        "Use a paid order's ticket to open a channel to your hosted node.",
    ),
    "events": Listed(
        "leyden.cli.customer.events",
        "Follow your organization's events, or forward them to a webhook endpoint.",
    ),
    "subscriptions": Listed(
        "leyden.cli.customer.subscriptions",
        "Send your organization's events to webhook endpoints.",
    ),
    "quotas": Listed(
        "leyden.cli.customer.quotas",
        "Print your organization's quotas and their usage.",
    ),
    "profile": Listed(
        "leyden.cli.customer.profiles",
        "Manage profiles: platforms' URLs and your API keys.",
    ),
    "completion": Listed(
        "leyden.cli.customer.completion",
        "Print a completion script for your shell.",
    ),
    "unlocker": Listed(
        "leyden.cli.unlocker",
        "Run a webhook endpoint that unlocks your nodes automatically.",
    ),
    "trust": Listed(
        "leyden.cli.trust",
        "Make this machine's browsers and programs trust a platform's certificates.",
    ),
    "untrust": Listed("leyden.cli.trust", "Remove only what `leyden trust` added."),
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
