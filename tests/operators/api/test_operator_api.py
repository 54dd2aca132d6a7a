"""The operator API: who may call it, what each operation does, and what it records."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.base.http.operations import Operation, Table
from leyden.base.platform import Platform
from leyden.base.rules.accounts import INSTALLATION, Role, Scope
from leyden.channels.books.verify import verify
from leyden.errors import Malformed, NotFound, Unauthorized
from leyden.manual.openapi import document
from leyden.nodes.rules.observations import LndState
from leyden.people import accounts, api_keys
from tests.base.api.conftest import Answer, Caller
from tests.channels.api.flow.conftest import World, until
from tests.conftest import NOW
from tests.nodes.api.nodes.conftest import CIPHERTEXT, NEW_NODE
from tests.nodes.fleet_harness import FleetHarness

PASSWORD = "correct horse battery staple"
_THIS = "/operator/organizations/{organization_id}"
_USER = "/operator/users/{user_id}"
# Each operation that takes a body: one that is right, and a field that is wrong.
BODIES: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {
    ("POST", "/operator/organizations"): ({"name": "Third Shore"}, {"name": 7}),
    ("POST", f"{_THIS}/account"): ({"most_owed": 5_000}, {"most_owed": -1}),
    ("POST", f"{_THIS}/corrections"): (
        {"kind": "credit", "amount": 21_000, "reason": "a gift"},
        {"amount": 0},
    ),
    ("POST", f"{_THIS}/quotas"): ({"quotas": {"nodes": 3}}, {"quotas": {"nodes": "3"}}),
    ("POST", f"{_THIS}/members"): (
        {"email": "new@example.org", "password": PASSWORD},
        {"role": "captain"},
    ),
    ("POST", f"{_THIS}/members/{{user_id}}"): ({"role": "owner"}, {"role": ""}),
    ("POST", f"{_THIS}/invitations"): ({"email": "c@example.org"}, {"email": 7}),
    ("POST", f"{_THIS}/keys"): (
        {"name": "backend", "scopes": ["node"]},
        {"scopes": ["operator"]},
    ),
    ("POST", f"{_USER}/readmit"): ({"password": PASSWORD}, {"password": 7}),
    ("POST", "/operator/coupons"): ({"amount": 2_100, "count": 2}, {"count": 1_001}),
    ("POST", "/operator/orders/{order_id}/abandon"): (
        {"reason": "lost"},
        {"reason": 7},
    ),
}
# What none of them is for, in this state of order and node.
NOT_NOW = {"/operator/orders/{order_id}/abandon", "/operator/nodes/{node_id}/start"}
named = pytest.mark.parametrize(
    "operation", OPERATOR_OPERATIONS, ids=lambda each: each.name
)


@pytest.fixture
async def ids(
    alice: Caller, platform: Platform, fleet_harness: FleetHarness, world: World
) -> dict[str, str]:
    """What is Alice's: a node, an order with a ticket, members and a key."""
    of = alice.organization_id
    fleet_harness.runtime.says = LndState.SERVER_ACTIVE
    path = f"/organizations/{of}/nodes"
    node = (await alice.post(path, NEW_NODE)).json()["node_id"]
    await fleet_harness.work()
    await alice.post(f"{path}/{node}/seed", {"seed": CIPHERTEXT})
    order = (await alice.post("/flow/create", {"capacity": 1_000_000})).json()
    world.pay(order)
    await until(alice, order, "created")
    people = [
        await accounts.create_user(
            platform,
            f"{name}@example.org",
            password=None,
            organization_id=of,
            role=Role.OWNER,
            actor="test",
        )
        for name in ("alice", "bob")
    ]
    reader = platform.database.reader
    return {
        "organization_id": of,
        "node_id": node,
        "order_id": order["order_id"],
        "user_id": people[1].id,
        "key_id": (await reader.keys.list_(of))[0].id,
    }


async def call(
    caller: Caller, operation: Operation, ids: dict[str, str], body: object = None
) -> Answer:
    path = operation.path.format_map({"invitation_id": "none", **ids})
    raw = b"" if body is None else json.dumps(body).encode()
    return await caller.call(operation.method, path, raw)


def body_of(operation: Operation) -> Any:
    return BODIES.get((operation.method, operation.path), (None, None))[0]


def test_the_table_here_has_each_operation_that_takes_a_body() -> None:
    taking = {(each.method, each.path) for each in OPERATOR_OPERATIONS if each.body}
    assert taking == set(BODIES)
    assert {each.scope for each in OPERATOR_OPERATIONS} == {Scope.OPERATOR}
    assert Scope.OPERATOR not in {each.scope for each in OPERATIONS}


@named
async def test_an_operators_key_may_and_each_call_is_recorded(
    opal: Caller, platform: Platform, ids: dict[str, str], operation: Operation
) -> None:
    if operation.name.endswith("revoke_invitation"):
        path = f"/operator/organizations/{ids['organization_id']}/invitations"
        made = await opal.post(path, {"email": "c@example.org"})
        ids["invitation_id"] = made.json()["invitation_id"]
    answer = await call(opal, operation, ids, body_of(operation))
    assert answer.status == (409 if operation.path in NOT_NOW else 200), answer.body
    lines = await platform.database.reader.audit.latest(limit=500)
    (key,) = await platform.database.reader.keys.list_(INSTALLATION)
    path = operation.path.format_map({"invitation_id": "none", **ids})
    called = [each for each in lines if each.action == "operator API called"]
    assert called[0].actor == f"operator:key:{key.id}"
    assert f"{operation.method} {path}" in {each.subject for each in called}
    text = repr([(each.subject, each.detail) for each in lines]).encode()
    for secret in (PASSWORD.encode(), (opal.key or "").encode(), CIPHERTEXT.encode()):
        assert secret not in text


@named
async def test_no_answer_has_a_secret_of_a_customers(
    opal: Caller, alice: Caller, ids: dict[str, str], operation: Operation
) -> None:
    order = (await alice.post("/flow/status", {"order_id": ids["order_id"]})).json()
    answer = await call(opal, operation, ids, body_of(operation))
    for secret in (
        alice.key or "",
        CIPHERTEXT,
        order["sidecar_ticket"],
        order["lightning_invoice"],
        PASSWORD,
    ):
        assert secret
        assert secret.encode() not in answer.body


@named
async def test_a_customers_key_may_not_whatever_its_scopes(
    alice: Caller, platform: Platform, ids: dict[str, str], operation: Operation
) -> None:
    before = await platform.database.reader.audit.latest(limit=500)
    for scopes in (["node"], ["flow"], ["node", "flow"]):
        _, text = await api_keys.create(
            platform,
            alice.organization_id,
            name="pier",
            scopes=scopes,
            expires=None,
            actor="test",
        )
        caller = Caller(alice.api, text, alice.organization_id)
        answer = await call(caller, operation, ids, body_of(operation))
        assert answer.status == 403
        assert "lacks the scope operator" in answer.json()["message"]
    after = await platform.database.reader.audit.latest(limit=500)
    assert {each.action for each in after[: len(after) - len(before)]} == {
        "key created"
    }


@named
async def test_without_a_key_nobody_learns_anything(
    nobody: Caller, operation: Operation
) -> None:
    ids = dict.fromkeys(operation.parameters, "x")
    answer = await call(nobody, operation, ids, body_of(operation))
    assert (answer.status, answer.json()["message"]) == (401, "Unauthorized")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
async def test_an_operators_key_reaches_nothing_of_customers(
    opal: Caller, ids: dict[str, str], operation: Operation
) -> None:
    more = {"name": "x", "delivery_id": "x", "subscription_id": "x"}
    answer = await call(opal, operation, {**ids, **more})
    assert answer.status == 403
    assert "operator" in answer.json()["message"]


@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATOR_OPERATIONS if each.parameters],
    ids=lambda each: each.name,
)
async def test_what_is_not_there_is_not_found(
    opal: Caller, operation: Operation
) -> None:
    for word in ("no-such-id", "..", "x" * 300):
        ids = dict.fromkeys(operation.parameters, word)
        answer = await call(opal, operation, ids, body_of(operation))
        assert (answer.status, word, answer.json()) == (404, word, answer.json())


@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATOR_OPERATIONS if each.body],
    ids=lambda each: each.name,
)
async def test_a_wrong_or_unknown_field_is_refused_by_name(
    opal: Caller, ids: dict[str, str], operation: Operation
) -> None:
    body, wrong = BODIES[operation.method, operation.path]
    answer = await call(opal, operation, ids, {**body, **wrong})
    assert answer.status == 400
    assert next(iter(wrong)) in answer.json()["message"]
    answer = await call(opal, operation, ids, {**body, "colour": "red"})
    assert answer.status == 400
    assert answer.json()["message"] == "colour: is not a known field"


@pytest.mark.parametrize(
    "path",
    [
        "/operator/coupons?limit=0",
        "/operator/coupons?colour=red",
        "/operator/nodes?status=asleep",
        "/operator/audit?limit=x",
        "/operator/alarms?limit=1",
    ],
)
async def test_a_wrong_query_is_refused(opal: Caller, path: str) -> None:
    assert (await opal.get(path)).status == 400


async def test_a_wrong_cursor_is_refused(opal: Caller, alice: Caller) -> None:
    path = f"/operator/organizations/{alice.organization_id}/orders?cursor=none"
    answer = await opal.get(path)
    assert (answer.status, answer.json()["message"].split(":")[0]) == (400, "cursor")


async def test_money_moves_once_under_one_idempotency_key(
    opal: Caller, alice: Caller, platform: Platform
) -> None:
    path = f"/operator/organizations/{alice.organization_id}"
    gift = {"kind": "credit", "amount": 21_000, "reason": "a gift"}
    for _ in range(3):
        answer = await opal.post(f"{path}/corrections", gift, idempotency_key="june")
        assert answer.json()["credit"] == 21_000
    other = await opal.post(
        f"{path}/corrections", {**gift, "amount": 1}, idempotency_key="june"
    )
    assert (other.status, "Idempotency-Key" in other.json()["message"]) == (400, True)
    wish = {"amount": 2_100, "count": 3}
    answers = await asyncio.gather(
        *(opal.post("/operator/coupons", wish, idempotency_key="fair") for _ in "abc")
    )
    assert {each.status for each in answers} <= {200, 409}
    # The process died between the commit and its answer.
    async with platform.database.transaction() as tx:
        await tx.answers.prune(now=NOW + timedelta(days=2), limit=100)
    again = await opal.post("/operator/coupons", wish, idempotency_key="fair")
    made = again.json()["coupons"]
    assert len(made) == 3
    listed = (await opal.get("/operator/coupons")).json()
    assert {each["coupon"] for each in listed["coupons"]} == {
        each["coupon"] for each in made
    }
    page = (await opal.get("/operator/coupons?limit=2")).json()
    rest = (await opal.get(f"/operator/coupons?cursor={page['next_cursor']}")).json()
    assert [*page["coupons"], *rest["coupons"]] == listed["coupons"]
    assert await verify(platform.database) == []


async def test_a_customer_gets_what_an_operator_gave(
    opal: Caller, alice: Caller
) -> None:
    path = f"/operator/organizations/{alice.organization_id}"
    wish = {"amount": 2_100, "organization_id": alice.organization_id}
    (coupon,) = (await opal.post("/operator/coupons", wish)).json()["coupons"]
    got = await alice.post("/flow/redeem", {"coupon": coupon["coupon"]})
    assert got.json()["credit"] == 2_100
    assert (await opal.get(path)).json()["credit"] == 2_100
    await opal.post(f"{path}/account", {"most_owed": 100_000})
    ordered = (await alice.post("/flow/create", {"capacity": 1_000_000})).json()
    shown = (await opal.get(f"/operator/orders/{ordered['order_id']}")).json()
    assert shown["credit_used"] == 2_100
    owed = (await opal.get(path)).json()["owed"]
    assert owed == shown["charged"] == shown["fee"] - 2_100
    paid = {"kind": "settled", "amount": owed, "reason": "bank transfer 7"}
    assert (await opal.post(f"{path}/corrections", paid)).json()["owed"] == 0
    listed = (await opal.get(f"{path}/orders")).json()["orders"]
    assert [each["order_id"] for each in listed] == [ordered["order_id"]]
    key = {"name": "backend", "scopes": ["node", "flow"], "days": 30}
    made = (await opal.post(f"{path}/keys", key)).json()
    backend = Caller(alice.api, made["api_key"], alice.organization_id)
    assert (await backend.get("/key")).json()["key_name"] == "backend"
    assert (await opal.delete(f"{path}/keys/{made['key_id']}")).status == 200
    assert (await backend.get("/key")).status == 401
    assert "api_key" not in (await opal.get(f"{path}/keys")).json()["keys"][-1]


async def test_quotas_of_one_name_change_and_are_reset(
    opal: Caller, alice: Caller
) -> None:
    path = f"/operator/organizations/{alice.organization_id}/quotas"
    default = (await opal.get(path)).json()["quotas"]["nodes"]["default"]
    changed = await opal.post(path, {"quotas": {"nodes": 3}})
    assert changed.json()["quotas"]["nodes"]["limit"] == 3
    changed = await opal.post(path, {"quotas": {"nodes": None}})
    assert changed.json()["quotas"]["nodes"]["limit"] == default
    for wrong in ({"boats": 3}, {"nodes": -1}):
        assert (await opal.post(path, {"quotas": wrong})).status == 400


async def test_an_owner_sees_that_an_operator_stopped_the_node(
    opal: Caller, alice: Caller, ids: dict[str, str], fleet_harness: FleetHarness
) -> None:
    path = f"/operator/nodes/{ids['node_id']}"
    assert (await opal.get(path)).json()["status"] == "running"
    assert (await opal.call("POST", f"{path}/stop")).json()["node_id"] == ids["node_id"]
    await fleet_harness.work()
    here = f"/organizations/{alice.organization_id}/nodes/{ids['node_id']}"
    assert (await alice.get(here)).json()["status"] == "stopped"
    assert (await opal.call("POST", f"{path}/start")).status == 200
    listed = await opal.get(f"/operator/nodes?organization_id={alice.organization_id}")
    assert [each["node_id"] for each in listed.json()["nodes"]] == [ids["node_id"]]
    assert not listed.json()["has_more"]


async def test_no_key_makes_an_operator_or_becomes_one(
    opal: Caller, ids: dict[str, str], platform: Platform
) -> None:
    """So that a key that was revoked leaves nobody behind who can do the same."""
    await accounts.set_operator(
        platform, "bob@example.org", operator=True, actor="test"
    )
    path = f"/operator/users/{ids['user_id']}"
    answer = await opal.post(f"{path}/readmit", {"password": PASSWORD})
    assert answer.status == 409
    for nowhere in ("/operator/keys", f"{path}/operator"):
        assert (await opal.post(nowhere, {})).status == 404


async def test_a_revoked_or_expired_key_opens_nothing(
    opal: Caller, platform: Platform
) -> None:
    path = "/operator/organizations"
    assert (await opal.get(path)).status == 200
    (key,) = await platform.database.reader.keys.list_(INSTALLATION)
    opal.meanwhile = lambda: api_keys.revoke_operator_key(
        platform, key.id, actor="test"
    )
    assert (await opal.post(path, {"name": "Too Late"})).status == 401
    assert (await opal.get(path)).status == 401
    with pytest.raises(NotFound):
        await api_keys.revoke_operator_key(platform, key.id, actor="test")
    _, text = await api_keys.create_operator_key(
        platform, name="short", expires=NOW + timedelta(seconds=1), actor="test"
    )
    with pytest.raises(Unauthorized):
        await api_keys.authenticate(platform, text, now=NOW + timedelta(seconds=1))


async def test_all_keys_are_revoked_with_operators_keys(
    opal: Caller, alice: Caller, platform: Platform
) -> None:
    """As after a backup that others may have."""
    async with platform.database.transaction() as tx:
        assert await api_keys.revoke_all(tx, actor="test", now=NOW) == 2
    assert (await opal.get("/operator/organizations")).status == 401
    assert (await alice.get("/key")).status == 401


async def test_an_organization_gets_no_key_of_operators(
    alice: Caller, platform: Platform
) -> None:
    for scopes in (["operator"], ["node", "operator"]):
        with pytest.raises(Malformed, match=r"node, flow$"):
            await api_keys.create(
                platform,
                alice.organization_id,
                name="sly",
                scopes=scopes,
                expires=None,
                actor="test",
            )
    with pytest.raises(NotFound):
        await api_keys.create(
            platform,
            INSTALLATION,
            name="sly",
            scopes=["node"],
            expires=None,
            actor="test",
        )


def test_the_document_describes_operators_under_a_tag_of_their_own() -> None:
    described = document(Table((*OPERATIONS, *OPERATOR_OPERATIONS)), version="0")
    assert "Operator" in {each["name"] for each in described["tags"]}
    for operation in OPERATOR_OPERATIONS:
        of = described["paths"][operation.path][operation.method.lower()]
        assert of["tags"] == ["Operator"]
        assert of["summary"]
        assert all(each["description"] for each in of["parameters"])
    for name, schema in described["components"]["schemas"].items():
        for field, of in schema.get("properties", {}).items():
            assert of.get("description"), f"{name}.{field}"
    plain = document(Table(OPERATIONS), version="0")
    assert "Operator" not in {each["name"] for each in plain["tags"]}
