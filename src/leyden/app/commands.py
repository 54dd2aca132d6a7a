"""The table of all commands: the module of each, and the sentence that lists it.

So that a list of commands, and what a shell completes, imports none of them. A test
holds the sentences to those with which the commands' own help begins.
"""

from collections.abc import Mapping
from typing import Final

from leyden.base.cli.groups import LazyCommand

_PLATFORM = {
    "up": LazyCommand(
        "",
        "Start the whole platform on this machine, with a private chain.",
        "up",
    ),
    "down": LazyCommand(
        "leyden.app.cli.local_platform",
        "Stop the platform; nodes keep running unless you pass --nodes.",
        "down",
    ),
    "status": LazyCommand(
        "leyden.app.cli.local_platform",
        "Print what is running; exit 1 if the platform is not up.",
        "status",
    ),
    "logs": LazyCommand(
        "leyden.app.cli.local_platform",
        "Print the last lines of the platform's log, or of the daemons NAMES.",
        "logs",
    ),
    "serve": LazyCommand("leyden.app.cli.serve", "Run the API server."),
    "worker": LazyCommand(
        "leyden.app.cli.serve", "Run background jobs: nodes, payments, webhooks."
    ),
    "gateway": LazyCommand(
        "leyden.app.cli.serve", "Run the gateway to nodes on a separate machine."
    ),
    "migrate": LazyCommand(
        "leyden.app.cli.migration",
        "Create or upgrade the database schema and the keys.",
    ),
    "home": LazyCommand(
        "leyden.nodes.cli.home",
        "Print which home owns the local nodes, or move them to this one.",
    ),
    "authority": LazyCommand(
        "leyden.nodes.cli.authority",
        "Show or replace the certificate authority of the nodes.",
    ),
    "config": LazyCommand(
        "leyden.app.cli.setup",
        "Print every setting with its value, default and meaning.",
    ),
    "doctor": LazyCommand(
        "leyden.app.cli.setup",
        "Check what this machine lacks, and print commands that fix it.",
    ),
    "daemons": LazyCommand(
        "leyden.app.cli.daemons",
        "Build the programs that nodes and private chains run.",
    ),
    "backup": LazyCommand(
        "leyden.backups.cli.backup",
        "Back up the installation, verify backups, and restore one.",
    ),
    "secrets": LazyCommand(
        "leyden.app.cli.migration", "Manage the keys that encrypt stored data."
    ),
}
_OPERATOR = {
    "overview": LazyCommand(
        "leyden.operators.cli.oversight",
        "Print the installation's status and problems; exit 1 if it has any.",
    ),
    "fleet": LazyCommand(
        "leyden.operators.cli.fleet",
        "Print nodes by status and lnd version, and list nodes that need attention.",
    ),
    "orders": LazyCommand(
        "leyden.operators.cli.oversight",
        "List orders that need attention: lost, stuck half-way, or failed.",
    ),
    "seller": LazyCommand(
        "leyden.channels.direct.cli.seller",
        "Print the seller's wallet, and the channels waiting for a confirmation.",
    ),
    "lsps1": LazyCommand(
        "leyden.channels.direct.cli.lsps1",
        "Print the LSPS1 offer, unpaid LSPS1 orders, and problems.",
    ),
    "jit": LazyCommand(
        "leyden.channels.direct.cli.jit",
        "Print the just-in-time offer, what was held and earned, and problems.",
    ),
    "treasury": LazyCommand(
        "leyden.operators.cli.treasury",
        "Print the treasury and auction balances, and outstanding tickets.",
    ),
    "org": LazyCommand(
        "leyden.people.cli.organizations",
        "Create and list organizations, and set their quotas.",
    ),
    "team": LazyCommand(
        "leyden.people.cli.team",
        "Manage an organization's members: invite, set roles, remove.",
    ),
    "user": LazyCommand(
        "leyden.people.cli.people",
        "Create, list, reset and sign out dashboard users.",
    ),
    "mail": LazyCommand("leyden.events.cli.mail", "Test the mail server."),
    "key": LazyCommand("leyden.people.cli.keys", "Create, list and revoke API keys."),
    "coupon": LazyCommand(
        "leyden.channels.money.cli.coupons",
        "Create and list coupons, each redeemable once for credit.",
    ),
    "account": LazyCommand(
        "leyden.operators.cli.money",
        "Manage corporate accounts, and adjust organizations' balances.",
    ),
    "verify": LazyCommand(
        "leyden.operators.cli.money",
        "Verify the ledger, also against the treasury's lnd.",
    ),
    "pool": LazyCommand(
        "leyden.channels.tickets.cli.pool",
        "Manage the Pool account that pays for channels.",
    ),
    "alarms": LazyCommand(
        "leyden.operators.cli.alarms",
        "List alarms, and send them to webhook endpoints.",
    ),
    "audit": LazyCommand(
        "leyden.operators.cli.audit",
        "Print the audit log of who changed what, newest first.",
    ),
}
_CUSTOMER = {
    "nodes": LazyCommand(
        "leyden.customer.nodes",
        "Create, view and control Lightning nodes.",
    ),
    "wallet": LazyCommand(
        "leyden.customer.wallet",
        "Create and unlock a node's wallet, bake macaroons, manage backups.",
    ),
    "flow": LazyCommand(
        "leyden.customer.orders",
        "Buy inbound channels, and manage orders and credit.",
    ),
    "claim": LazyCommand(
        "leyden.customer.claim",
        "Use a paid order's ticket to open a channel to your hosted node.",
    ),
    "events": LazyCommand(
        "leyden.customer.events",
        "Follow your organization's events, or forward them to a webhook endpoint.",
    ),
    "subscriptions": LazyCommand(
        "leyden.customer.subscriptions",
        "Send your organization's events to webhook endpoints.",
    ),
    "quotas": LazyCommand(
        "leyden.customer.quotas",
        "Print your organization's quotas and their usage.",
    ),
    "profile": LazyCommand(
        "leyden.customer.profiles",
        "Manage profiles: platforms' URLs and your API keys.",
    ),
    "completion": LazyCommand(
        "leyden.customer.completion",
        "Print a completion script for your shell.",
    ),
    "unlocker": LazyCommand(
        "leyden.customer.unlocker",
        "Run a webhook endpoint that unlocks your nodes automatically.",
    ),
    "trust": LazyCommand(
        "leyden.customer.trusting",
        "Make this machine's browsers and programs trust a platform's certificates.",
    ),
    "untrust": LazyCommand(
        "leyden.customer.trusting", "Remove only what `leyden trust` added."
    ),
}
_PRIVATE_CHAIN = {
    "dev": LazyCommand("", "Control the private chain that `leyden up` starts.", "dev")
}
_DEVELOPMENT = {
    "check": LazyCommand(
        "", "Run the linters, the type checker and the import rules.", "check"
    ),
    "test": LazyCommand("", "Run the tests; ARGUMENTS go to pytest.", "test"),
    "bench": LazyCommand(
        "", "Run a benchmark from bench/, or list all benchmarks.", "bench"
    ),
    "release": LazyCommand(
        "", "Build the packages of a release, from a tagged commit.", "release"
    ),
}

HEADINGS: Final[Mapping[str, Mapping[str, LazyCommand]]] = {
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
