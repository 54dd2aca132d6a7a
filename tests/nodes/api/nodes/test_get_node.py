from typing import Any

from leyden.nodes.rules.node_settings import NAMES
from leyden.nodes.rules.observations import LndState
from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import ITEM_FIELDS
from tests.nodes.fleet_harness import SETTINGS, FleetHarness

BOOLEANS = {
    "autopilot",
    "grpc",
    "rest",
    "keysend",
    "wumbo",
    "autocompaction",
    "amp",
    "wtclient",
    "allowcircularroute",
    "gccanceledinvoicesonstartup",
    "gccanceledinvoicesonthefly",
    "torskipproxyforclearnettargets",
    "rpcmiddleware",
    "optionscidalias",
    "zeroconf",
    "listen",  # beyond the contract
    "remotesigning",
    "sphinx",
}
STRINGS = {
    "alias",
    "color",
    "webhook",
    "minchansize",
    "maxchansize",
    "defaultfeerate",
    "basefee",
    "maxpendingchannels",
    "numgraphsyncpeers",
    "remotesigninghost",
    "remotesigningmacaroon",
    "remotesigningcert",
    "webhook_secret",
}


async def test_it_has_the_contracts_fields_and_no_other(
    alice: Caller, path: str
) -> None:
    shown = (await alice.get(path)).json()
    settings, history = shown.pop("settings"), shown.pop("command_history")
    assert {name: type(value) for name, value in shown.items()} == ITEM_FIELDS
    assert {name for name, value in settings.items() if value in (True, False)} == (
        BOOLEANS
    )
    strings = {name for name, value in settings.items() if isinstance(value, str)}
    assert strings == STRINGS
    assert set(settings) - BOOLEANS - STRINGS == {"whitelist"}
    assert set(settings) == {*NAMES, "sphinx", "webhook_secret"}
    assert history == [{"action": "create", "time": "2026-03-01T12:00:00.000Z"}]


async def test_settings_come_back_as_they_were_given(alice: Caller, path: str) -> None:
    settings = (await alice.get(path)).json()["settings"]
    assert {name: settings[name] for name in SETTINGS} == SETTINGS


async def test_the_status_is_lnds(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    fleet_harness.runtime.say(node["node_id"], LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    assert (await alice.get(path)).json()["status"] == "running"


async def test_why_it_is_failed_is_told_and_is_no_field_otherwise(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    fleet_harness.runtime.end(node["node_id"])
    fleet_harness.runtime.fails_after = "nothing"
    await fleet_harness.settled()
    await fleet_harness.later(seconds=5)
    shown = (await alice.get(path)).json()
    assert (shown["status"], shown["status_reason"]) == (
        "failed",
        "The disk of the node's machine is full. The operator must free space.",
    )
    fleet_harness.runtime.fails_after = ""
    await fleet_harness.later(minutes=5)
    assert "status_reason" not in (await alice.get(path)).json()
