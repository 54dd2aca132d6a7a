"""An answer that is kept is the answer that would be given now."""

from typing import Any

from leyden.domain.observations import State
from leyden.services.platform import Platform
from leyden.storage.subscriptions import webhook_secret_purpose
from tests.api.conftest import Caller
from tests.services.fleet_harness import FleetHarness


async def test_whatever_changes_is_seen_by_the_next_who_asks(
    alice: Caller,
    nodes: str,
    path: str,
    fleet_harness: FleetHarness,
    platform: Platform,
) -> None:
    async def shown() -> dict[str, Any]:
        whole: dict[str, Any] = (await alice.get(path)).json()
        (listed,) = (await alice.get(nodes)).json()["nodes"]
        assert listed.items() <= whole.items()
        again = (await alice.get(path)).json()
        assert again == whole
        return whole

    before = await shown()
    assert before["status"] == "waiting_init"

    fleet_harness.runtime.say(before["node_id"], State.SERVER_ACTIVE)
    await fleet_harness.settled()
    assert (await shown())["status"] == "running"

    await alice.post(f"{path}/settings", {"alias": "other light"})
    after = await shown()
    assert after["settings"]["alias"] == "other light"
    assert [each["action"] for each in after["command_history"]] == [
        "settings",
        "create",
    ]

    # What was asked for is history, also where it changes nothing.
    await alice.post(f"{path}/settings", {"alias": "other light"})
    assert len((await shown())["command_history"]) == 3

    purpose = webhook_secret_purpose(before["node_id"])
    async with platform.database.transaction() as tx:
        sealed = platform.sealer.seal(b"another", purpose=purpose)
        await tx.launch_specs.set_webhook_secret(before["node_id"], sealed)
    assert (await shown())["settings"]["webhook_secret"] == "another"


async def test_what_is_kept_for_one_team_is_not_for_another(
    alice: Caller, charlie: Caller, nodes: str, path: str
) -> None:
    for _ in range(2):
        assert (await alice.get(path)).status == 200
        assert (await alice.get(nodes)).status == 200
        assert (await charlie.get(path)).status == 404
        other = path.replace(alice.organization_id, charlie.organization_id)
        assert (await charlie.get(other)).status == 404
        theirs = nodes.replace(alice.organization_id, charlie.organization_id)
        assert (await charlie.get(theirs)).json() == {"nodes": []}
