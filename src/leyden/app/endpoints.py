"""The tables of all endpoints: customers', and operators'."""

from collections.abc import Awaitable, Callable
from typing import Any

from leyden.base.http.operations import Method, Operation
from leyden.base.rules.accounts import Scope
from leyden.channels.api import flow, platform
from leyden.channels.money.api import flow as money_flow
from leyden.errors import Conflict, Expired, OverLimit, Refused
from leyden.events.api import events, subscriptions
from leyden.nodes.api import backups, nodes, webhooks
from leyden.operators.api import operator_installation as installation
from leyden.operators.api import operator_money as money
from leyden.operators.api import operator_organizations as organizations
from leyden.people.api import keys, quotas

_NODE, _FLOW, _OPERATOR = Scope.NODE, Scope.FLOW, Scope.OPERATOR
_NODES = "/organizations/{organization_id}/nodes"
_ONE = f"{_NODES}/{{node_id}}"
_WEBHOOKS = f"{_ONE}/webhooks"
_SUBSCRIPTION = "/subscriptions/{subscription_id}"
_NOT_NOW = (Conflict,)

OPERATIONS: tuple[Operation, ...] = (
    Operation("GET", "/key", keys.show, None),
    Operation("GET", "/organizations/{organization_id}/quotas", quotas.show, None),
    Operation("GET", _NODES, nodes.list_, _NODE),
    Operation("POST", _NODES, nodes.create, _NODE, _NOT_NOW, repeatable=True),
    Operation("GET", f"{_NODES}/deleted", nodes.list_deleted, _NODE),
    Operation("GET", _ONE, nodes.get, _NODE),
    Operation("DELETE", _ONE, nodes.delete, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/restore", nodes.restore, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/start", nodes.start, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/stop", nodes.stop, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/restart", nodes.restart, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/update", nodes.update, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/settings", nodes.change_settings, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/whitelist", nodes.replace_whitelist, _NODE, _NOT_NOW),
    Operation("GET", f"{_ONE}/cert", nodes.certificate, _NODE),
    Operation("POST", f"{_ONE}/tls", nodes.renew_certificate, _NODE, _NOT_NOW),
    Operation("POST", f"{_ONE}/macaroon", backups.keep_macaroon, _NODE, _NOT_NOW),
    Operation("GET", f"{_ONE}/macaroons", backups.list_macaroons, _NODE),
    Operation("GET", f"{_ONE}/macaroon/{{name}}", backups.get_macaroon, _NODE),
    Operation("POST", f"{_ONE}/seed", backups.keep_seed, _NODE, _NOT_NOW),
    Operation("GET", f"{_ONE}/seed", backups.get_seed, _NODE),
    Operation("POST", f"{_ONE}/reseal", backups.reseal, _NODE, _NOT_NOW),
    Operation("GET", f"{_ONE}/replaced", backups.list_replaced, _NODE),
    Operation("GET", f"{_ONE}/backup", backups.get_channels, _NODE),
    Operation("GET", f"{_ONE}/proofs", backups.show_proofs, _NODE),
    Operation("POST", f"{_ONE}/drill", backups.keep_drill, _NODE),
    Operation("GET", f"{_ONE}/logs", nodes.log, _NODE),
    Operation("GET", f"{_ONE}/connect", nodes.connect, _NODE),
    Operation("GET", f"{_ONE}/metrics", nodes.metrics, _NODE),
    Operation("GET", f"{_WEBHOOKS}/deliveries", webhooks.deliveries, _NODE),
    Operation(
        "POST",
        f"{_WEBHOOKS}/deliveries/{{delivery_id}}/redeliver",
        webhooks.redeliver,
        _NODE,
        _NOT_NOW,
    ),
    Operation("POST", f"{_WEBHOOKS}/test", webhooks.test, _NODE, _NOT_NOW),
    Operation("POST", f"{_WEBHOOKS}/rotate-secret", webhooks.rotate_secret, _NODE),
    Operation("GET", "/versions", nodes.list_versions, _NODE),
    Operation("GET", "/platform", platform.show, None),
    Operation("POST", "/flow/quote", flow.quote, _FLOW, _NOT_NOW),
    Operation(
        "POST",
        "/flow/create",
        flow.create,
        _FLOW,
        (OverLimit, Conflict),
        repeatable=True,
    ),
    Operation("POST", "/flow/status", flow.status, _FLOW),
    Operation("POST", "/flow/cancel", flow.cancel, _FLOW, (Conflict,), repeatable=True),
    Operation("GET", "/flow/coupons", money_flow.coupons, _FLOW),
    Operation("POST", "/flow/redeem", money_flow.redeem, _FLOW, repeatable=True),
    Operation("GET", "/flow/orders", flow.list_, _FLOW),
    Operation("GET", "/flow/orders/{order_id}", flow.get, _FLOW),
    Operation(
        "POST",
        "/flow/orders/{order_id}/extend/quote",
        flow.quote_extension,
        _FLOW,
        _NOT_NOW,
    ),
    Operation(
        "POST",
        "/flow/orders/{order_id}/extend",
        flow.extend,
        _FLOW,
        (OverLimit, Conflict),
        repeatable=True,
    ),
    Operation("GET", "/flow/orders/{order_id}/extensions", flow.list_extensions, _FLOW),
    Operation(
        "POST",
        "/flow/orders/{order_id}/auto-extend",
        flow.set_auto_extend,
        _FLOW,
        _NOT_NOW,
    ),
    Operation(
        "DELETE",
        "/flow/orders/{order_id}/auto-extend",
        flow.unset_auto_extend,
        _FLOW,
        _NOT_NOW,
    ),
    Operation("GET", "/flow/balance", money_flow.balance, _FLOW),
    Operation("GET", "/flow/ledger", money_flow.ledger, _FLOW),
    Operation("GET", "/events", events.list_, None, (Expired,)),
    Operation("GET", "/subscriptions", subscriptions.list_, None),
    Operation(
        "POST", "/subscriptions", subscriptions.create, None, _NOT_NOW, repeatable=True
    ),
    Operation("GET", _SUBSCRIPTION, subscriptions.get, None),
    Operation("POST", _SUBSCRIPTION, subscriptions.change, None),
    Operation("DELETE", _SUBSCRIPTION, subscriptions.delete, None),
    Operation("POST", f"{_SUBSCRIPTION}/test", subscriptions.test, None),
    Operation(
        "POST", f"{_SUBSCRIPTION}/resend", subscriptions.resend, None, (Expired,)
    ),
    Operation(
        "POST",
        f"{_SUBSCRIPTION}/rotate-secret",
        subscriptions.rotate_secret,
        None,
        _NOT_NOW,
    ),
    Operation("GET", f"{_SUBSCRIPTION}/deliveries", subscriptions.deliveries, None),
    Operation(
        "POST",
        f"{_SUBSCRIPTION}/deliveries/{{delivery_id}}/redeliver",
        subscriptions.redeliver,
        None,
    ),
)

_ALL = "/operator/organizations"
_THIS = f"{_ALL}/{{organization_id}}"
_MEMBER = f"{_THIS}/members/{{user_id}}"
_USER = "/operator/users/{user_id}"
_FLEET = "/operator/nodes"
_FLEET_NODE = f"{_FLEET}/{{node_id}}"
_SOLD = "/operator/orders/{order_id}"


def _operators(
    method: Method,
    path: str,
    run: Callable[..., Awaitable[Any]],
    refuses: tuple[type[Refused], ...] = (),
    *,
    repeatable: bool = False,
) -> Operation:
    return Operation(method, path, run, _OPERATOR, refuses, repeatable=repeatable)


# None of these shows a secret of a customer's, or makes an operator or an operator key.
OPERATOR_OPERATIONS: tuple[Operation, ...] = (
    _operators("GET", "/operator/overview", installation.show),
    _operators("GET", "/operator/alarms", installation.list_alarms),
    _operators("GET", "/operator/backups", installation.list_backups),
    _operators("GET", "/operator/audit", installation.list_audit),
    _operators("GET", _ALL, organizations.list_),
    _operators("POST", _ALL, organizations.create, _NOT_NOW, repeatable=True),
    _operators("GET", _THIS, organizations.get),
    _operators("POST", f"{_THIS}/account", money.set_limit),
    _operators("POST", f"{_THIS}/corrections", money.correct, repeatable=True),
    _operators("GET", f"{_THIS}/orders", money.list_orders_of),
    _operators("GET", f"{_THIS}/quotas", organizations.list_quotas),
    _operators("POST", f"{_THIS}/quotas", organizations.change_quotas),
    _operators("GET", f"{_THIS}/members", organizations.list_members),
    _operators("POST", f"{_THIS}/members", organizations.create_member, _NOT_NOW),
    _operators("POST", _MEMBER, organizations.set_role, _NOT_NOW),
    _operators("DELETE", _MEMBER, organizations.remove_member, _NOT_NOW),
    _operators("POST", f"{_THIS}/invitations", organizations.invite, _NOT_NOW),
    _operators(
        "DELETE",
        f"{_THIS}/invitations/{{invitation_id}}",
        organizations.revoke_invitation,
    ),
    _operators("GET", f"{_THIS}/keys", organizations.list_keys),
    _operators("POST", f"{_THIS}/keys", organizations.create_key, _NOT_NOW),
    _operators("DELETE", f"{_THIS}/keys/{{key_id}}", organizations.revoke_key),
    _operators("GET", "/operator/users", organizations.list_users),
    _operators("GET", f"{_USER}/sessions", organizations.list_sessions),
    _operators("POST", f"{_USER}/sign-out", organizations.sign_out),
    _operators("POST", f"{_USER}/readmit", organizations.readmit, _NOT_NOW),
    _operators("GET", "/operator/coupons", money.list_coupons),
    _operators("POST", "/operator/coupons", money.create_coupons, repeatable=True),
    _operators("GET", "/operator/orders", money.list_orders),
    _operators("GET", "/operator/orders/attention", money.list_attention),
    _operators("GET", _SOLD, money.get_order),
    _operators("POST", f"{_SOLD}/abandon", money.abandon_order, _NOT_NOW),
    _operators("GET", _FLEET, installation.list_nodes),
    _operators("GET", f"{_FLEET}/attention", installation.list_ailing),
    _operators("GET", _FLEET_NODE, installation.get_node),
    _operators("POST", f"{_FLEET_NODE}/start", installation.start_node, _NOT_NOW),
    _operators("POST", f"{_FLEET_NODE}/stop", installation.stop_node, _NOT_NOW),
)
