"""Nodes from the wish to the end, with everything outside faked but the database."""

import asyncio
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from leyden import values
from leyden.certificates.authority import open_or_create
from leyden.domain.nodes import Action, DesiredState, Network, Node, Status
from leyden.domain.observations import State
from leyden.errors import Conflict, Malformed, NotAllowed, NotFound, Taken
from leyden.gateway.routes import Address, Listener
from leyden.services.nodes import certificate_expiry, commands, views
from leyden.services.nodes.fleet import ROUTES
from leyden.services.nodes.records import Records
from tests.away import BusyDatabase
from tests.conftest import NOW
from tests.metrics import Observed
from tests.services.yard import HARBOUR, OTHER_SHORE, SETTINGS, Yard


def certificates_ending(standing: str) -> float | None:
    return REGISTRY.get_sample_value(
        "leyden_certificates_ending", {"standing": standing}
    )


async def test_a_wish_becomes_a_node_that_waits_for_its_wallet(yard: Yard) -> None:
    node = await yard.create()
    assert node.status is Status.PROVISIONING
    assert node.api_endpoint.startswith("harbour-light-")
    assert node.api_endpoint.endswith(".nodes.localhost")
    await yard.work()
    node = await yard.node(node.id)
    assert node.status is Status.WAITING_INIT
    assert yard.gateway.resolve(node.api_endpoint, Listener.REST) == Address(
        node.host, 18_080
    )
    assert await yard.work() == 0, "then there is nothing more to do"


async def test_the_time_from_a_wish_to_its_answer_is_counted_once(yard: Yard) -> None:
    observed = Observed.since_now("leyden_node_create_to_answering_seconds")
    node = await yard.create()
    yard.now += timedelta(seconds=3)
    await yard.work()
    assert observed.new() == (1, 3)
    await yard.ask(node, Action.RESTART)
    await yard.work()
    assert (await yard.node(node.id)).status is Status.WAITING_INIT
    assert observed.new() == (1, 3)


async def test_the_same_key_makes_one_node(yard: Yard) -> None:
    key = uuid.uuid4()
    first = await yard.create(key=key)
    again = await yard.create(key=key)
    assert again.id == first.id
    assert len(await views.list_(Records.of(yard.fleet), HARBOUR)) == 1


async def test_two_of_one_name_are_refused_but_not_across_organizations(
    yard: Yard,
) -> None:
    await yard.create()
    with pytest.raises(Taken, match="harbour light"):
        await yard.create()
    await yard.create(organization_id=OTHER_SHORE)


async def test_many_at_once_get_slots_of_their_own(yard: Yard) -> None:
    yard.fleet = values.replace(
        yard.fleet, rules=values.replace(yard.fleet.rules, slots=12)
    )
    made = [await yard.create(f"pier {number}") for number in range(12)]
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
    yard: Yard, wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(Malformed, match=why):
        await yard.create(**wrong)
    assert await views.list_(Records.of(yard.fleet), HARBOUR) == []
    assert await yard.work() == 0


async def test_a_network_that_is_not_set_up_is_not_offered(yard: Yard) -> None:
    yard.fleet = values.replace(
        yard.fleet,
        rules=values.replace(yard.fleet.rules, networks=frozenset({Network.TESTNET})),
    )
    with pytest.raises(Malformed, match="mainnet is not available on this platform"):
        await yard.create(network=Network.MAINNET)


async def test_an_owner_reads_settings_secret_and_history(yard: Yard) -> None:
    node = await yard.running()
    view = await views.view(yard.fleet, HARBOUR, node.id)
    assert view.node == node
    assert view.settings["alias"] == "harbour light"
    assert view.settings["sphinx"] is False
    assert len(str(view.settings["webhook_secret"])) == 64
    assert [each.action for each in view.history] == [Action.CREATE]
    for who, what in ((OTHER_SHORE, node.id), (HARBOUR, "no such node")):
        with pytest.raises(NotFound):
            await views.view(yard.fleet, who, what)


async def test_stopping_and_starting(yard: Yard) -> None:
    node = await yard.running()
    assert (await yard.ask(node, Action.STOP)).status is Status.STOPPING
    await yard.work()
    assert (await yard.node(node.id)).status is Status.STOPPED
    assert node.id not in yard.runtime.running
    with pytest.raises(NotAllowed):
        await yard.ask(node, Action.STOP)
    assert (await yard.ask(node, Action.START)).status is Status.STARTING
    await yard.work()
    assert (await yard.node(node.id)).status is Status.WAITING_INIT


async def test_a_restart_ends_in_another_process(yard: Yard) -> None:
    node = await yard.running()
    assert (await yard.ask(node, Action.RESTART)).status is Status.RESTARTING
    await yard.work()
    after = await yard.node(node.id)
    assert after.status is Status.WAITING_INIT
    assert after.process != node.process
    assert yard.runtime.stops == [node.id]


async def test_what_is_commanded_is_told_newest_first(yard: Yard) -> None:
    node = await yard.running()
    for action in (Action.STOP, Action.START, Action.RESTART):
        await yard.ask(node, action)
        await yard.later(seconds=1)
    view = await views.view(yard.fleet, HARBOUR, node.id)
    assert [each.action for each in view.history] == [
        "restart",
        "start",
        "stop",
        "create",
    ]


async def test_lnd_is_followed_wherever_it_goes(yard: Yard) -> None:
    node = await yard.running()
    seen = []
    for state in (
        State.UNLOCKED,
        State.RPC_ACTIVE,
        State.SERVER_ACTIVE,
        State.SERVER_ACTIVE,
    ):
        yard.runtime.say(node.id, state)
        await yard.settled()
        seen.append((await yard.node(node.id)).status)
    assert seen == ["starting", "starting", "running", "running"]


async def test_a_crash_is_mended_after_a_pause(yard: Yard) -> None:
    node = await yard.running()
    yard.runtime.end(node.id)
    await yard.settled()
    assert (await yard.node(node.id)).status is Status.STOPPED
    await yard.work()
    assert yard.runtime.starts == [node.id], "the pause is not over"
    await yard.later(seconds=1)
    assert yard.runtime.starts == [node.id, node.id]
    assert (await yard.node(node.id)).status is Status.WAITING_INIT


async def test_the_owners_own_stop_is_respected(yard: Yard) -> None:
    node = await yard.running()
    yard.runtime.end(node.id, asked=True)
    await yard.later(days=1)
    assert (await yard.node(node.id)).wanted is DesiredState.STOPPED
    assert yard.runtime.starts == [node.id]


async def test_settings_that_lnd_reads_restart_it_and_others_do_not(
    yard: Yard,
) -> None:
    node = await yard.running()
    after = await yard.set(node, alias="harbour dark")
    assert after.status is Status.RESTARTING
    await yard.work()
    launch_spec = yard.runtime.homes[node.id]
    assert launch_spec.settings.alias == "harbour dark"
    starts = len(yard.runtime.starts)
    after = await yard.set(node, rest=False, whitelist=["::/0"])
    await yard.work()
    assert len(yard.runtime.starts) == starts
    assert after.status is Status.WAITING_INIT
    assert yard.gateway.resolve(node.api_endpoint, Listener.REST) is None
    assert yard.gateway.resolve(node.api_endpoint, Listener.GRPC) is not None


async def test_a_wrong_change_changes_nothing(yard: Yard) -> None:
    node = await yard.running()
    with pytest.raises(Malformed):
        await yard.set(node, alias="x" * 33, rest=False)
    assert await yard.node(node.id) == node


async def test_secrets_among_the_settings_are_sealed_and_reach_lnd(
    yard: Yard,
) -> None:
    secret = "0201036c6e6402" + "ab" * 40
    node = await yard.running(
        settings={
            **SETTINGS,
            "remotesigninghost": "signer.example",
            "remotesigningmacaroon": secret,
        }
    )
    assert secret not in repr(node)
    view = await views.view(yard.fleet, HARBOUR, node.id)
    assert view.settings["remotesigningmacaroon"] == "********"
    assert yard.runtime.homes[node.id].settings.remotesigningmacaroon == secret
    await yard.set(node, remotesigningmacaroon="********", alias="harbour dark")
    await yard.work()
    assert yard.runtime.homes[node.id].settings.remotesigningmacaroon == secret
    await yard.set(node, remotesigningmacaroon="")
    await yard.work()
    assert yard.runtime.homes[node.id].settings.remotesigningmacaroon == ""


async def test_an_update_goes_up_once(yard: Yard) -> None:
    node = await yard.running(version="v0.20.1-beta")

    async def update(version: str | None = None) -> Node:
        return await commands.update(
            yard.fleet, HARBOUR, node.id, version, actor="key:7", now=yard.now
        )

    assert (await update()).status is Status.UPDATING
    await yard.work()
    after = await yard.node(node.id)
    assert (str(after.version), after.status) == ("v0.20.2-beta", "waiting_init")
    with pytest.raises(NotAllowed, match="node is already up to date"):
        await update()
    with pytest.raises(NotAllowed, match="cannot go back"):
        await update("v0.20.1-beta")
    assert str((await update("v0.21.2-beta")).version) == "v0.21.2-beta"


async def test_deleting_takes_the_name_and_the_route_at_once_and_the_data_later(
    yard: Yard,
) -> None:
    node = await yard.running()
    assert (await yard.ask(node, Action.DELETE)).status is Status.DELETING
    await yard.routes.apply()
    assert yard.gateway.resolve(node.api_endpoint, Listener.REST) is None
    await yard.create()  # the name is free
    await yard.work()
    with pytest.raises(NotFound):
        await views.get(yard.fleet, HARBOUR, node.id)
    with pytest.raises(NotFound):
        await yard.ask(node, Action.START)
    await yard.later(days=6, hours=23)
    assert node.id in yard.runtime.homes
    await yard.later(hours=1)
    assert node.id not in yard.runtime.homes
    assert await yard.fleet.database.reader.nodes.is_free(node.slot)
    assert await yard.later(days=30) == 0


async def test_a_start_that_fails_shows_and_is_tried_again(yard: Yard) -> None:
    yard.runtime.fails_after = "nothing"
    node = await yard.running()
    assert node.status is Status.FAILED
    yard.runtime.fails_after = ""
    await yard.later(seconds=1)
    assert (await yard.node(node.id)).status is Status.WAITING_INIT


async def test_a_start_whose_process_never_runs_shows_and_is_tried_again(
    yard: Yard,
) -> None:
    yard.runtime.fails_after = "checkpoint"
    node = await yard.running()
    assert (node.status, node.process, node.crashes) == (Status.FAILED, "", 1)
    yard.runtime.fails_after = ""
    await yard.later(seconds=1)
    assert (await yard.node(node.id)).status is Status.WAITING_INIT


@pytest.mark.parametrize("step", ["nothing", "host", "process", "checkpoint"])
async def test_a_start_that_broke_off_anywhere_comes_to_the_same_end(
    yard: Yard, step: str
) -> None:
    """The program dies after a step of the start, and comes back."""
    node = await yard.create()
    yard.runtime.fails_after = step
    yard.runtime.dies = True
    with pytest.raises(asyncio.CancelledError):
        await yard.work()
    yard.runtime.fails_after = ""
    await yard.restart()
    await yard.work()
    after = await yard.node(node.id)
    assert after.status is Status.WAITING_INIT
    assert yard.runtime.starts == [node.id], "one lnd, ever"
    assert after.process == yard.runtime.running[node.id].process
    assert await yard.work() == 0


async def test_after_a_restart_of_ours_lnds_are_adopted_not_started(
    yard: Yard,
) -> None:
    ours = [await yard.running(name=f"pier {number}") for number in range(5)]
    gone = ours.pop()
    del yard.runtime.running[gone.id]
    yard.runtime._seen.pop(gone.id)
    stopped = await yard.ask(ours.pop(), Action.STOP)  # killed before it was done
    assert await yard.restart() == 4
    await yard.work()
    for node in ours:
        assert await yard.node(node.id) == node, "not touched"
    assert (await yard.node(stopped.id)).status is Status.STOPPED
    assert (await yard.node(gone.id)).status is Status.STOPPED
    assert len(yard.runtime.starts) == 5
    await yard.later(seconds=1)
    assert (await yard.node(gone.id)).status is Status.WAITING_INIT


async def test_a_stop_that_comes_while_lnd_is_started_is_not_forgotten(
    yard: Yard,
) -> None:
    node = await yard.create()
    await yard.ask(node, Action.STOP)
    await yard.work()
    assert (await yard.node(node.id)).status is Status.STOPPED
    assert yard.runtime.starts == []


async def test_a_gateway_that_is_away_gets_the_routes_later(yard: Yard) -> None:
    yard.gateway.away = True
    node = await yard.create()
    with pytest.raises(Exception, match="gateway"):
        await yard.work()
    yard.gateway.away = False
    await yard.restart()
    await yard.work()
    assert yard.gateway.resolve(node.api_endpoint, Listener.REST) is not None


async def test_a_certificate_past_half_its_life_is_renewed_at_a_restart(
    yard: Yard,
) -> None:
    node = await yard.running()
    first = await views.certificate(yard.fleet, HARBOUR, node.id)
    yard.now += timedelta(days=180)
    await yard.ask(node, Action.RESTART)
    await yard.work()
    assert await views.certificate(yard.fleet, HARBOUR, node.id) == first
    yard.now += timedelta(days=10)
    await yard.ask(node, Action.RESTART)
    await yard.work()
    renewed = await views.certificate(yard.fleet, HARBOUR, node.id)
    assert renewed != first
    assert yard.runtime.homes[node.id].tls.chain_pem in renewed


async def test_a_certificate_can_be_renewed_by_hand(yard: Yard) -> None:
    node = await yard.running()
    first = await views.certificate(yard.fleet, HARBOUR, node.id)
    after = await commands.renew_certificate(
        yard.fleet, HARBOUR, node.id, actor="key:7", now=yard.now
    )
    assert after.status is Status.RESTARTING
    await yard.work()
    assert await views.certificate(yard.fleet, HARBOUR, node.id) != first


async def test_a_certificate_that_was_handed_in_is_kept_until_it_ends(
    yard: Yard, tmp_path: Path
) -> None:
    node = await yard.running()
    theirs = open_or_create(tmp_path / "theirs", now=NOW).issue(
        node.api_endpoint, now=yard.now
    )
    await commands.renew_certificate(
        yard.fleet,
        HARBOUR,
        node.id,
        actor="key:7",
        now=yard.now,
        certificate=theirs.chain_pem.decode(),
        key=theirs.key_pem.decode(),
    )
    await yard.work()
    assert yard.runtime.homes[node.id].tls == theirs
    shown = await views.certificate(yard.fleet, HARBOUR, node.id)
    assert shown == theirs.chain_pem, "without a root of ours"

    yard.now += timedelta(days=360)
    await yard.ask(node, Action.RESTART)
    await yard.work()
    assert yard.runtime.homes[node.id].tls == theirs, "renewing it is not ours to do"

    yard.now += timedelta(days=10)
    await yard.ask(node, Action.RESTART)
    await yard.work()
    assert yard.runtime.homes[node.id].tls != theirs, "lnd would sign one itself"


async def test_a_certificate_that_ends_raises_an_alarm_in_time(
    yard: Yard, logged: pytest.LogCaptureFixture
) -> None:
    node = await yard.running()
    stopped = await yard.running(name="pier")
    await yard.ask(stopped, Action.STOP)
    await yard.work()
    assert await certificate_expiry.ending(yard.fleet) == ()

    yard.now += timedelta(days=340)
    (alarm,) = await certificate_expiry.ending(yard.fleet)
    assert (alarm.what, alarm.standing) == (f"node {node.id}", "expiring")
    said = await certificate_expiry.look(yard.fleet)
    assert await certificate_expiry.look(yard.fleet, said) == said
    (line,) = [each for each in logged.records if each.levelname == "WARNING"]
    assert vars(line)["of"] == f"node {node.id}", "and it is said once"
    assert certificates_ending("expiring") == 1

    yard.now += timedelta(days=30)
    (alarm,) = await certificate_expiry.ending(yard.fleet)
    assert alarm.standing == "expired"
    await yard.ask(node, Action.RESTART)
    await yard.work()
    await certificate_expiry.look(yard.fleet)
    assert certificates_ending("expiring") == 0


async def test_certificates_are_watched_on_after_somebody_was_faster(
    yard: Yard, logged: pytest.LogCaptureFixture
) -> None:
    await yard.running()
    yard.now += timedelta(days=340)
    busy = BusyDatabase(yard.fleet.database)
    busy.is_stale = True
    fleet = values.replace(yard.fleet, database=busy)
    watching = asyncio.create_task(certificate_expiry.watch(fleet))
    while "were not looked at" not in logged.text and not watching.done():
        await asyncio.sleep(0)
    assert not watching.done()
    watching.cancel()


async def test_nobody_is_told_of_a_node_once_it_is_deleted(yard: Yard) -> None:
    webhook = {**SETTINGS, "webhook": "https://receiver.example/hook"}
    node = await yard.running(settings=webhook)
    reader = yard.fleet.database.reader
    assert await reader.webhooks.pending(node.id), "its receiver was not reached yet"
    await yard.ask(node, Action.DELETE)
    assert await reader.webhooks.pending(node.id) == []
    await yard.work()
    assert await reader.webhooks.pending(node.id) == [], "nor of its end"


async def test_nobody_commands_the_node_of_another(yard: Yard) -> None:
    node = await yard.running()
    foreign = values.replace(node, organization_id=OTHER_SHORE)
    for action in (Action.START, Action.STOP, Action.RESTART, Action.DELETE):
        with pytest.raises(NotFound):
            await yard.ask(foreign, action)
    with pytest.raises(NotFound):
        await yard.set(foreign, rest=False)
    assert await yard.node(node.id) == node
    assert issubclass(NotAllowed, Conflict)


async def test_after_a_reboot_nodes_are_opened_a_few_at_a_time(yard: Yard) -> None:
    made = [await yard.running(name=f"pier {number}") for number in range(12)]
    yard.runtime.running.clear()
    yard.runtime._seen.clear()
    yard.runtime.says = State.LOCKED
    await yard.restart()
    yard.now += timedelta(seconds=1)
    steps = [asyncio.create_task(yard.step(node.id)) for node in made]
    most = 0
    async with asyncio.timeout(20):
        while not all(each.done() for each in steps):
            opening = {
                node_id
                for node_id in yard.runtime.running
                if yard.runtime._seen[node_id].state is State.LOCKED
            }
            most = max(most, len(opening))
            for node_id in opening:
                yard.runtime.say(node_id, State.UNLOCKED)
                yard.runtime.say(node_id, State.SERVER_ACTIVE)
            await asyncio.sleep(0)
    await yard.settled()
    assert len(yard.runtime.running) == 12
    assert 1 <= most <= 4


async def test_a_storm_of_new_nodes_leaves_a_place_for_another_organization(
    yard: Yard,
) -> None:
    yard.runtime.says = None  # each lnd is still about to say its first word
    storm = [await yard.create(name=f"storm {number}") for number in range(6)]
    calm = await yard.create(name="calm", organization_id=OTHER_SHORE)
    steps = asyncio.create_task(yard.step(calm.id))
    async with asyncio.timeout(20):
        while len(yard.runtime.running) < 4:
            await asyncio.sleep(0.001)
        assert sum(node.id in yard.runtime.running for node in storm) == 3
        assert calm.id in yard.runtime.running
        while not steps.done():
            for node_id in list(yard.runtime.running):
                yard.runtime.say(node_id, State.NON_EXISTING)
            await asyncio.sleep(0)
    await yard.settled()
    assert len(yard.runtime.running) == 7


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
    yard: Yard, *, given: dict[str, object], elsewhere: bool
) -> None:
    node = await yard.running()
    await yard.set(node, **given)
    due = await yard.fleet.database.reader.tasks.next_due(ROUTES, now=yard.now)
    assert (due is not None) is elsewhere
