import uuid
from typing import Any

import pytest

from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import NEW_NODE, refusal
from tests.nodes.fleet_harness import SETTINGS, FleetHarness

WORDS_OF_SETTINGS = ("minchansize", "maxchansize", "defaultfeerate", "basefee")


def with_settings(**changes: object) -> dict[str, Any]:
    return {**NEW_NODE, "settings": {**SETTINGS, **changes}}


async def test_it_answers_what_was_made(alice: Caller, nodes: str) -> None:
    answer = await alice.post(nodes, NEW_NODE)
    assert answer.status == 200
    made = answer.json()
    node_id = made.pop("node_id")
    assert node_id.endswith("N")
    assert str(uuid.UUID(node_id[:-1])) == node_id[:-1]
    assert made == {
        "owner_id": alice.organization_id,
        "network": "testnet",
        "created": "2026-03-01T12:00:00.000Z",
        "purchased_type": "ondemand",
        "type": "standard",
    }


async def test_optional_settings_have_their_defaults(alice: Caller, path: str) -> None:
    settings = (await alice.get(path)).json()["settings"]
    assert settings["wumbo"] is settings["amp"] is True
    for name in WORDS_OF_SETTINGS:
        assert settings[name] == ""
    for name in ("autocompaction", "wtclient", "zeroconf", "remotesigning", "sphinx"):
        assert settings[name] is False


async def test_what_is_the_platforms_to_say_is_ignored_when_it_is_sent(
    alice: Caller, nodes: str
) -> None:
    body = with_settings(sphinx=True, webhook_secret="mine")
    made = (await alice.post(nodes, body)).json()
    settings = (await alice.get(f"{nodes}/{made['node_id']}")).json()["settings"]
    assert settings["sphinx"] is False
    assert settings["webhook_secret"] != "mine"
    assert len(settings["webhook_secret"]) >= 48


async def test_a_version_can_be_chosen(alice: Caller, nodes: str) -> None:
    made = await alice.post(nodes, {**NEW_NODE, "version": "v0.20.1-beta"})
    shown = (await alice.get(f"{nodes}/{made.json()['node_id']}")).json()
    assert shown["lnd_version"] == "v0.20.1-beta"
    assert shown["update_available"] is True


@pytest.mark.parametrize("name", [name for name in NEW_NODE if name != "version"])
async def test_what_is_required_is_missed(alice: Caller, nodes: str, name: str) -> None:
    body = {key: value for key, value in NEW_NODE.items() if key != name}
    status, message = refusal(await alice.post(nodes, body))
    assert (status, message) == (400, f"{name}: is required")


@pytest.mark.parametrize("name", list(SETTINGS))
async def test_seven_settings_are_required(
    alice: Caller, nodes: str, name: str
) -> None:
    settings = {key: value for key, value in SETTINGS.items() if key != name}
    answer = await alice.post(nodes, {**NEW_NODE, "settings": settings})
    status, message = refusal(answer)
    assert status == 400
    assert name in message


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 51}, "name"),
        ({"name": "harbour/light"}, "name"),
        ({"name": "harbour\nlight"}, "name"),
        ({"network": "signet"}, "network"),
        ({"network": "Testnet"}, "network"),
        ({"type": "enterprise"}, "type"),
        ({"version": "v0.18.5-beta"}, "version"),
        ({"version": "v9.9.9-beta"}, "version"),
        ({"version": "../../../bin/sh"}, "version"),
        ({"version": "v0.20.2-beta\n"}, "version"),
        ({"version": None}, "version"),
        (with_settings(alias="x" * 33), "alias"),
        (with_settings(alias="⚓" * 11), "alias"),
        (with_settings(alias='"quoted'), "alias"),
        (with_settings(alias="x\nrestcors=*"), "alias"),
        (with_settings(alias="a\u2028b"), "alias"),
        (with_settings(color="#fff"), "color"),
        (with_settings(color="#ffffff\nrestcors=*"), "color"),
        (with_settings(whitelist=["fe80::1%\nX"]), "whitelist"),
        (with_settings(whitelist=[True]), "whitelist"),
        (with_settings(whitelist=["10.0.0.7/8"]), "whitelist"),
        (with_settings(whitelist=["198.51.100.7"] * 501), "whitelist"),
        (with_settings(minchansize="1e5"), "minchansize"),
        (with_settings(minchansize=20000), "minchansize"),
        (with_settings(maxchansize="١٢٣"), "maxchansize"),
        (with_settings(zeroconf=True), "zeroconf"),
        (with_settings(remotesigning=True), "remotesigninghost"),
        (with_settings(webhook="http://receiver.example/"), "webhook"),
        (with_settings(webhook="https://user:pass@receiver.example/"), "webhook"),
    ],
)
async def test_what_lnd_or_others_would_suffer_from_is_refused(
    alice: Caller,
    nodes: str,
    wrong: dict[str, Any],
    field: str,
    fleet_harness: FleetHarness,
) -> None:
    status, message = refusal(await alice.post(nodes, {**NEW_NODE, **wrong}))
    assert status == 400
    assert field in message
    assert (await alice.get(nodes)).json() == {"nodes": []}
    assert await fleet_harness.work() == 0


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"network": "regtest"}, 'network: must be "mainnet" or "testnet"'),
        ({"type": "huge"}, 'type: must be "professional" or "standard"'),
    ],
)
async def test_the_values_that_are_allowed_are_named(
    alice: Caller, nodes: str, wrong: dict[str, Any], rule: str
) -> None:
    answer = await alice.post(nodes, {**NEW_NODE, **wrong})
    assert refusal(answer) == (400, rule)


async def test_a_name_is_given_once(alice: Caller, bob: Caller, nodes: str) -> None:
    await alice.post(nodes, NEW_NODE)
    status, message = refusal(await bob.post(nodes, NEW_NODE))
    assert (status, message) == (
        409,
        "name: a node named 'harbour light' already exists; choose another name",
    )


async def test_the_same_idempotency_key_makes_one_node(
    alice: Caller, nodes: str
) -> None:
    first = await alice.post(nodes, NEW_NODE, Idempotency_Key="once")
    again = await alice.post(nodes, NEW_NODE, Idempotency_Key="once")
    assert (again.status, again.body) == (200, first.body)
    other = {**NEW_NODE, "name": "pier"}
    assert (await alice.post(nodes, other, Idempotency_Key="once")).status == 400
    assert len((await alice.get(nodes)).json()["nodes"]) == 1
