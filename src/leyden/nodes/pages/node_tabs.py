"""The tabs of a node's pages: those that can be used, and the one that is open."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from leyden.nodes.rules.nodes import Node, NodeStatus

_TABS: Final = MappingProxyType(
    {
        "": "Overview",
        "/wallet": "Wallet",
        "/settings": "Settings",
        "/whitelist": "Allowed IPs",
        "/webhook": "Webhook",
        "/backups": "Backups",
        "/machine": "Machine",
        "/log": "Log",
    }
)
_FOR_CHANGES: Final = frozenset({"/wallet", "/webhook"})
# The wallet's pages, each a template and a module of scripts of its name.
WALLET: Final[Mapping[str, str]] = MappingProxyType(
    {
        "initialise": "Create",
        "restore": "Restore",
        "unlock": "Unlock",
        "password": "Change password",
        "receive": "Receive",
        "send": "Send",
        "payments": "Payments",
        "channels": "Channels",
        "bakery": "Connect an app",
        "vault": "Vault",
    }
)
# Pages that call the node's wallet in another state than when it is open.
_IN: Final = MappingProxyType(
    {
        "initialise": NodeStatus.WAITING_INIT,
        "restore": NodeStatus.WAITING_INIT,
        "unlock": NodeStatus.WAITING_UNLOCK,
        "password": NodeStatus.WAITING_UNLOCK,
    }
)


def of_wallet(node: Node, *, here: str = "") -> dict[str, str]:
    """Return the wallet's pages that can be used now, and the one that is open."""
    return {
        name: label
        for name, label in WALLET.items()
        if name == here or _is_usable(node, name)
    }


def of_node(node: Node, *, may_change: bool, here: str) -> list[tuple[str, str]]:
    """Return the labels and addresses of a node's tabs, with the one that is open."""
    hidden = set() if may_change else set(_FOR_CHANGES)
    if not of_wallet(node):
        hidden.add("/wallet")
    if not node.has_wallet:
        hidden.add("/backups")
    if node.status is NodeStatus.PROVISIONING:
        hidden |= {"/log", "/machine"}
    return [
        (label, to)
        for to, label in _TABS.items()
        if to not in hidden or (to == here and (may_change or to not in _FOR_CHANGES))
    ]


def of_url(url: str, root: str) -> str:
    """Return which tab a page is under: the first part of its address."""
    below = url.partition("?")[0].removeprefix(root)
    return "/" + below.split("/")[1] if below else ""


def _is_usable(node: Node, name: str) -> bool:
    if name == "vault":  # which is opened here, without the node
        return node.has_wallet
    return node.settings.rest and node.status is _IN.get(name, NodeStatus.RUNNING)
