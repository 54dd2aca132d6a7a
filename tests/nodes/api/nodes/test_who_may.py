"""The same opening for every node endpoint: Alice may, Bob may, Charlie may not."""

import json
from typing import Any

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.base.http.operations import Operation
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Scope
from leyden.people import api_keys
from tests.base.api.conftest import Answer, Caller
from tests.nodes.api.nodes.conftest import (
    CIPHERTEXT,
    FOREIGN,
    NEW_NODE,
    refusal,
    sha256_of,
)
from tests.nodes.fleet_harness import FleetHarness

_ONE = "/organizations/{organization_id}/nodes/{node_id}"
# Each endpoint, a body that it takes, and a field of a wrong type in it.
DRILL = {"time": "2026-01-01T12:00:00Z", "signature": "y" * 104}
CALLS: dict[tuple[str, str], tuple[Any, Any]] = {
    ("GET", "/organizations/{organization_id}/nodes"): (None, None),
    ("POST", "/organizations/{organization_id}/nodes"): (
        {**NEW_NODE, "name": "pier"},
        {"name": 7},
    ),
    ("GET", "/organizations/{organization_id}/nodes/deleted"): (None, None),
    ("GET", _ONE): (None, None),
    ("DELETE", _ONE): (None, None),
    ("POST", f"{_ONE}/restore"): ({"name": "old light"}, {"name": 7}),
    ("POST", f"{_ONE}/start"): (None, None),
    ("POST", f"{_ONE}/stop"): (None, None),
    ("POST", f"{_ONE}/restart"): (None, None),
    ("POST", f"{_ONE}/update"): ({"version": "v0.21.2-beta"}, {"version": 21}),
    ("POST", f"{_ONE}/settings"): ({"keysend": False}, {"keysend": "false"}),
    ("POST", f"{_ONE}/whitelist"): ({"whitelist": []}, {"whitelist": "::/0"}),
    ("GET", f"{_ONE}/cert"): (None, None),
    ("POST", f"{_ONE}/tls"): ({}, {"certificate": 7}),
    ("POST", f"{_ONE}/macaroon"): (
        {"macaroon": CIPHERTEXT, "name": "admin"},
        {"macaroon": ["a"], "name": "admin"},
    ),
    ("GET", f"{_ONE}/macaroons"): (None, None),
    ("GET", f"{_ONE}/macaroon/{{name}}"): (None, None),
    ("POST", f"{_ONE}/seed"): ({"seed": CIPHERTEXT}, {"seed": None}),
    ("GET", f"{_ONE}/seed"): (None, None),
    ("POST", f"{_ONE}/reseal"): (
        {"seed": {"seed": CIPHERTEXT, "replaces": sha256_of(CIPHERTEXT)}},
        {"seed": 7},
    ),
    ("GET", f"{_ONE}/replaced"): (None, None),
    ("GET", f"{_ONE}/proofs"): (None, None),
    ("POST", f"{_ONE}/drill"): (DRILL, {**DRILL, "time": 7}),
    ("GET", f"{_ONE}/backup"): (None, None),
    ("GET", f"{_ONE}/logs"): (None, None),
    ("GET", f"{_ONE}/connect"): (None, None),
    ("GET", f"{_ONE}/metrics"): (None, None),
    ("GET", "/versions"): (None, None),
}
OURS = [each for each in OPERATIONS if (each.method, each.path) in CALLS]
ABOUT_A_NODE = [each for each in OURS if "{node_id}" in each.path]


def named(operation: Operation) -> str:
    return operation.name


async def call(
    caller: Caller, operation: Operation, body: Any, **parameters: str
) -> Answer:
    return await caller.call(
        operation.method,
        operation.path.format(**parameters),
        b"" if body is None else json.dumps(body).encode(),
    )


@pytest.fixture
async def parameters(
    alice: Caller,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
    operation: Operation,
) -> dict[str, str]:
    """What stands in the path, and a node to which the endpoint can be applied."""
    found = {
        "organization_id": alice.organization_id,
        "node_id": node["node_id"],
        "name": "read",
    }
    path = _ONE.format(**found)
    if operation.path.endswith("/start"):
        assert (await alice.call("POST", f"{path}/stop")).status == 200
        await fleet_harness.work()
    if operation.path.endswith("/restore"):
        assert (await alice.delete(path)).status == 200
        await fleet_harness.work()
    if operation.name in {
        "backups_get_seed",
        "backups_get_macaroon",
        "backups_reseal",
    }:
        await alice.post(f"{path}/seed", {"seed": CIPHERTEXT})
        await alice.post(f"{path}/macaroon", {"macaroon": CIPHERTEXT, "name": "read"})
    if operation.path.endswith("/backup"):
        fleet_harness.node_files.channel_backups[node["node_id"]] = b"encrypted by lnd"
    return found


def test_every_node_endpoint_is_in_the_table_here() -> None:
    node_endpoints = {
        (each.method, each.path)
        for each in OPERATIONS
        if each.scope is Scope.NODE and "webhook" not in each.path
    }
    assert node_endpoints == set(CALLS)


@pytest.mark.parametrize("operation", OURS, ids=named)
async def test_alice_may(
    alice: Caller, operation: Operation, parameters: dict[str, str]
) -> None:
    body, _ = CALLS[operation.method, operation.path]
    answer = await call(alice, operation, body, **parameters)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("operation", OURS, ids=named)
async def test_bob_may_what_alice_may(
    bob: Caller, operation: Operation, parameters: dict[str, str]
) -> None:
    body, _ = CALLS[operation.method, operation.path]
    answer = await call(bob, operation, body, **parameters)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize(
    "operation", [each for each in OURS if each.parameters], ids=named
)
async def test_to_charlie_nothing_of_it_exists(
    charlie: Caller, operation: Operation, parameters: dict[str, str]
) -> None:
    body, _ = CALLS[operation.method, operation.path]
    answer = await call(charlie, operation, body, **parameters)
    assert answer.status == 404
    assert answer.body == b'{"message":"not found"}'


@pytest.mark.parametrize("operation", ABOUT_A_NODE, ids=named)
@pytest.mark.parametrize(
    "node_id", [FOREIGN, "no-such-id", "..", "a b", "%2e%2e", "x" * 300, "null"]
)
async def test_whatever_is_not_there_is_not_found(
    alice: Caller, operation: Operation, node_id: str
) -> None:
    body, _ = CALLS[operation.method, operation.path]
    answer = await call(
        alice,
        operation,
        body,
        organization_id=alice.organization_id,
        node_id=node_id,
        name="read",
    )
    assert answer.status == 404
    assert answer.body == b'{"message":"not found"}'


@pytest.mark.parametrize("operation", ABOUT_A_NODE, ids=named)
async def test_charlies_own_organization_does_not_open_alices_node(
    charlie: Caller, operation: Operation, parameters: dict[str, str]
) -> None:
    body, _ = CALLS[operation.method, operation.path]
    mixed = {**parameters, "organization_id": charlie.organization_id}
    answer = await call(charlie, operation, body, **mixed)
    assert answer.body == b'{"message":"not found"}'


@pytest.mark.parametrize("operation", OURS, ids=named)
async def test_without_a_key_nobody_learns_anything(
    nobody: Caller, operation: Operation
) -> None:
    answer = await call(
        nobody, operation, None, organization_id="x", node_id="y", name="z"
    )
    assert refusal(answer) == (401, "Unauthorized")


@pytest.mark.parametrize("operation", OURS, ids=named)
async def test_a_key_for_ordering_does_not_reach_nodes(
    alice: Caller, platform: Platform, operation: Operation
) -> None:
    _, text = await api_keys.create(
        platform,
        alice.organization_id,
        name="orders",
        scopes=["flow"],
        expires=None,
        actor="test",
    )
    caller = Caller(alice.api, text, alice.organization_id)
    answer = await call(
        caller,
        operation,
        None,
        organization_id=alice.organization_id,
        node_id=FOREIGN,
        name="read",
    )
    assert answer.status == 403


@pytest.mark.parametrize(
    "operation",
    [each for each in OURS if CALLS[each.method, each.path][1] is not None],
    ids=named,
)
async def test_a_wrong_type_or_an_unknown_field_is_refused_by_name(
    alice: Caller, operation: Operation, parameters: dict[str, str]
) -> None:
    body, wrong = CALLS[operation.method, operation.path]
    status, message = refusal(
        await call(alice, operation, {**body, **wrong}, **parameters)
    )
    assert status == 400
    assert next(iter(wrong)) in message
    status, message = refusal(
        await call(alice, operation, {**body, "colour": "red"}, **parameters)
    )
    assert (status, message) == (400, "colour: is not a known field")
