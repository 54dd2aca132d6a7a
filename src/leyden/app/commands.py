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
    "data-dir": LazyCommand(
        "leyden.nodes.cli.home",
        "Print which home owns the local nodes, or move them to this one.",
        attribute="home",
    ),
    "ca": LazyCommand(
        "leyden.nodes.cli.authority",
        "Show or replace the certificate authority of the nodes.",
        attribute="authority",
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
    "encryption-keys": LazyCommand(
        "leyden.app.cli.migration",
        "Manage the keys that encrypt stored data.",
        attribute="secrets",
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
        "List the orders of all organizations, and end lost ones.",
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
    "purchases": LazyCommand(
        "leyden.channels.direct.cli.purchases",
        "Print what was bought from other LSPs, its cost, the budget, and problems.",
    ),
    "treasury": LazyCommand(
        "leyden.operators.cli.treasury",
        "Print the treasury and auction balances, and outstanding tickets.",
    ),
    "market": LazyCommand(
        "leyden.operators.cli.treasury",
        "Print where sold channels come from, and what pays for them.",
    ),
    "orgs": LazyCommand(
        "leyden.operators.cli.money",  # what has their money, too
        "Create and list organizations, and set their quotas and credit.",
        attribute="org",
    ),
    "team": LazyCommand(
        "leyden.people.cli.team",
        "Manage an organization's members: invite, set roles, remove.",
    ),
    "users": LazyCommand(
        "leyden.people.cli.people",
        "Create, list, reset and sign out dashboard users.",
        attribute="user",
    ),
    "operators": LazyCommand(
        "leyden.people.cli.people",
        "List, add and remove users who operate this installation.",
    ),
    "mail": LazyCommand("leyden.events.cli.mail", "Test the mail server."),
    "api-keys": LazyCommand(
        "leyden.people.cli.keys", "Create, list and revoke API keys.", attribute="key"
    ),
    "operator-keys": LazyCommand(
        "leyden.people.cli.operator_keys",
        "Create, list and revoke keys of the operator API.",
        attribute="operator_keys",
    ),
    "coupons": LazyCommand(
        "leyden.channels.money.cli.coupons",
        "Create and list coupons, each redeemable once for credit.",
        attribute="coupon",
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
        "Use a node's wallet: unlock, receive, send, channels, macaroons, backups.",
    ),
    "channels": LazyCommand(
        "leyden.customer.orders", "Buy inbound channels, and manage their orders."
    ),
    "credit": LazyCommand(
        "leyden.customer.credit",
        "Show your credit and its transactions, and redeem coupons.",
    ),
    "events": LazyCommand(
        "leyden.customer.events",
        "Follow your organization's events, or forward them to a webhook endpoint.",
    ),
    "webhooks": LazyCommand(
        "leyden.customer.subscriptions",
        "Send your organization's events to webhook endpoints.",
    ),
    "mcp": LazyCommand(
        "leyden.customer.agents",
        "Serve tools for agents over standard input and output, as MCP.",
    ),
    "quotas": LazyCommand(
        "leyden.customer.quotas",
        "Print your organization's quotas and their usage.",
    ),
    "login": LazyCommand(
        "leyden.customer.profiles",
        "Store a platform's URL and your API key, and use them from now on.",
    ),
    "open": LazyCommand(
        "leyden.customer.dashboard",
        "Open the platform's dashboard in your browser, and print its address.",
        attribute="open_",
    ),
    "profile": LazyCommand(
        "leyden.customer.profiles",
        "Manage profiles: platforms' URLs and your API keys.",
    ),
    "completion": LazyCommand(
        "leyden.customer.completion",
        "Print a completion script for your shell.",
    ),
    "help": LazyCommand("leyden.customer.help", "Print the help of a command."),
    "version": LazyCommand(
        "leyden.customer.help", "Print the version of this command."
    ),
    "unlocker": LazyCommand(
        "leyden.customer.unlocker",
        "Unlock your nodes automatically, from your own machine.",
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
    "dev": LazyCommand(
        "",
        "Control the private chain that `leyden up` starts.",
        "dev",
        needs="leyden_workshop",
    )
}
_CLONE = "/tests/conftest.py"  # no package has it
_DEVELOPMENT = {
    "check": LazyCommand(
        "",
        "Run the linters, the type checker and the import rules.",
        "check",
        needs=_CLONE,
    ),
    "test": LazyCommand(
        "", "Run the tests; ARGUMENTS go to pytest.", "test", needs=_CLONE
    ),
    "bench": LazyCommand(
        "",
        "Run a benchmark from bench/, or list all benchmarks.",
        "bench",
        needs=_CLONE,
    ),
    "release": LazyCommand(
        "",
        "Build the packages of a release, from a tagged commit.",
        "release",
        needs=_CLONE,
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
