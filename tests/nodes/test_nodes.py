"""Nodes from the wish to the end, with everything outside faked but the database."""

import asyncio
import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from leyden import values
from leyden.base.tasks.work import Work
from leyden.errors import Conflict, Malformed, NotAllowed, NotFound, Stale, Taken
from leyden.nodes import certificate_expiry, commands, reconciler, views
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.fleet import NODE, ROUTES
from leyden.nodes.gateway.routes import Listener, UpstreamAddress
from leyden.nodes.rules.nodes import Action, DesiredState, Network, Node, NodeStatus
from leyden.nodes.rules.observations import LndState
from tests.away import FailingDatabase
from tests.channels.pausing_database import PausingDatabase
from tests.conftest import NOW
from tests.metrics import Observed
from tests.nodes.fleet_harness import (
    CLAIM_FOR,
    HARBOUR,
    OTHER_SHORE,
    SETTINGS,
    FleetHarness,
)


def certificates_ending(standing: str) -> float | None:
    return REGISTRY.get_sample_value(
        "leyden_certificates_ending", {"standing": standing}
    )


async def test_a_wish_becomes_a_node_that_waits_for_its_wallet(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.create()
    assert node.status is NodeStatus.PROVISIONING
    assert node.api_endpoint.startswith("harbour-light-")
    assert node.api_endpoint.endswith(".nodes.localhost")
    await fleet_harness.work()
    node = await fleet_harness.node(node.id)
    assert node.status is NodeStatus.WAITING_INIT
    assert fleet_harness.gateway.resolve(
        node.api_endpoint, Listener.REST
    ) == UpstreamAddress(node.host, 18_080)
    assert await fleet_harness.work() == 0, "then there is nothing more to do"


async def test_the_time_from_a_wish_to_its_answer_is_counted_once(
    fleet_harness: FleetHarness,
) -> None:
    observed = Observed.since_now("leyden_node_create_to_answering_seconds")
    node = await fleet_harness.create()
    fleet_harness.now += timedelta(seconds=3)
    await fleet_harness.work()
    assert observed.new() == (1, 3)
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.work()
    assert (await fleet_harness.node(node.id)).status is NodeStatus.WAITING_INIT
    assert observed.new() == (1, 3)


async def test_two_of_one_name_are_refused_but_not_across_organizations(
    fleet_harness: FleetHarness,
) -> None:
    await fleet_harness.create()
    with pytest.raises(Taken, match="harbour light"):
        await fleet_harness.create()
    await fleet_harness.create(organization_id=OTHER_SHORE)


async def test_many_at_once_get_slots_of_their_own(fleet_harness: FleetHarness) -> None:
    fleet_harness.fleet = values.replace(
        fleet_harness.fleet, rules=values.replace(fleet_harness.fleet.rules, slots=12)
    )
    made = [await fleet_harness.create(f"pier {number}") for number in range(12)]
    assert {node.slot for node in made} == set(range(1, 13))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": "no/slash"}, "^name: "),
        ({"settings": {**SETTINGS, "alias": "x\nrestcors=*"}}, "^alias: "),
        ({"settings": {"alias": "harbour"}}, "is required"),
        ({"version": "v0.18.5-beta"}, "^version: "),
        ({"version": "../../bin/sh"}, "^version: "),
    ],
)
async def test_a_wrong_wish_leaves_nothing(
    fleet_harness: FleetHarness, wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(Malformed, match=why):
        await fleet_harness.create(**wrong)
    assert await views.list_(fleet_harness.fleet, HARBOUR) == []
    assert await fleet_harness.work() == 0


async def test_a_network_that_is_not_set_up_is_not_offered(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.fleet = values.replace(
        fleet_harness.fleet,
        rules=values.replace(
            fleet_harness.fleet.rules, networks=frozenset({Network.TESTNET})
        ),
    )
    with pytest.raises(Malformed, match=r"this platform; choose testnet$"):
        await fleet_harness.create(network=Network.MAINNET)


async def test_a_restart_ends_in_another_process(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    assert (
        await fleet_harness.ask(node, Action.RESTART)
    ).status is NodeStatus.RESTARTING
    await fleet_harness.work()
    after = await fleet_harness.node(node.id)
    assert after.status is NodeStatus.WAITING_INIT
    assert after.process != node.process
    assert fleet_harness.runtime.stops == [node.id]


async def test_lnd_is_followed_wherever_it_goes(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    found = []
    for state in (
        LndState.UNLOCKED,
        LndState.RPC_ACTIVE,
        LndState.SERVER_ACTIVE,
        LndState.SERVER_ACTIVE,
    ):
        fleet_harness.runtime.say(node.id, state)
        await fleet_harness.settled()
        found.append((await fleet_harness.node(node.id)).status)
    assert found == ["starting", "starting", "running", "running"]


async def test_a_crash_is_mended_after_a_pause(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    fleet_harness.runtime.end(node.id)
    await fleet_harness.settled()
    assert (await fleet_harness.node(node.id)).status is NodeStatus.STOPPED
    await fleet_harness.work()
    assert fleet_harness.runtime.starts == [node.id], "the pause is not over"
    await fleet_harness.later(seconds=1)
    assert fleet_harness.runtime.starts == [node.id, node.id]
    assert (await fleet_harness.node(node.id)).status is NodeStatus.WAITING_INIT


async def test_the_owners_own_stop_is_respected(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    fleet_harness.runtime.end(node.id, is_requested=True)
    await fleet_harness.later(days=1)
    assert (await fleet_harness.node(node.id)).wanted is DesiredState.STOPPED
    assert fleet_harness.runtime.starts == [node.id]


async def test_settings_that_lnd_reads_restart_it_and_others_do_not(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    after = await fleet_harness.set(node, alias="harbour dark")
    assert after.status is NodeStatus.RESTARTING
    await fleet_harness.work()
    launch_spec = fleet_harness.runtime.homes[node.id]
    assert launch_spec.settings.alias == "harbour dark"
    starts = len(fleet_harness.runtime.starts)
    after = await fleet_harness.set(node, rest=False, whitelist=["::/0"])
    await fleet_harness.work()
    assert len(fleet_harness.runtime.starts) == starts
    assert after.status is NodeStatus.WAITING_INIT
    assert fleet_harness.gateway.resolve(node.api_endpoint, Listener.REST) is None
    assert fleet_harness.gateway.resolve(node.api_endpoint, Listener.GRPC) is not None


async def test_secrets_among_the_settings_are_sealed_and_reach_lnd(
    fleet_harness: FleetHarness,
) -> None:
    secret = "0201036c6e6402" + "ab" * 40
    node = await fleet_harness.running(
        settings={
            **SETTINGS,
            "remotesigninghost": "signer.example",
            "remotesigningmacaroon": secret,
        }
    )
    assert secret not in repr(node)
    view = await views.view(fleet_harness.fleet, HARBOUR, node.id)
    assert view.settings["remotesigningmacaroon"] == "********"
    assert fleet_harness.runtime.homes[node.id].settings.remotesigningmacaroon == secret
    await fleet_harness.set(
        node, remotesigningmacaroon="********", alias="harbour dark"
    )
    await fleet_harness.work()
    assert fleet_harness.runtime.homes[node.id].settings.remotesigningmacaroon == secret
    await fleet_harness.set(node, remotesigningmacaroon="")
    await fleet_harness.work()
    assert fleet_harness.runtime.homes[node.id].settings.remotesigningmacaroon == ""


async def test_deleting_takes_the_name_and_the_route_at_once_and_the_data_later(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    assert (await fleet_harness.ask(node, Action.DELETE)).status is NodeStatus.DELETING
    await fleet_harness.routes.apply()
    assert fleet_harness.gateway.resolve(node.api_endpoint, Listener.REST) is None
    await fleet_harness.create()  # the name is free
    await fleet_harness.work()
    with pytest.raises(NotFound):
        await views.get(fleet_harness.fleet, HARBOUR, node.id)
    with pytest.raises(NotFound):
        await fleet_harness.ask(node, Action.START)
    await fleet_harness.later(days=6, hours=23)
    assert node.id in fleet_harness.runtime.homes
    await fleet_harness.later(hours=1)
    assert node.id not in fleet_harness.runtime.homes
    assert await fleet_harness.fleet.database.reader.nodes.is_free(node.slot)
    assert await fleet_harness.later(days=30) == 0


async def test_a_start_that_fails_shows_and_is_tried_again(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.runtime.fails_after = "nothing"
    node = await fleet_harness.running()
    assert node.status is NodeStatus.FAILED
    fleet_harness.runtime.fails_after = ""
    await fleet_harness.later(seconds=1)
    assert (await fleet_harness.node(node.id)).status is NodeStatus.WAITING_INIT


async def test_a_start_whose_process_never_runs_shows_and_is_tried_again(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.runtime.fails_after = "checkpoint"
    node = await fleet_harness.running()
    assert (node.status, node.process, node.crashes) == (NodeStatus.FAILED, "", 1)
    fleet_harness.runtime.fails_after = ""
    await fleet_harness.later(seconds=1)
    assert (await fleet_harness.node(node.id)).status is NodeStatus.WAITING_INIT


@pytest.mark.parametrize(
    ("action", "status"),
    [(Action.STOP, NodeStatus.STOPPED), (Action.DELETE, NodeStatus.DELETING)],
)
async def test_a_start_that_fails_once_its_node_is_stopped_or_deleted_fails_nothing(
    fleet_harness: FleetHarness, action: Action, status: NodeStatus
) -> None:
    """What was deleted meanwhile can be restored for as long as it always can."""
    node = await fleet_harness.running()
    fleet_harness.runtime.end(node.id)
    await fleet_harness.settled()
    fleet_harness.runtime.fails_after = "nothing"
    fleet_harness.now += timedelta(seconds=5)

    async def ask() -> None:
        await fleet_harness.ask(node, action)

    db, now = fleet_harness.fleet.database, fleet_harness.now
    async with db.transaction() as tx:
        (claim,) = await tx.tasks.claim(NODE, now=now, until=now + CLAIM_FOR, limit=9)
    await reconciler.step(fleet_harness.fleet, Work(PausingDatabase(db, ask), claim))
    assert (await fleet_harness.node(node.id)).status is status
    await fleet_harness.later(days=6)
    assert (await fleet_harness.node(node.id)).status is status
    assert node.id in fleet_harness.runtime.homes


@pytest.mark.parametrize("step", ["nothing", "host", "process", "checkpoint"])
async def test_a_start_that_broke_off_anywhere_comes_to_the_same_end(
    fleet_harness: FleetHarness, step: str
) -> None:
    """The program dies after a step of the start, and comes back."""
    node = await fleet_harness.create()
    fleet_harness.runtime.fails_after = step
    fleet_harness.runtime.dies = True
    with pytest.raises(asyncio.CancelledError):
        await fleet_harness.work()
    fleet_harness.runtime.fails_after = ""
    await fleet_harness.restart()
    await fleet_harness.work()
    after = await fleet_harness.node(node.id)
    assert after.status is NodeStatus.WAITING_INIT
    assert fleet_harness.runtime.starts == [node.id], "one lnd, ever"
    assert after.process == fleet_harness.runtime.running[node.id].process
    assert await fleet_harness.work() == 0


async def test_after_a_restart_of_ours_lnds_are_adopted_not_started(
    fleet_harness: FleetHarness,
) -> None:
    ours = [await fleet_harness.running(name=f"pier {number}") for number in range(5)]
    gone = ours.pop()
    del fleet_harness.runtime.running[gone.id]
    fleet_harness.runtime._seen.pop(gone.id)
    stopped = await fleet_harness.ask(
        ours.pop(), Action.STOP
    )  # killed before it was done
    assert await fleet_harness.restart() == 4
    await fleet_harness.work()
    for node in ours:
        assert await fleet_harness.node(node.id) == node, "not touched"
    assert (await fleet_harness.node(stopped.id)).status is NodeStatus.STOPPED
    assert (await fleet_harness.node(gone.id)).status is NodeStatus.STOPPED
    assert len(fleet_harness.runtime.starts) == 5
    await fleet_harness.later(seconds=1)
    assert (await fleet_harness.node(gone.id)).status is NodeStatus.WAITING_INIT


async def test_a_stop_that_comes_while_lnd_is_started_is_not_forgotten(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.create()
    await fleet_harness.ask(node, Action.STOP)
    await fleet_harness.work()
    assert (await fleet_harness.node(node.id)).status is NodeStatus.STOPPED
    assert fleet_harness.runtime.starts == []


async def test_a_gateway_that_is_away_gets_the_routes_later(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.gateway.away = True
    node = await fleet_harness.create()
    with pytest.raises(Exception, match="gateway"):
        await fleet_harness.work()
    fleet_harness.gateway.away = False
    await fleet_harness.restart()
    await fleet_harness.work()
    assert fleet_harness.gateway.resolve(node.api_endpoint, Listener.REST) is not None


async def test_a_certificate_past_half_its_life_is_renewed_at_a_restart(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    first = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    fleet_harness.now += timedelta(days=180)
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.work()
    assert await views.certificate(fleet_harness.fleet, HARBOUR, node.id) == first
    fleet_harness.now += timedelta(days=10)
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.work()
    renewed = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    assert renewed != first
    assert fleet_harness.runtime.homes[node.id].tls.chain_pem in renewed


async def test_a_certificate_can_be_renewed_by_hand(
    fleet_harness: FleetHarness,
) -> None:
    node = await fleet_harness.running()
    first = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    after = await commands.renew_certificate(
        fleet_harness.fleet, HARBOUR, node.id, actor="key:7", now=fleet_harness.now
    )
    assert after.status is NodeStatus.RESTARTING
    await fleet_harness.work()
    assert await views.certificate(fleet_harness.fleet, HARBOUR, node.id) != first


async def test_a_certificate_that_is_handed_in_during_a_start_is_kept(
    fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    """The start has found ours due for renewal, and stores the next one."""
    node = await fleet_harness.running()
    fleet, db = fleet_harness.fleet, fleet_harness.fleet.database
    theirs = open_or_create(tmp_path / "theirs", now=NOW).issue(
        node.api_endpoint, now=fleet_harness.now
    )
    fleet_harness.now += timedelta(days=200)
    fleet_harness.runtime.end(node.id)
    await fleet_harness.settled()
    fleet_harness.now += timedelta(seconds=5)

    async def hand_in() -> None:
        await commands.renew_certificate(
            fleet,
            HARBOUR,
            node.id,
            actor="key:7",
            now=fleet_harness.now,
            certificate=theirs.chain_pem.decode(),
            key=theirs.key_pem.decode(),
        )

    now = fleet_harness.now
    async with db.transaction() as tx:
        (claim,) = await tx.tasks.claim(NODE, now=now, until=now + CLAIM_FOR, limit=9)
    with contextlib.suppress(Stale):  # the queue tries again
        await reconciler.step(fleet, Work(PausingDatabase(db, hand_in), claim))
    fleet_harness.now += CLAIM_FOR
    await fleet_harness.work()
    assert fleet_harness.runtime.homes[node.id].tls == theirs
    assert await views.certificate(fleet, HARBOUR, node.id) == theirs.chain_pem


async def test_a_certificate_that_was_handed_in_is_kept_until_it_ends(
    fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    node = await fleet_harness.running()
    theirs = open_or_create(tmp_path / "theirs", now=NOW).issue(
        node.api_endpoint, now=fleet_harness.now
    )
    await commands.renew_certificate(
        fleet_harness.fleet,
        HARBOUR,
        node.id,
        actor="key:7",
        now=fleet_harness.now,
        certificate=theirs.chain_pem.decode(),
        key=theirs.key_pem.decode(),
    )
    await fleet_harness.work()
    assert fleet_harness.runtime.homes[node.id].tls == theirs
    shown = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    assert shown == theirs.chain_pem, "without a root of ours"

    fleet_harness.now += timedelta(days=360)
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.work()
    assert fleet_harness.runtime.homes[node.id].tls == theirs, (
        "renewing it is not ours to do"
    )

    fleet_harness.now += timedelta(days=10)
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.work()
    assert fleet_harness.runtime.homes[node.id].tls != theirs, (
        "lnd would sign one itself"
    )


async def test_a_certificate_that_ends_raises_an_alarm_in_time(
    fleet_harness: FleetHarness, logged: pytest.LogCaptureFixture
) -> None:
    node = await fleet_harness.running()
    stopped = await fleet_harness.running(name="pier")
    await fleet_harness.ask(stopped, Action.STOP)
    await fleet_harness.work()
    assert await certificate_expiry.ending(fleet_harness.fleet) == ()

    fleet_harness.now += timedelta(days=340)
    (alarm,) = await certificate_expiry.ending(fleet_harness.fleet)
    assert (alarm.what, alarm.state) == (f"node {node.id}", "expiring")
    said = await certificate_expiry.check(fleet_harness.fleet)
    assert await certificate_expiry.check(fleet_harness.fleet, said) == said
    (line,) = [each for each in logged.records if each.levelname == "WARNING"]
    assert vars(line)["of"] == f"node {node.id}", "and it is said once"
    assert certificates_ending("expiring") == 1

    fleet_harness.now += timedelta(days=30)
    (alarm,) = await certificate_expiry.ending(fleet_harness.fleet)
    assert alarm.state == "expired"
    await fleet_harness.ask(node, Action.RESTART)
    await fleet_harness.work()
    await certificate_expiry.check(fleet_harness.fleet)
    assert certificates_ending("expiring") == 0


async def test_certificates_are_watched_on_after_somebody_was_faster(
    fleet_harness: FleetHarness, logged: pytest.LogCaptureFixture
) -> None:
    await fleet_harness.running()
    fleet_harness.now += timedelta(days=340)
    busy: Any = FailingDatabase(fleet_harness.fleet.database)
    busy.error = Stale()
    fleet = values.replace(fleet_harness.fleet, database=busy)
    watching = asyncio.create_task(certificate_expiry.watch(fleet))
    while "could not check" not in logged.text and not watching.done():
        await asyncio.sleep(0)
    assert not watching.done()
    watching.cancel()


async def test_nobody_is_told_of_a_node_once_it_is_deleted(
    fleet_harness: FleetHarness,
) -> None:
    webhook = {**SETTINGS, "webhook": "https://receiver.example/hook"}
    node = await fleet_harness.running(settings=webhook)
    reader = fleet_harness.fleet.database.reader
    assert await reader.subscription_deliveries.pending(node.id), (
        "its receiver was not reached yet"
    )
    await fleet_harness.ask(node, Action.DELETE)
    assert await reader.subscription_deliveries.pending(node.id) == []
    await fleet_harness.work()
    assert await reader.subscription_deliveries.pending(node.id) == [], "nor of its end"


async def test_nobody_commands_the_node_of_another(fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.running()
    foreign = values.replace(node, organization_id=OTHER_SHORE)
    for action in (Action.START, Action.STOP, Action.RESTART, Action.DELETE):
        with pytest.raises(NotFound):
            await fleet_harness.ask(foreign, action)
    with pytest.raises(NotFound):
        await fleet_harness.set(foreign, rest=False)
    assert await fleet_harness.node(node.id) == node
    assert issubclass(NotAllowed, Conflict)


async def test_after_a_reboot_nodes_are_opened_a_few_at_a_time(
    fleet_harness: FleetHarness,
) -> None:
    made = [await fleet_harness.running(name=f"pier {number}") for number in range(12)]
    fleet_harness.runtime.running.clear()
    fleet_harness.runtime._seen.clear()
    fleet_harness.runtime.says = LndState.LOCKED
    await fleet_harness.restart()
    fleet_harness.now += timedelta(seconds=1)
    steps = [asyncio.create_task(fleet_harness.step(node.id)) for node in made]
    limit = 0
    async with asyncio.timeout(20):
        while not all(each.done() for each in steps):
            opening = {
                node_id
                for node_id in fleet_harness.runtime.running
                if fleet_harness.runtime._seen[node_id].state is LndState.LOCKED
            }
            limit = max(limit, len(opening))
            for node_id in opening:
                fleet_harness.runtime.say(node_id, LndState.UNLOCKED)
                fleet_harness.runtime.say(node_id, LndState.SERVER_ACTIVE)
            await asyncio.sleep(0)
    await fleet_harness.settled()
    assert len(fleet_harness.runtime.running) == 12
    assert 1 <= limit <= 4


async def test_a_storm_of_new_nodes_leaves_a_place_for_another_organization(
    fleet_harness: FleetHarness,
) -> None:
    fleet_harness.runtime.says = None  # each lnd is still about to say its first word
    storm = [await fleet_harness.create(name=f"storm {number}") for number in range(6)]
    calm = await fleet_harness.create(name="calm", organization_id=OTHER_SHORE)
    steps = asyncio.create_task(fleet_harness.step(calm.id))
    async with asyncio.timeout(20):
        while len(fleet_harness.runtime.running) < 4:
            await asyncio.sleep(0.001)
        assert sum(node.id in fleet_harness.runtime.running for node in storm) == 3
        assert calm.id in fleet_harness.runtime.running
        while not steps.done():
            for node_id in list(fleet_harness.runtime.running):
                fleet_harness.runtime.say(node_id, LndState.NON_EXISTING)
            await asyncio.sleep(0.05)  # what each says is looked at: that takes a while
    await fleet_harness.settled()
    assert len(fleet_harness.runtime.running) == 7


@pytest.mark.parametrize(
    ("given", "elsewhere"),
    [
        ({"whitelist": ["203.0.113.9"]}, True),
        ({"rest": False}, True),
        ({"grpc": False}, True),
        ({"webhook": "https://hooks.example.org"}, False),
        ({"alias": "other light"}, False),
    ],
)
async def test_routes_are_brought_anew_where_a_change_leads_elsewhere(
    fleet_harness: FleetHarness, *, given: dict[str, object], elsewhere: bool
) -> None:
    node = await fleet_harness.running()
    await fleet_harness.set(node, **given)
    due = await fleet_harness.fleet.database.reader.tasks.next_due(
        ROUTES, now=fleet_harness.now
    )
    assert (due is not None) is elsewhere


async def started_unsaved(fleet_harness: FleetHarness) -> Node:
    """Kill the program between a node's start and the note of it."""
    node, runtime = await fleet_harness.create(), fleet_harness.runtime
    runtime.fails_after, runtime.dies = "process", True
    with pytest.raises(asyncio.CancelledError):
        await fleet_harness.work()
    runtime.fails_after, runtime.dies = "", False
    assert node.id in runtime.running
    return node


@pytest.mark.parametrize("action", [Action.STOP, Action.DELETE])
async def test_an_lnd_whose_start_nobody_saved_ends_all_the_same(
    fleet_harness: FleetHarness, action: Action
) -> None:
    node, runtime = await started_unsaved(fleet_harness), fleet_harness.runtime
    await fleet_harness.ask(node, action)
    await fleet_harness.restart()
    await fleet_harness.work()
    assert runtime.running == {}
    await fleet_harness.later(days=8)
    assert (node.id in runtime.homes) is (action is Action.STOP)


async def test_an_lnd_whose_start_nobody_saved_ends_before_its_data_is_deleted(
    fleet_harness: FleetHarness,
) -> None:
    """The program is started again when the data is kept no longer."""
    node, runtime = await started_unsaved(fleet_harness), fleet_harness.runtime
    await fleet_harness.ask(node, Action.DELETE)
    fleet_harness.now += timedelta(days=8)
    await fleet_harness.restart()
    await fleet_harness.work()
    assert (runtime.running, runtime.homes) == ({}, {})
