"""The library knows every endpoint, and what it answers by the types of the API."""

import inspect
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import msgspec
import pytest

import leyden.client as library
from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.base.rules.times import utc_now
from leyden.client import (
    Client,
    backups,
    events,
    flow,
    nodes,
    operator,
    subscriptions,
    webhooks,
    wrapped_invoices,
)
from tests.client.served_platform import ServedPlatform
from tests.nodes.api.nodes.conftest import CIPHERTEXT, NEW_NODE

PEER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@pytest.fixture
def platform(sqlite_template: Path, tmp_path: Path) -> Iterator[ServedPlatform]:
    """A platform for each client."""
    with ServedPlatform(tmp_path, sqlite_template).open() as opened:
        yield opened


def test_the_library_has_no_shapes_of_its_own() -> None:
    """What crosses the API is declared in `schemas`, for both of its ends."""
    modules = (
        *(library, backups, events, flow, nodes, operator),
        *(subscriptions, webhooks, wrapped_invoices),
    )
    for module in modules:
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__:
                assert (module, name) == (backups, "Resealed")


def keep_and_give_back(platform: ServedPlatform, leyden: Client, here: str) -> None:
    leyden.backups.store_seed(here, CIPHERTEXT)
    assert leyden.backups.seed(here).seed == CIPHERTEXT
    leyden.backups.store_macaroon(here, "read only", CIPHERTEXT)
    assert [each.name for each in leyden.backups.macaroons(here)] == ["read only"]
    assert leyden.backups.macaroon(here, "read only").macaroon == CIPHERTEXT
    other = CIPHERTEXT[:-6] + "wB2mC="
    anew = backups.Resealed(name=None, before=CIPHERTEXT, after=other)
    assert leyden.backups.reseal(here, [anew]) == 1
    (before,) = leyden.backups.replaced(here)
    assert before.value == anew.before
    assert leyden.backups.seed(here).seed == other
    platform.fleet_harness.node_files.channel_backups[here] = b"encrypted by lnd"
    assert leyden.backups.channels(here) == b"encrypted by lnd"
    kept_drill = leyden.backups.store_drill(here, "2026-01-01T12:00:00Z", "y" * 104)
    assert leyden.backups.proofs(here).drill == kept_drill


def look_and_change(platform: ServedPlatform, leyden: Client, here: str) -> None:
    assert leyden.nodes.find("every light").node_id == here
    assert [each.node_id for each in leyden.nodes.list(name="every light")] == [here]
    about = leyden.events.list(node_id=here, types=["node.*"])
    assert next(about).type == "node.created"
    leyden.nodes.change_settings(here, webhook="https://example.org/hook")
    assert leyden.nodes.replace_whitelist(here, ["::1/128"]) == ["::1"]
    assert leyden.nodes.certificate(here).startswith("-----BEGIN CERT")
    way = leyden.nodes.connect(here)
    assert way.node_id == here
    port = int(way.grpc_address.rpartition(":")[2])
    with platform.client(gateway="[::1]:443") as elsewhere:
        assert elsewhere.grpc_address(here) == ("::1", port)
    leyden.nodes.log(here, lines=5)
    assert leyden.nodes.metrics(here).node_id == here
    assert leyden.nodes.versions().versions
    tried = leyden.webhooks.test(here)
    assert next(leyden.webhooks.deliveries(here)).delivery_id == tried.delivery_id
    leyden.webhooks.redeliver(here, tried.delivery_id)
    assert leyden.webhooks.rotate_secret(here).webhook_secret


def subscribe(leyden: Client) -> None:
    url = "https://example.org/events"
    made = leyden.subscriptions.create(url, ["order.*"], description="the shop")
    assert len(made.secret) == 64
    of = made.subscription_id
    assert [each.url for each in leyden.subscriptions.list()] == [url]
    assert leyden.subscriptions.update(of, paused=True).reason == "owner"
    assert leyden.subscriptions.update(of, paused=False).status == "active"
    tried = leyden.subscriptions.test(of, type_="order.paid")
    assert tried.status == "delivered"
    assert next(leyden.subscriptions.deliveries(of)).delivery_id == tried.delivery_id
    again = leyden.subscriptions.redeliver(of, tried.delivery_id)
    assert len(again.attempts) == 2
    assert leyden.subscriptions.resend(of, "").subscription_id == of
    assert leyden.subscriptions.rotate_secret(of).secret != made.secret
    assert leyden.subscriptions.get(of).description == "the shop"
    leyden.subscriptions.delete(of)
    assert leyden.subscriptions.list() == []


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
    assert leyden.nodes.deleted()[0].node_id == here
    assert leyden.nodes.restore(here, "another light").node_name == "another light"


def buy(platform: ServedPlatform, leyden: Client) -> None:
    quote = leyden.flow.quote(1_000_000, node_tier="any")
    order = leyden.flow.create(1_000_000, node_tier="any")
    assert order.total_fee == quote.total_fee
    platform.pay(order.order_id)
    assert leyden.flow.wait(order.order_id, {"created"}).paid
    assert leyden.flow.cancel(order.order_id).credit_refund == order.total_fee
    coupon = platform.coupon(2_100)
    assert leyden.flow.redeem(coupon).coupon_amount == 2_100
    assert leyden.flow.coupons()[0].claimed
    assert leyden.flow.balance().credit == order.total_fee + 2_100
    assert leyden.flow.get(order.order_id).status == "cancelled"
    cancelled = leyden.flow.orders(status="cancelled", created_before=utc_now())
    assert next(cancelled).order_id == order.order_id
    assert not list(leyden.flow.orders(status="filled"))
    assert next(leyden.flow.ledger()).amount


def extend(platform: ServedPlatform, leyden: Client) -> None:
    platform.seller.fill([3_000_000])
    platform.seller.online.add(PEER)
    order = leyden.flow.create(1_000_000, node=PEER)
    platform.pay(order.order_id)
    filled = leyden.flow.wait(order.order_id, {"filled"})
    price = leyden.flow.extension_quote(order.order_id, 4_032)
    made = leyden.flow.extend(order.order_id, 4_032, max_fee=price.total_fee)
    assert made.status == "waiting_payment"
    platform.pay(made.extension_id)
    while leyden.flow.extensions(order.order_id)[0].status != "extended":
        time.sleep(0.01)
    now = leyden.flow.get(order.order_id)
    assert now.lease_ends_block == price.lease_ends_block
    assert now.lease_ends_block != filled.lease_ends_block
    assert leyden.flow.auto_extend(order.order_id, 9_000).auto_extend
    stopped = leyden.flow.stop_auto_extend(order.order_id)
    assert stopped.auto_extend is msgspec.UNSET


@pytest.mark.usefixtures("client_class")
def test_every_endpoint_is_called_by_some_method(platform: ServedPlatform) -> None:
    """Call everything the library has, and see which endpoints were reached."""
    platform.requests.clear()
    with platform.client() as leyden:
        assert leyden.key().organization_id == platform.organization_id
        assert leyden.quotas()["nodes"].used == 0
        assert leyden.platform().networks == ["mainnet", "testnet"]
        answer = list(leyden.events.list(types=["key.*"]))
        assert answer[-1].type == "key.created"
        page = next(leyden.events.follow(answer[0].id, types=["key.*"], wait_s=1))
        assert page.events == answer[1:]
        made = leyden.nodes.create("every light", settings=NEW_NODE["settings"])
        leyden.nodes.wait(made.node_id, {"waiting_init"})
        look_and_change(platform, leyden, made.node_id)
        keep_and_give_back(platform, leyden, made.node_id)
        start_and_stop(leyden, made.node_id)
        buy(platform, leyden)
        extend(platform, leyden)
        subscribe(leyden)
    reached = {reached_by(method, path) for method, path in platform.requests}
    assert reached >= {(each.method, each.path) for each in OPERATIONS}


def reached_by(method: str, path: str) -> tuple[str, str]:
    for each in (*OPERATIONS, *OPERATOR_OPERATIONS):
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
