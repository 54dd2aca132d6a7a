"""The table of all pages."""

from leyden.base.pages import private_chain
from leyden.base.pages.visits import Page, Who
from leyden.base.rules.sign_in import Right
from leyden.channels.money.pages import credit
from leyden.channels.pages import order_form, orders
from leyden.events.pages import events, subscriptions
from leyden.nodes.pages import (
    backups,
    confirmations,
    deleted_nodes,
    log,
    new_node,
    node,
    node_settings,
    nodes,
    vault,
    wallet,
    webhooks,
)
from leyden.nodes.rules.nodes import Action
from leyden.operators.pages import operator, operator_keys
from leyden.people.pages import (
    account,
    audit,
    emails,
    keys,
    resets,
    sign_in_pages,
    team,
    usage,
)

_HERE = "/app/{organization_id}"
_ACCOUNT = "/app/account"
_AUTHENTICATOR = f"{_ACCOUNT}/authenticator"
_OPERATOR = "/app/operator"
_EVERYBODY = f"{_OPERATOR}/organizations"
_CHANNELS = f"{_HERE}/channels"
_ORDER = f"{_CHANNELS}/{{order_id}}"
_NODES = f"{_HERE}/nodes"
_NODE = f"{_NODES}/{{node_id}}"
_WEBHOOK = f"{_NODE}/webhook"
_WALLET = f"{_NODE}/wallet"


def _events(
    root: str, look: Right | Who, needs: Right | Who, *, of: str
) -> tuple[Page, ...]:
    """Return the pages of an event log and of its endpoints."""
    every, one = f"{root}/endpoints", f"{root}/endpoints/{{{of}}}"
    return (
        Page("GET", root, events.list_, look),
        Page("GET", f"{root}/changes", events.changes, look),
        Page("GET", every, subscriptions.list_, needs),
        Page("POST", every, subscriptions.create, needs),
        Page("GET", one, subscriptions.show, needs),
        Page("POST", one, subscriptions.change, needs),
        Page("POST", f"{one}/pause", subscriptions.pause, needs),
        Page("POST", f"{one}/resume", subscriptions.resume, needs),
        Page("POST", f"{one}/test", subscriptions.test, needs),
        Page("POST", f"{one}/redeliver", subscriptions.redeliver, needs),
        Page("GET", f"{one}/resend", subscriptions.ask_resend, needs),
        Page("POST", f"{one}/resend", subscriptions.resend, needs),
        Page("GET", f"{one}/rotate-secret", subscriptions.ask_rotate, needs),
        Page("POST", f"{one}/rotate-secret", subscriptions.rotate, needs),
        Page("GET", f"{one}/delete", subscriptions.ask_delete, needs),
        Page("POST", f"{one}/delete", subscriptions.delete, needs),
    )


PAGES: tuple[Page, ...] = (
    Page("GET", "/", sign_in_pages.first, Who.ANYONE),
    Page("GET", "/app", sign_in_pages.first, Who.ANYONE),
    Page("GET", "/app/", sign_in_pages.first, Who.ANYONE),
    Page("GET", "/app/sign-in", sign_in_pages.ask, Who.ANYONE),
    Page("POST", "/app/sign-in", sign_in_pages.enter, Who.ANYONE),
    Page("POST", "/app/sign-in/passkey", sign_in_pages.enter_by_passkey, Who.ANYONE),
    Page("GET", "/app/second-factor", sign_in_pages.ask_code, Who.ANYONE),
    Page("POST", "/app/second-factor", sign_in_pages.enter_code, Who.ANYONE),
    Page("GET", "/app/forgot-password", resets.ask, Who.ANYONE),
    Page("POST", "/app/forgot-password", resets.send, Who.ANYONE),
    Page("GET", "/app/reset-password", resets.open_, Who.ANYONE),
    Page("POST", "/app/reset-password", resets.reset, Who.ANYONE),
    Page("GET", "/app/unsubscribe", emails.ask_unsubscribe, Who.ANYONE),
    Page(
        "POST", "/app/unsubscribe", emails.unsubscribe, Who.ANYONE, from_anywhere=True
    ),
    Page("POST", "/app/sign-out", sign_in_pages.leave, Who.PERSON),
    Page("GET", "/app/authority.pem", node.authority, Who.ANYONE),
    Page("GET", "/app/invitation", team.ask_to_join, Who.ANYONE),
    Page("POST", "/app/invitation", team.join, Who.ANYONE),
    Page("GET", _ACCOUNT, account.show, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/email", emails.change, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/email/link", emails.ask_confirmation, Who.PERSON),
    Page("GET", f"{_ACCOUNT}/confirm-email", emails.open_link, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/confirm-email", emails.confirm, Who.PERSON),
    Page("GET", f"{_ACCOUNT}/emails", emails.show, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/emails", emails.choose, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/display", account.set_display, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/password", account.change_password, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/sign-out-elsewhere", account.end_others, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/sessions/end", account.end_session, Who.PERSON),
    Page("POST", _AUTHENTICATOR, account.offer_authenticator, Who.PERSON),
    Page(
        "POST", f"{_AUTHENTICATOR}/confirm", account.confirm_authenticator, Who.PERSON
    ),
    Page("POST", f"{_AUTHENTICATOR}/remove", account.remove_authenticator, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/recovery-codes", account.new_recovery_codes, Who.PERSON),
    Page("GET", _OPERATOR, operator.show, Who.OPERATOR),
    Page("POST", f"{_OPERATOR}/prove", operator.prove, Who.OPERATOR),
    Page("GET", f"{_OPERATOR}/nodes", operator.nodes, Who.OPERATOR),
    Page("GET", f"{_OPERATOR}/money", operator.money, Who.OPERATOR),
    Page("GET", f"{_OPERATOR}/orders", operator.orders, Who.OPERATOR),
    Page("GET", _EVERYBODY, operator.organizations, Who.OPERATOR),
    Page("POST", _EVERYBODY, operator.create_organization, Who.OPERATOR),
    Page("GET", f"{_EVERYBODY}/{{id}}", operator.organization, Who.OPERATOR),
    Page("POST", f"{_EVERYBODY}/{{id}}/correct", operator.correct, Who.OPERATOR),
    Page("POST", f"{_EVERYBODY}/{{id}}/limit", operator.set_limit, Who.OPERATOR),
    Page("POST", f"{_EVERYBODY}/{{id}}/quotas", operator.set_quotas, Who.OPERATOR),
    Page("GET", f"{_OPERATOR}/coupons", operator.coupons, Who.OPERATOR),
    Page("POST", f"{_OPERATOR}/coupons", operator.issue_coupons, Who.OPERATOR),
    *_events(f"{_OPERATOR}/events", Who.OPERATOR, Who.OPERATOR, of="alarm_endpoint_id"),
    Page("GET", f"{_OPERATOR}/keys", operator_keys.show, Who.OPERATOR),
    Page("POST", f"{_OPERATOR}/keys", operator_keys.create, Who.OPERATOR),
    Page("GET", f"{_OPERATOR}/keys/revoke", operator_keys.ask_revoke, Who.OPERATOR),
    Page("POST", f"{_OPERATOR}/keys/revoke", operator_keys.revoke, Who.OPERATOR),
    Page("GET", f"{_OPERATOR}/audit", operator.audit, Who.OPERATOR),
    Page("GET", _CHANNELS, orders.list_, Right.LOOK),
    Page("GET", f"{_CHANNELS}/new", order_form.ask, Right.MONEY),
    Page("POST", f"{_CHANNELS}/new", order_form.create, Right.MONEY),
    Page("GET", f"{_CHANNELS}/quote", order_form.quote, Right.MONEY),
    Page("GET", _ORDER, orders.show, Right.LOOK),
    Page("GET", f"{_ORDER}/changes", orders.changes, Right.LOOK),
    Page("POST", f"{_ORDER}/cancel", orders.cancel, Right.MONEY),
    Page("POST", f"{_ORDER}/extend", orders.extend, Right.MONEY),
    Page("POST", f"{_ORDER}/auto-extend", orders.auto_extend, Right.MONEY),
    Page("POST", f"{_ORDER}/simulate-payment", orders.simulate_payment, Right.MONEY),
    Page("POST", f"{_HERE}/private-chain/mine", private_chain.mine, Right.LOOK),
    Page("POST", f"{_HERE}/private-chain/pay", private_chain.pay, Right.NODES),
    Page("GET", f"{_HERE}/credit", credit.show, Right.LOOK),
    Page("POST", f"{_HERE}/credit", credit.redeem, Right.MONEY),
    Page("GET", f"{_HERE}/credit/ledger.csv", credit.sheet, Right.LOOK),
    Page("POST", f"{_ACCOUNT}/passkeys", account.add_passkey, Who.PERSON),
    Page("GET", f"{_ACCOUNT}/passkeys/remove", account.ask_remove_passkey, Who.PERSON),
    Page("POST", f"{_ACCOUNT}/passkeys/remove", account.remove_passkey, Who.PERSON),
    Page("GET", f"{_HERE}/keys", keys.show, Right.LOOK),
    Page("POST", f"{_HERE}/keys", keys.create, Right.KEYS),
    Page("GET", f"{_HERE}/keys/revoke", keys.ask_revoke, Right.KEYS),
    Page("POST", f"{_HERE}/keys/revoke", keys.revoke, Right.KEYS),
    *_events(f"{_HERE}/events", Right.LOOK, Right.KEYS, of="subscription_id"),
    Page("GET", f"{_HERE}/usage", usage.show, Right.LOOK),
    Page("GET", f"{_HERE}/audit", audit.show, Right.AUDIT),
    Page("GET", f"{_HERE}/team", team.show, Right.LOOK),
    Page("POST", f"{_HERE}/team/invite", team.invite, Right.TEAM),
    Page("GET", f"{_HERE}/team/withdraw", team.ask_withdraw, Right.TEAM),
    Page("POST", f"{_HERE}/team/withdraw", team.withdraw, Right.TEAM),
    Page("POST", f"{_HERE}/team/role", team.set_role, Right.TEAM),
    Page("GET", f"{_HERE}/team/remove", team.ask_remove, Right.TEAM),
    Page("POST", f"{_HERE}/team/remove", team.remove, Right.TEAM),
    Page("GET", _NODES, nodes.list_, Right.LOOK),
    Page("GET", f"{_NODES}/changes", nodes.changes, Right.LOOK),
    Page("GET", f"{_NODES}/new", new_node.ask, Right.NODES),
    Page("POST", f"{_NODES}/new", new_node.create, Right.NODES),
    Page("GET", f"{_NODES}/deleted", deleted_nodes.list_, Right.LOOK),
    Page("GET", _NODE, node.show, Right.LOOK),
    Page("GET", f"{_NODE}/changes", node.changes, Right.LOOK),
    Page("GET", f"{_NODE}/machine", node.machine, Right.LOOK),
    Page("GET", f"{_NODE}/log", log.show, Right.LOOK),
    Page("GET", f"{_NODE}/log/download", log.download, Right.LOOK),
    Page("GET", f"{_NODE}/certificate", node.certificate, Right.LOOK),
    Page("POST", f"{_NODE}/start", node.start, Right.NODES),
    Page("GET", f"{_NODE}/stop", confirmations.of_node(Action.STOP), Right.NODES),
    Page("POST", f"{_NODE}/stop", node.stop, Right.NODES),
    Page("GET", f"{_NODE}/restart", confirmations.of_node(Action.RESTART), Right.NODES),
    Page("POST", f"{_NODE}/restart", node.restart, Right.NODES),
    Page("GET", f"{_NODE}/update", confirmations.of_node(Action.UPDATE), Right.NODES),
    Page("POST", f"{_NODE}/update", node.update, Right.NODES),
    Page("GET", f"{_NODE}/delete", confirmations.of_node(Action.DELETE), Right.NODES),
    Page("POST", f"{_NODE}/delete", node.delete, Right.NODES),
    Page("POST", f"{_NODE}/restore", deleted_nodes.restore, Right.NODES),
    Page("GET", f"{_NODE}/settings", node_settings.show, Right.LOOK),
    Page("POST", f"{_NODE}/settings", node_settings.change, Right.NODES),
    Page("GET", f"{_NODE}/whitelist", node_settings.show_whitelist, Right.LOOK),
    Page("POST", f"{_NODE}/whitelist", node_settings.replace_whitelist, Right.NODES),
    Page("POST", f"{_NODE}/whitelist/mine", node_settings.allow_mine, Right.NODES),
    Page("GET", _WEBHOOK, webhooks.show, Right.NODES),
    Page("POST", _WEBHOOK, webhooks.readdress, Right.NODES),
    Page("POST", f"{_WEBHOOK}/test", webhooks.test, Right.NODES),
    Page("GET", f"{_WEBHOOK}/rotate-secret", webhooks.ask_rotate_secret, Right.NODES),
    Page("POST", f"{_WEBHOOK}/rotate-secret", webhooks.rotate_secret, Right.NODES),
    Page("POST", f"{_WEBHOOK}/redeliver", webhooks.redeliver, Right.NODES),
    Page("GET", _WALLET, wallet.first, Right.NODES),
    *(
        Page("GET", f"{_WALLET}/{name}", wallet.page(name), Right.NODES)
        for name in wallet.PAGES
    ),
    Page("GET", f"{_WALLET}/facts", vault.facts, Right.NODES),
    Page("GET", f"{_WALLET}/backups", vault.stored_backups, Right.NODES),
    Page("POST", f"{_WALLET}/backups", vault.keep, Right.NODES),
    Page("GET", f"{_WALLET}/backups/replaced", vault.replaced, Right.NODES),
    Page("POST", f"{_WALLET}/reseal", vault.reseal, Right.NODES),
    Page("GET", f"{_NODE}/backups", backups.show, Right.LOOK),
    Page("GET", f"{_NODE}/backups/channels", backups.channels, Right.NODES),
)
