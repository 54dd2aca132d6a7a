"""Every page, on one screen."""

from leyden.domain.sign_in import Right
from leyden.web import (
    backups,
    entrance,
    new_node,
    node,
    node_settings,
    nodes,
    vault,
    wallet,
    webhooks,
)
from leyden.web.pages import Page, Who

_HERE = "/app/{organization_id}"
_NODES = f"{_HERE}/nodes"
_NODE = f"{_NODES}/{{node_id}}"
_WEBHOOK = f"{_NODE}/webhook"
_WALLET = f"{_NODE}/wallet"

PAGES: tuple[Page, ...] = (
    Page("GET", "/", entrance.first, Who.ANYONE),
    Page("GET", "/app", entrance.first, Who.ANYONE),
    Page("GET", "/app/", entrance.first, Who.ANYONE),
    Page("GET", "/app/sign-in", entrance.ask, Who.ANYONE),
    Page("POST", "/app/sign-in", entrance.enter, Who.ANYONE),
    Page("GET", "/app/second-factor", entrance.ask_code, Who.ANYONE),
    Page("POST", "/app/second-factor", entrance.enter_code, Who.ANYONE),
    Page("POST", "/app/sign-out", entrance.leave, Who.PERSON),
    Page("GET", "/app/authority.pem", node.authority, Who.PERSON),
    Page("GET", _NODES, nodes.list_, Right.LOOK),
    Page("GET", f"{_NODES}/changes", nodes.changes, Right.LOOK),
    Page("GET", f"{_NODES}/new", new_node.ask, Right.NODES),
    Page("POST", f"{_NODES}/new", new_node.create, Right.NODES),
    Page("GET", _NODE, node.show, Right.LOOK),
    Page("GET", f"{_NODE}/changes", node.changes, Right.LOOK),
    Page("GET", f"{_NODE}/log", node.log, Right.LOOK),
    Page("GET", f"{_NODE}/certificate", node.certificate, Right.LOOK),
    Page("POST", f"{_NODE}/start", node.start, Right.NODES),
    Page("POST", f"{_NODE}/stop", node.stop, Right.NODES),
    Page("POST", f"{_NODE}/restart", node.restart, Right.NODES),
    Page("POST", f"{_NODE}/update", node.update, Right.NODES),
    Page("POST", f"{_NODE}/delete", node.delete, Right.NODES),
    Page("GET", f"{_NODE}/settings", node_settings.show, Right.LOOK),
    Page("POST", f"{_NODE}/settings", node_settings.change, Right.NODES),
    Page("GET", f"{_NODE}/whitelist", node_settings.show_whitelist, Right.LOOK),
    Page("POST", f"{_NODE}/whitelist", node_settings.replace_whitelist, Right.NODES),
    Page("GET", _WEBHOOK, webhooks.show, Right.LOOK),
    Page("POST", _WEBHOOK, webhooks.readdress, Right.NODES),
    Page("POST", f"{_WEBHOOK}/test", webhooks.test, Right.NODES),
    Page("POST", f"{_WEBHOOK}/rotate-secret", webhooks.rotate_secret, Right.NODES),
    Page("POST", f"{_WEBHOOK}/redeliver", webhooks.redeliver, Right.NODES),
    Page("GET", _WALLET, wallet.first, Right.NODES),
    *(
        Page("GET", f"{_WALLET}/{name}", wallet.page(name), Right.NODES)
        for name in wallet.PAGES
    ),
    Page("GET", f"{_WALLET}/facts", vault.facts, Right.NODES),
    Page("GET", f"{_WALLET}/backups", vault.kept, Right.NODES),
    Page("POST", f"{_WALLET}/backups", vault.keep, Right.NODES),
    Page("POST", f"{_WALLET}/reseal", vault.reseal, Right.NODES),
    Page("GET", f"{_NODE}/backups", backups.show, Right.LOOK),
    Page("GET", f"{_NODE}/backups/channels", backups.channels, Right.NODES),
)
