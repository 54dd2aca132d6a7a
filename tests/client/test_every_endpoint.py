"""The library knows every endpoint, and every field of what it answers."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest

import leyden.client as library
from leyden.api.endpoints import OPERATIONS
from leyden.api.operations import Operation
from leyden.client import Client, backups, flow, node_items, nodes, webhooks
from tests.api.nodes.conftest import CIPHERTEXT, NEW_NODE
from tests.client.harbour import Harbour

# What the server calls an answer, and what the library does, where that differs.
SAME = {
    "keys_show": library.Key,
    "quotas_show": library._Quotas,
    "nodes_list": nodes._Listed,
    "nodes_create": node_items.CreatedNode,
    "nodes_get": node_items.Node,
    "nodes_delete": node_items.NodeItem,
    "nodes_start": node_items.NodeItem,
    "nodes_stop": node_items.NodeItem,
    "nodes_restart": node_items.NodeItem,
    "nodes_update": node_items.UpdatedNode,
    "nodes_change_settings": node_items.Node,
    "nodes_connect": node_items.Connection,
    "nodes_metrics": node_items.Metrics,
    "nodes_list_versions": node_items.Versions,
    "backups_keep_macaroon": backups.MacaroonItem,
    "backups_list_macaroons": backups._Macaroons,
    "backups_get_macaroon": backups.Macaroon,
    "backups_keep_seed": backups.Seed,
    "backups_get_seed": backups.Seed,
    "webhooks_deliveries": webhooks.Deliveries,
    "webhooks_redeliver": webhooks.Delivery,
    "webhooks_test": webhooks.Delivery,
    "webhooks_rotate_secret": webhooks.Secret,
    "flow_quote": flow.Quote,
    "flow_create": flow.Order,
    "flow_status": flow.Order,
    "flow_cancel": flow.CancelledOrder,
    "flow_coupons": flow._Coupons,
    "flow_redeem": flow.Redeemed,
    "flow_list": flow._Orders,
    "flow_balance": flow.Balance,
    "flow_ledger": flow._Ledger,
}
# Of these the library gives one field, and not the node's id that was just sent.
ONE_FIELD = {
    "nodes_replace_whitelist": nodes._Whitelist,
    "nodes_certificate": nodes._Certificate,
    "nodes_renew_certificate": nodes._Certificate,
    "nodes_log": nodes._Log,
    "backups_get_channels": backups._Channels,
    "backups_reseal": backups._Resealed,
    "backups_list_replaced": backups._Replaced,
}


def shape(kind: Any) -> Any:
    """Give a type as names and plain types, whatever its classes are called."""
    if inspect.isclass(kind) and issubclass(kind, msgspec.Struct):
        return {field.name: shape(field.type) for field in msgspec.structs.fields(kind)}
    if get_origin(kind) is None:
        return kind
    if hasattr(kind, "__metadata__"):
        return shape(get_args(kind)[0])
    return get_origin(kind), tuple(shape(each) for each in get_args(kind))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_answer_has_the_same_fields_of_the_same_types(
    operation: Operation,
) -> None:
    told = shape(operation.answer)
    if operation.name in ONE_FIELD:
        known = shape(ONE_FIELD[operation.name])
        assert known == {name: told[name] for name in known}
    else:
        assert shape(SAME[operation.name]) == told


def test_nothing_is_known_that_is_not_there() -> None:
    assert SAME.keys() | ONE_FIELD.keys() == {each.name for each in OPERATIONS}


def keep_and_give_back(harbour: Harbour, leyden: Client, here: str) -> None:
    leyden.backups.keep_seed(here, CIPHERTEXT)
    assert leyden.backups.seed(here).seed == CIPHERTEXT
    leyden.backups.keep_macaroon(here, "read only", CIPHERTEXT)
    assert [each.name for each in leyden.backups.macaroons(here)] == ["read only"]
    assert leyden.backups.macaroon(here, "read only").macaroon == CIPHERTEXT
    other = CIPHERTEXT[:-6] + "wB2mC="
    anew = backups.Resealed(name=None, before=CIPHERTEXT, after=other)
    assert leyden.backups.reseal(here, [anew]) == 1
    (before,) = leyden.backups.replaced(here)
    assert before.value == anew.before
    assert leyden.backups.seed(here).seed == other
    harbour.yard.homes.channel_backups[here] = b"encrypted by lnd"
    assert leyden.backups.channels(here) == b"encrypted by lnd"


def look_and_change(leyden: Client, here: str) -> None:
    assert leyden.nodes.find("every light").node_id == here
    leyden.nodes.change_settings(here, webhook="https://example.org/hook")
    assert leyden.nodes.replace_whitelist(here, ["::1/128"]) == ["::1"]
    assert leyden.nodes.certificate(here).startswith("-----BEGIN CERT")
    assert leyden.nodes.connect(here).node_id == here
    leyden.nodes.log(here, lines=5)
    assert leyden.nodes.metrics(here).node_id == here
    assert leyden.nodes.versions().versions
    tried = leyden.webhooks.test(here)
    assert next(leyden.webhooks.deliveries(here)).delivery_id == tried.delivery_id
    leyden.webhooks.redeliver(here, tried.delivery_id)
    assert leyden.webhooks.rotate_secret(here).webhook_secret


def start_and_stop(leyden: Client, here: str) -> None:
    leyden.nodes.renew_certificate(here)
    leyden.nodes.wait(here, {"waiting_init"})
    leyden.nodes.restart(here)
    leyden.nodes.wait(here, {"waiting_init"})
    leyden.nodes.update(here, "v0.21.2-beta")
    leyden.nodes.wait(here, {"waiting_init"})
    leyden.nodes.stop(here)
    leyden.nodes.wait(here, {"stopped"})
    leyden.nodes.start(here)
    assert leyden.nodes.delete(here).status == "deleting"


def buy(harbour: Harbour, leyden: Client) -> None:
    quote = leyden.flow.quote(1_000_000, node_tier="any")
    order = leyden.flow.create(1_000_000, node_tier="any")
    assert order.total_fee == quote.total_fee
    harbour.pay(order.order_id)
    assert leyden.flow.wait(order.order_id, {"created"}).paid
    assert leyden.flow.cancel(order.order_id).credit_refund == order.total_fee
    coupon = harbour.coupon(2_100)
    assert leyden.flow.redeem(coupon).coupon_amount == 2_100
    assert leyden.flow.coupons()[0].claimed
    assert leyden.flow.balance().credit == order.total_fee + 2_100
    assert next(leyden.flow.orders()).order_id == order.order_id
    assert next(leyden.flow.ledger()).amount


def test_every_endpoint_is_called_by_some_method(harbour: Harbour) -> None:
    """Call everything the library has, and see which endpoints were reached."""
    harbour.asked.clear()
    with harbour.client() as leyden:
        assert leyden.key().organization_id == harbour.organization_id
        assert leyden.quotas()["nodes"].used == 0
        made = leyden.nodes.create("every light", settings=NEW_NODE["settings"])
        leyden.nodes.wait(made.node_id, {"waiting_init"})
        look_and_change(leyden, made.node_id)
        keep_and_give_back(harbour, leyden, made.node_id)
        start_and_stop(leyden, made.node_id)
        buy(harbour, leyden)
    reached = {reached_by(method, path) for method, path in harbour.asked}
    assert reached >= {(each.method, each.path) for each in OPERATIONS}


def reached_by(method: str, path: str) -> tuple[str, str]:
    for each in OPERATIONS:
        theirs, ours = each.path.split("/"), path.split("/")
        if each.method == method and len(theirs) == len(ours):
            pairs = zip(theirs, ours, strict=True)
            if all(a.startswith("{") or a == b for a, b in pairs):
                return each.method, each.path
    raise AssertionError((method, path))


def public_names(module: ModuleType) -> Iterator[str]:
    yield from (name for name in vars(module) if not name.startswith("_"))


def test_what_is_exported_is_listed() -> None:
    assert library.__all__ == ["ApiError", "Client", "Key", "Lnd", "QuotaUsage"]
    assert set(library.__all__) <= set(public_names(library))
    assert get_type_hints(Client.key)["return"] is library.Key
