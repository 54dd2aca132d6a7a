"""The examples that the API page and openapi.json show are what the API answers."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema_rs

import leyden.manual
from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.base.http.operations import Table
from leyden.manual.examples import examples
from leyden.manual.openapi import document
from leyden.nodes.gateway.base import Traffic
from leyden.nodes.rules.observations import LndState
from leyden.nodes.runtimes.base import Usage
from tests.app.examples.recording import Recorder
from tests.base.api.conftest import Caller
from tests.channels.api.flow.conftest import World, until
from tests.nodes.api.nodes.conftest import CIPHERTEXT, sha256_of
from tests.nodes.fleet_harness import FleetHarness

FILE = Path(leyden.manual.__file__).parent / "examples.json"
OTHER = CIPHERTEXT[:-6] + "wB2mC="
SETTINGS: dict[str, Any] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["198.51.100.7"],
    "alias": "harbour light",
    "color": "#ff9900",
}
NEW_NODE = {
    "name": "harbour light",
    "network": "testnet",
    "type": "standard",
    "settings": SETTINGS,
}
CHANNEL = {"capacity": 1_000_000, "lease_duration_blocks": 4_032}
PEER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


async def _node(record: Recorder, fleet_harness: FleetHarness) -> str:
    """Create a node, and let it run."""
    fleet_harness.runtime.says = LndState.SERVER_ACTIVE
    made = await record.call("nodes_create", NEW_NODE)
    one: str = made["node_id"]
    await fleet_harness.later(minutes=5)
    fleet_harness.node_files.used[one] = Usage(
        memory=94_371_840, cpu_s=12.5, cpu_cores=0.02, disk=41_943_040
    )
    fleet_harness.gateway.counted[one] = Traffic(
        connections=2, bytes_in=18_204, bytes_out=93_711
    )
    fleet_harness.node_files.logs[one] = [
        "2026-03-01 12:00:00.000 [INF] LTND: Version: 0.20.2-beta",
        "2026-03-01 12:00:01.250 [INF] RPCS: gRPC proxy started at 127.0.0.1:8080",
    ]
    fleet_harness.node_files.channel_backups[one] = b"encrypted by lnd under the seed"
    return one


async def _nodes(record: Recorder, fleet_harness: FleetHarness, one: str) -> None:
    """Look at the node, change it, and see its events."""
    webhook = {"webhook": "https://hooks.example.com/leyden", "keysend": False}
    await record.call("nodes_change_settings", webhook, node_id=one)
    await fleet_harness.later(minutes=1)
    addresses = {"whitelist": ["198.51.100.7", "2001:db8::/32"]}
    await record.call("nodes_replace_whitelist", addresses, node_id=one)
    for name in ("get", "certificate", "connect", "metrics"):
        await record.call(f"nodes_{name}", node_id=one)
    await record.call("nodes_log", node_id=one, query={"lines": 2})
    await record.call("nodes_list")
    await record.call("nodes_list_versions")
    body = {"status": "waiting_unlock"}
    tried = await record.call("webhooks_test", body, node_id=one)
    sent = tried["delivery_id"]
    await record.call("webhooks_deliveries", node_id=one, query={"limit": 1})
    await record.call("webhooks_redeliver", node_id=one, delivery_id=sent)
    await record.call("webhooks_rotate_secret", node_id=one)


async def _backups(record: Recorder, one: str) -> None:
    """Keep ciphertext, and get it back."""
    await record.call("backups_keep_seed", {"seed": CIPHERTEXT}, node_id=one)
    await record.call("backups_get_seed", node_id=one)
    macaroon = {"name": "invoices", "macaroon": CIPHERTEXT}
    await record.call("backups_keep_macaroon", macaroon, node_id=one)
    await record.call("backups_list_macaroons", node_id=one)
    await record.call("backups_get_macaroon", node_id=one, name="invoices")
    anew = {"name": "invoices", "macaroon": OTHER, "replaces": sha256_of(CIPHERTEXT)}
    await record.call("backups_reseal", {"macaroons": [anew]}, node_id=one)
    await record.call("backups_list_replaced", node_id=one)
    await record.call("backups_get_channels", node_id=one)
    drill = {"time": "2026-01-01T12:00:00Z", "signature": "y" * 104}
    await record.call("backups_keep_drill", drill, node_id=one)
    await record.call("backups_show_proofs", node_id=one)


async def _lives(record: Recorder, fleet_harness: FleetHarness, one: str) -> None:
    """Stop the node, start it, and so on to its end."""
    await record.call("nodes_stop", node_id=one)
    await fleet_harness.work()
    await record.call("nodes_start", node_id=one)
    for name, body in (
        ("restart", None),
        ("update", {"version": "v0.21.2-beta"}),
        ("renew_certificate", {}),
    ):
        await fleet_harness.work()
        await record.call(f"nodes_{name}", body, node_id=one)
    await fleet_harness.work()
    await record.call("nodes_delete", node_id=one)
    await fleet_harness.work()
    await record.call("nodes_list_deleted")
    await record.call("nodes_restore", {}, node_id=one)


async def _flow(record: Recorder, alice: Caller, world: World) -> None:
    """Buy a channel, give it up, and look at the money."""
    coupon = await world.coupon(21_000, alice.organization_id)
    await record.call("flow_quote", CHANNEL)
    order = await record.call("flow_create", CHANNEL)
    world.pay(order)
    await until(alice, order, "created")
    this = {"order_id": order["order_id"]}
    await record.call("flow_status", this)
    await record.call("flow_get", **this)
    await record.call("flow_cancel", this)
    await _filled(alice, world)
    await record.call("flow_list", query={"limit": 2})
    await record.call("flow_redeem", {"coupon": coupon})
    await record.call("flow_coupons")
    await record.call("flow_balance")
    await record.call("flow_ledger", query={"limit": 2})


async def _filled(alice: Caller, world: World) -> None:
    """Buy another channel, with what came back of the first, and have it opened."""
    world.later(minutes=10)  # later than all that the node's clock has seen
    order = (await alice.post("/flow/create", CHANNEL)).json()
    ticket = (await until(alice, order, "created"))["sidecar_ticket"]
    assert world.market.register(ticket)
    assert world.market.match(ticket, unused=318)
    await world.follow_tickets()
    await until(alice, order, "filled")


async def _extended(record: Recorder, alice: Caller, world: World) -> None:
    """Have a channel to a node opened, and keep it."""
    world.seller.fill([3_000_000] * 2)
    world.seller.online.add(PEER)
    order = (await alice.post("/flow/create", {**CHANNEL, "node": PEER})).json()
    if order["lightning_invoice"]:
        world.pay(order)
    await until(alice, order, "filled")
    this = {"order_id": order["order_id"]}
    await record.call("flow_quote_extension", {}, **this)
    await record.call("flow_extend", {"max_fee": 7_000}, **this)
    await record.call("flow_list_extensions", **this)
    await record.call("flow_set_auto_extend", {"max_fee": 7_000}, **this)
    await record.call("flow_unset_auto_extend", **this)


async def _subscriptions(record: Recorder) -> None:
    """Subscribe to orders, and look at what was sent."""
    new = {
        "url": "https://hooks.example.com/events",
        "types": ["order.*", "payment.received"],
        "description": "the shop",
    }
    made = await record.call("subscriptions_create", new)
    this = {"subscription_id": made["subscription_id"]}
    await record.call("subscriptions_list")
    await record.call("subscriptions_change", {"paused": False}, **this)
    await record.call("subscriptions_get", **this)
    tried = await record.call("subscriptions_test", {"type": "order.paid"}, **this)
    sent = tried["delivery_id"]
    await record.call("subscriptions_deliveries", query={"limit": 1}, **this)
    await record.call("subscriptions_redeliver", delivery_id=sent, **this)
    await record.call("subscriptions_resend", {"after": ""}, **this)
    await record.call("subscriptions_rotate_secret", **this)
    await record.call("subscriptions_delete", **this)


async def _operators(
    record: Recorder, alice: Caller, fleet_harness: FleetHarness, world: World
) -> None:
    """Create an organization with people and a key, bill it, look after the rest."""
    made = await record.call("operator_organizations_create", {"name": "Tide Mill"})
    this: dict[str, Any] = {"organization_id": made["organization_id"]}
    await _people(record, world, this)
    wish = {"name": "backend", "scopes": ["node", "flow"], "days": 365}
    key = await record.call("operator_organizations_create_key", wish, **this)
    await record.call("operator_organizations_list_keys", **this)
    gone = {"key_id": key["key_id"], **this}
    await record.call("operator_organizations_revoke_key", **gone)
    await record.call("operator_organizations_list_quotas", **this)
    changes = {"quotas": {"nodes": 5, "keys": None}}
    await record.call("operator_organizations_change_quotas", changes, **this)
    await record.call("operator_money_set_limit", {"most_owed": 5_000_000}, **this)
    gift = {"kind": "credit", "amount": 21_000, "reason": "late channel"}
    await record.call("operator_money_correct", gift, **this)
    await record.call("operator_organizations_get", **this)
    await record.call("operator_organizations_list")
    await record.call("operator_money_list_coupons", query={"limit": 2})
    wish = {"amount": 2_100, "count": 2, "days": 30, "note": "spring fair"}
    await record.call("operator_money_create_coupons", wish)
    world.later(minutes=1)
    lost = await _lost(alice, world)
    await record.call("operator_money_list_orders_of", query={"limit": 2})
    await record.call("operator_money_get_order", order_id=lost)
    await record.call("operator_money_list_orders", query={"limit": 1})
    await record.call("operator_money_list_attention")
    reason = {"reason": "the auction has no such bid"}
    await record.call("operator_money_abandon_order", reason, order_id=lost)
    await _installation(record, fleet_harness)


async def _people(record: Recorder, world: World, this: dict[str, Any]) -> None:
    """Let people in, and out."""
    for email, role in (("ada@example.org", "owner"), ("bo@example.org", "viewer")):
        body = {"email": email, "password": "correct horse battery", "role": role}
        one = await record.call("operator_organizations_create_member", body, **this)
        world.later(minutes=1)
    bo = {"user_id": one["user_id"], **this}
    await record.call("operator_organizations_set_role", {"role": "billing"}, **bo)
    body = {"email": "cy@example.org", "role": "developer"}
    invited = await record.call("operator_organizations_invite", body, **this)
    await record.call("operator_organizations_list_members", **this)
    gone = {"invitation_id": invited["invitation_id"], **this}
    await record.call("operator_organizations_revoke_invitation", **gone)
    await record.call("operator_organizations_list_users")
    await record.call("operator_organizations_list_sessions", **bo)
    await record.call("operator_organizations_sign_out", **bo)
    body = {"password": "battery staple horse"}
    await record.call("operator_organizations_readmit", body, **bo)
    await record.call("operator_organizations_remove_member", **bo)


async def _lost(alice: Caller, world: World) -> str:
    """Return an order whose ticket the market has lost."""
    order = (await alice.post("/flow/create", CHANNEL)).json()
    ticket = (await until(alice, order, "created"))["sidecar_ticket"]
    world.market.forget(ticket)
    return str(order["order_id"])


async def _installation(record: Recorder, fleet_harness: FleetHarness) -> None:
    """Look after nodes, alarms and backups."""
    nodes = await record.call("operator_installation_list_nodes", query={"limit": 1})
    one = nodes["nodes"][0]["node_id"]
    await record.call("operator_installation_start_node", node_id=one)
    await fleet_harness.work()
    await record.call("operator_installation_get_node", node_id=one)
    await record.call("operator_installation_stop_node", node_id=one)
    await fleet_harness.work()
    for name in ("list_ailing", "show", "list_alarms", "list_backups"):
        await record.call(f"operator_installation_{name}")
    await record.call("operator_installation_list_audit", query={"limit": 2})


async def test_every_example_is_what_the_api_answers_and_fits_its_schema(
    alice: Caller, opal: Caller, fleet_harness: FleetHarness, world: World
) -> None:
    record = Recorder(alice, opal)
    await record.call("keys_show")
    one = await _node(record, fleet_harness)
    await _nodes(record, fleet_harness, one)
    await _backups(record, one)
    await _lives(record, fleet_harness, one)
    await _flow(record, alice, world)
    await record.call("quotas_show")
    await record.call("platform_show")
    await record.call("events_list", query={"type": "order.*", "limit": 2})
    await _subscriptions(record)
    await _operators(record, alice, fleet_harness, world)
    await _extended(record, alice, world)
    answer = record.text()
    if "WRITE_EXAMPLES" in os.environ:
        FILE.write_text(answer, encoding="utf-8")
        examples.cache_clear()
    assert set(json.loads(answer)) == {
        each.name for each in (*OPERATIONS, *OPERATOR_OPERATIONS)
    }
    assert answer == FILE.read_text(encoding="utf-8"), (
        "examples.json is out of date; if the API is meant to answer this, run "
        "WRITE_EXAMPLES=1 ./leyden test tests/app/examples"
    )
    _check_schemas()


def _described() -> dict[str, Any]:
    return document(Table((*OPERATIONS, *OPERATOR_OPERATIONS)), version="0.1.0")


def _check_schemas() -> None:
    """Check each example in the document against the schema beside it."""
    described = _described()
    for path, methods in described["paths"].items():
        for method, of in methods.items():
            if "security" in of:
                continue  # beside the table: health and LSPS1
            contents = [of["responses"]["200"]["content"]["application/json"]]
            if "requestBody" in of:
                contents.append(of["requestBody"]["content"]["application/json"])
            for each in contents:
                schema = {**each["schema"], "components": described["components"]}
                if "example" in each:
                    jsonschema_rs.validate(schema, each["example"])
            assert "example" in contents[0], (method, path)


def test_every_operation_and_field_is_described() -> None:
    described = _described()
    for path, methods in described["paths"].items():
        for method, of in methods.items():
            texts = [of["summary"], of["description"]]
            texts += [each["description"] for each in of.get("parameters", ())]
            assert all(texts), (method, path)
            assert set(of["tags"]) <= {each["name"] for each in described["tags"]}
    for name, schema in described["components"]["schemas"].items():
        for field, of in schema.get("properties", {}).items():
            assert of.get("description"), f"{name}.{field}"


def test_servers_are_the_platforms_own_urls() -> None:
    assert _described()["servers"] == [{"url": "/"}]
    url = "https://api.example.org"
    described = document(Table(OPERATIONS), version="0", servers=[url])
    assert described["servers"] == [{"url": url}]
