from datetime import timedelta
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.rules.times import to_iso
from leyden.errors import NodeAway
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import ITEM_FIELDS, NEW_NODE, refusal
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.rules.test_node_settings import PEM


async def status(alice: Caller, path: str) -> str:
    shown: str = (await alice.get(path)).json()["status"]
    return shown


async def test_stop_and_start_answer_the_list_item(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    for action, at_once, then in (
        ("stop", "stopping", "stopped"),
        ("start", "starting", "waiting_init"),
        ("restart", "restarting", "waiting_init"),
    ):
        answer = await alice.call("POST", f"{path}/{action}")
        assert answer.status == 200
        item = answer.json()
        assert {name: type(value) for name, value in item.items()} == ITEM_FIELDS
        assert item["status"] == at_once
        await fleet_harness.work()
        assert await status(alice, path) == then
    history = (await alice.get(path)).json()["command_history"]
    actions = [each["action"] for each in history]
    assert actions == ["restart", "start", "stop", "create"]


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
async def test_an_empty_object_may_be_sent_along(
    alice: Caller, path: str, fleet_harness: FleetHarness, action: str
) -> None:
    if action == "start":
        await alice.post(f"{path}/stop", {})
        await fleet_harness.work()
    assert (await alice.post(f"{path}/{action}", {})).status == 200


async def test_what_the_state_does_not_allow_is_a_conflict(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    assert refusal(await alice.call("POST", f"{path}/start")) == (
        409,
        "a node that is waiting_init cannot be started",
    )
    await alice.call("POST", f"{path}/stop")
    await fleet_harness.work()
    for action, words in (("stop", "stopped"), ("restart", "restarted")):
        assert refusal(await alice.call("POST", f"{path}/{action}")) == (
            409,
            f"a node that is stopped cannot be {words}",
        )


async def test_an_update_says_where_it_goes_and_goes_there_once(
    alice: Caller, nodes: str, fleet_harness: FleetHarness
) -> None:
    made = await alice.post(nodes, {**NEW_NODE, "version": "v0.20.1-beta"})
    path = f"{nodes}/{made.json()['node_id']}"
    await fleet_harness.work()
    assert (await alice.call("POST", f"{path}/update")).json() == {
        "node_id": made.json()["node_id"],
        "lnd_version": "v0.20.2-beta",
        "service_version": "0.1.0",
    }
    assert await status(alice, path) == "updating"
    await fleet_harness.work()
    assert await status(alice, path) == "waiting_init"
    assert refusal(await alice.post(f"{path}/update", {})) == (
        409,
        "node is already up to date",
    )
    back = await alice.post(f"{path}/update", {"version": "v0.20.1-beta"})
    assert back.status == 409
    mute = await alice.call("POST", f"{path}/update", content_type="text/plain")
    assert mute.status == 409, "there is nothing to be read"
    typed = await alice.call("POST", f"{path}/update", b"{}", content_type="text/plain")
    assert typed.status == 415
    unknown = await alice.post(f"{path}/update", {"version": "v0.20.99-beta"})
    assert unknown.status == 400


async def test_a_deleted_node_is_gone_and_its_name_free(
    alice: Caller,
    nodes: str,
    path: str,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
) -> None:
    answer = await alice.delete(path)
    assert (answer.status, answer.json()["status"]) == (200, "deleting")
    assert (await alice.delete(path)).status == 409
    await fleet_harness.work()
    assert (await alice.get(path)).body == b'{"message":"not found"}'
    assert (await alice.delete(path)).status == 404
    assert (await alice.get(nodes)).json() == {"nodes": []}
    again = await alice.post(nodes, NEW_NODE)
    assert again.status == 200
    assert again.json()["node_id"] != node["node_id"]


async def test_a_deleted_node_is_restored_as_it_was_while_its_data_is_kept(
    alice: Caller,
    charlie: Caller,
    nodes: str,
    path: str,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
) -> None:
    before = (await alice.get(path)).json()
    assert refusal(await alice.post(f"{path}/restore", {})) == (
        409,
        "a node that is waiting_init cannot be restored: it is not deleted",
    )
    await alice.delete(path)
    await fleet_harness.work()
    (deleted,) = (await alice.get(f"{nodes}/deleted")).json()["nodes"]
    assert deleted == {
        "node_name": before["node_name"],
        "node_id": node["node_id"],
        "network": before["network"],
        "lnd_version": before["lnd_version"],
        "created": before["created"],
        "deleted": to_iso(fleet_harness.now),
        "restorable_until": to_iso(fleet_harness.now + timedelta(days=7)),
    }
    theirs = nodes.replace(alice.organization_id, charlie.organization_id)
    assert (await charlie.get(f"{theirs}/deleted")).json() == {"nodes": []}
    stolen = await charlie.post(f"{theirs}/{node['node_id']}/restore", {})
    assert stolen.status == 404
    await fleet_harness.later(days=6)
    answer = await alice.post(f"{path}/restore", {})
    assert (answer.status, answer.json()["status"]) == (200, "stopped")
    assert (await alice.get(f"{nodes}/deleted")).json() == {"nodes": []}
    await fleet_harness.later(days=9)
    after = (await alice.get(path)).json()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"status", "command_history"}
    assert (await alice.call("POST", f"{path}/start")).status == 200
    await fleet_harness.work()
    assert await status(alice, path) == "waiting_init"


async def test_a_node_whose_name_is_taken_is_restored_under_another(
    alice: Caller,
    nodes: str,
    path: str,
    node: dict[str, Any],
    fleet_harness: FleetHarness,
) -> None:
    await alice.delete(path)
    await fleet_harness.work()
    assert (await alice.post(nodes, NEW_NODE)).status == 200
    code, message = refusal(await alice.post(f"{path}/restore", {}))
    assert (code, "restore this node with another name" in message) == (409, True)
    wrong = await alice.post(f"{path}/restore", {"name": "<pier>"})
    assert wrong.status == 400
    answer = await alice.post(f"{path}/restore", {"name": "old pier"})
    assert answer.json()["node_name"] == "old pier"
    assert answer.json()["node_id"] == node["node_id"]


async def test_a_node_whose_data_is_being_destroyed_is_never_restored(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    await alice.delete(path)
    await fleet_harness.work()
    node_id = path.rpartition("/")[2]
    fleet_harness.runtime.cut_off(node_id)
    with pytest.raises(NodeAway):
        await fleet_harness.later(days=7)
    fleet_harness.runtime.reconnect(node_id)
    fleet_harness.now -= timedelta(days=1)  # another process's clock, which is slow
    assert (await alice.post(f"{path}/restore", {})).status == 404
    await fleet_harness.later(days=1)
    assert (await alice.post(f"{path}/restore", {})).status == 404


@pytest.mark.parametrize(
    ("field", "address"),
    [
        ("webhook", "https://169.254.169.254/latest/meta-data"),
        ("webhook", "https://[::ffff:127.0.0.1]:8443/"),
        ("webhook", "https://2130706433/"),
        ("remotesigninghost", "127.0.0.1:10009"),
        ("remotesigninghost", "[64:ff9b::7f00:1]:10009"),
        ("remotesigninghost", "0x7f000001"),
    ],
)
async def test_an_address_that_may_not_be_called_is_refused_where_it_is_set(
    alice: Caller, path: str, field: str, address: str
) -> None:
    before = (await alice.get(path)).body
    status, message = refusal(await alice.post(f"{path}/settings", {field: address}))
    assert (status, message.partition(":")[0]) == (400, field)
    assert (await alice.get(path)).body == before
    wish = {**NEW_NODE, "name": "pier"}
    wish["settings"] = {**wish["settings"], field: address}
    nodes = path.rpartition("/")[0]
    status, message = refusal(await alice.post(nodes, wish))
    assert (status, message.partition(":")[0]) == (400, field)
    assert len((await alice.get(nodes)).json()["nodes"]) == 1


async def test_a_wallet_that_has_keys_keeps_them(
    alice: Caller, path: str, node: dict[str, str], db: Database
) -> None:
    signer = {
        "remotesigning": True,
        "remotesigninghost": "signer.example:10009",
        "remotesigningmacaroon": "0201036c6e6402" + "ab" * 40,
        "remotesigningcert": PEM,
    }
    async with db.transaction() as tx:
        before = await tx.nodes.lock(node["node_id"])
        await tx.nodes.save(before, replace(before, has_wallet=True))
    status_, message = refusal(await alice.post(f"{path}/settings", signer))
    assert (status_, "create a new node" in message) == (409, True)
    assert not (await alice.get(path)).json()["settings"]["remotesigning"]
    async with db.transaction() as tx:
        known = await tx.nodes.lock(node["node_id"])
        await tx.nodes.save(known, replace(known, has_wallet=False))
    assert (await alice.post(f"{path}/settings", signer)).status == 200


async def test_settings_change_one_by_one_and_restart_where_they_must(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    answer = await alice.post(f"{path}/settings", {"rest": False})
    assert answer.json()["settings"]["rest"] is False
    assert answer.json()["status"] == "waiting_init"
    answer = await alice.post(f"{path}/settings", {"alias": "harbour dark"})
    assert answer.json()["settings"]["alias"] == "harbour dark"
    assert answer.json()["settings"]["rest"] is False
    assert answer.json()["status"] == "restarting"
    await fleet_harness.work()
    shown = (await alice.get(path)).json()
    assert (await alice.post(f"{path}/settings", shown["settings"])).status == 200
    assert await status(alice, path) == "waiting_init", "nothing was changed"


@pytest.mark.parametrize(
    "given", [{"alias": ""}, {"color": "red"}, {"zeroconf": True}, {"sphinx": 1}]
)
async def test_a_wrong_setting_changes_none(
    alice: Caller, path: str, given: dict[str, Any]
) -> None:
    before = (await alice.get(path)).json()
    answer = await alice.post(f"{path}/settings", {"rest": False, **given})
    assert answer.status == 400
    assert (await alice.get(path)).json() == before
