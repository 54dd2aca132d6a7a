"""Announced in the transaction that made it true; delivered in order, at least once."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from leyden.app.loops import put_standing, queues
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.base.tasks.work import Work
from leyden.channels.books.verify import verify
from leyden.errors import Malformed, NotFound, Stale, TooMany
from leyden.events.dispatchers import FORGETTING, prune
from leyden.events.limits import ManualLimit
from leyden.events.rows.subscriptions import NODE_WEBHOOKS
from leyden.events.rules.deliveries import Answer, Pause
from leyden.events.rules.webhooks import ANNOUNCED
from leyden.nodes import node_events, webhooks
from leyden.nodes.rules.nodes import Node, NodeStatus
from leyden.values import replace
from tests.events.webhook_harness import (
    SECRET,
    URL,
    Blocks,
    Update,
    WebhookHarness,
    of_node,
    said,
)
from tests.fakes.sender import Received
from tests.lock_waits import until_stuck
from tests.metrics import Observed
from tests.nodes.rules.nodes import NOON, a_node, some_settings

AWAY = Answer(error="the connection was refused")
UPDATE = Update("v0.21.2-beta", "1.4.0")
LINE = "[ERR] GRPH: out of order block: expecting height=9, got height=7"
OTHER = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"


@pytest.fixture
async def harness(db: Database, sealer: Sealer) -> WebhookHarness:
    harness = WebhookHarness(database=db, sealer=sealer)
    await harness.open()
    return harness


async def test_what_is_announced_arrives_with_the_proof_that_it_is_ours(
    harness: WebhookHarness,
) -> None:
    harness.now = datetime.now(UTC)  # the library looks at its own clock
    node = await harness.house()
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    (event,) = harness.sender.received
    assert event.url == URL
    assert json.loads(event.body) == {
        "type": "status",
        "details": {"status": "waiting_unlock"},
        "api": node.api_endpoint,
    }
    assert event.headers["Service-Secret"] == SECRET
    assert event.headers["webhook-id"].startswith("msg_")
    Webhook(SECRET).verify(event.body, dict(event.headers))
    (stored,) = await harness.deliveries(node)
    assert stored.message.state == "delivered"
    assert [each.answer.status for each in stored.attempts] == [200]
    assert await harness.next_due() is None


async def test_what_is_rolled_back_is_not_announced(harness: WebhookHarness) -> None:
    node = await harness.house()
    with pytest.raises(Stale):
        async with harness.database.transaction() as tx:
            await node_events.announce(
                tx, node, [of_node(node, UPDATE)], now=harness.now
            )
            raise Stale
    await harness.run()
    assert harness.deliveries_made == []
    assert await harness.deliveries(node) == []


async def test_only_the_states_of_the_contract_are_announced(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    for status in NodeStatus:
        await harness.announce(node, status)
        await harness.run()
    assert sorted(harness.deliveries_made) == [
        "stopped",
        "waiting_init",
        "waiting_unlock",
    ]


async def test_a_node_without_a_webhook_announces_nothing(
    harness: WebhookHarness,
) -> None:
    node = await harness.house(url="")
    await harness.announce(node, "waiting_unlock")
    assert await harness.next_due() is None
    assert await harness.deliveries(node) == []


async def test_an_update_is_told_once_a_version_for_ever(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    newer = Update("v0.22.0-beta", "1.4.0")
    for event in (UPDATE, UPDATE, newer, UPDATE, newer):
        await harness.announce(node, event)
        await harness.run()
    assert harness.deliveries_made == ["v0.21.2-beta", "v0.22.0-beta"]


async def test_a_burst_of_errors_is_told_once_and_the_next_burst_again(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    for _ in range(3):
        await harness.announce(node, Blocks(LINE))
    await harness.pass_time(minutes=11)
    await harness.announce(node, Blocks(LINE))
    await harness.run()
    assert harness.deliveries_made == [LINE, LINE]


async def test_a_clock_that_was_set_back_hides_no_error(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    await harness.announce(node, Blocks(LINE))
    await harness.run()
    await harness.pass_time(days=-3)
    await harness.announce(node, Blocks(LINE))
    await harness.run()
    assert harness.deliveries_made == [LINE, LINE]


async def test_the_time_from_a_fact_to_its_delivery_is_counted_once(
    harness: WebhookHarness,
) -> None:
    observed = Observed.since_now("leyden_webhook_fact_to_delivery_seconds")
    node = await harness.house()
    harness.answers(500)
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    assert observed.new() == (0, 0)
    harness.answers(200)
    await harness.pass_time(seconds=5)
    (delivery,) = await harness.deliveries(node)
    assert observed.new() == (1, 5)
    await webhooks.redeliver(
        harness.dispatcher, "harbour", node.id, delivery.message.id, actor="alice"
    )
    assert observed.new() == (1, 5), "what is sent once more is no news"


async def test_failures_are_tried_again_on_schedule_under_the_same_id(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(500)
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    waits = []
    while (wait := await harness.next_due()) is not None:
        waits.append(wait.total_seconds())
        await harness.pass_time(seconds=wait.total_seconds())
    assert waits == [5, 30, 120, 600, 3600, 10800, 21600, 43200, 86400]
    assert len({event.headers["webhook-id"] for event in harness.sender.received}) == 1
    stamps = [event.headers["webhook-timestamp"] for event in harness.sender.received]
    assert len(set(stamps)) == 10, "each attempt is of its own moment"
    assert await harness.states(node) == ["failed"]


async def test_a_receiver_that_heals_gets_everything_in_order(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(AWAY)
    await harness.announce(node, UPDATE)
    await harness.pass_time(minutes=1)
    await harness.announce(node, Blocks(LINE))
    await harness.pass_time(minutes=1)
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    harness.sender.received.clear()
    harness.answers(200)
    await harness.pass_time(hours=1)
    assert harness.deliveries_made == ["v0.21.2-beta", LINE, "waiting_unlock"]


async def test_a_stale_status_is_superseded_by_a_newer_one(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(AWAY)
    for status in ("waiting_unlock", "stopped", "waiting_unlock", "stopped"):
        await harness.announce(node, status)
        await harness.run()
    harness.sender.received.clear()
    harness.answers(200)
    await harness.pass_time(hours=1)
    assert harness.deliveries_made == ["stopped"]
    superseded = ["superseded"] * 3
    assert await harness.states(node) == [*superseded, "delivered"]


async def test_a_new_event_calls_a_receiver_that_was_given_time(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(AWAY)
    await harness.announce(node, UPDATE)
    await harness.run()
    await harness.pass_time(minutes=30)  # by now the next attempt is far away
    harness.sender.received.clear()
    harness.answers(200)
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    assert harness.deliveries_made == ["v0.21.2-beta", "waiting_unlock"], (
        "in order, and at once"
    )


async def test_events_that_come_one_after_the_other_give_none_up_early(
    harness: WebhookHarness,
) -> None:
    """Each has the one that waits tried again, as the receiver may be back."""
    node = await harness.house()
    harness.answers(AWAY)
    await harness.announce(node, UPDATE)
    await harness.run()
    for _ in range(11):
        await harness.announce(node, "waiting_unlock")
        await harness.pass_time(minutes=5)
    assert (await harness.states(node))[0] == "pending"
    harness.answers(200)
    await harness.pass_time(hours=2)
    assert (await harness.states(node))[0] == "delivered"


async def test_an_event_the_receiver_refuses_does_not_hold_up_the_next(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()

    async def only_status(event: Received) -> Answer:
        return Answer(status=200 if b'"status"' in event.body else 400)

    newer = Update("v0.22.0-beta", "1.5.0")
    harness.sender.answers[URL] = only_status
    await harness.announce(node, UPDATE, newer, "waiting_unlock")
    await harness.run()
    assert harness.deliveries_made == ["v0.21.2-beta", "v0.22.0-beta", "waiting_unlock"]
    assert await harness.states(node) == ["pending", "pending", "delivered"]


async def test_an_event_superseded_in_flight_is_not_tried_again(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()

    async def meanwhile(event: Received) -> Answer:
        if said(event) == "waiting_unlock":
            await harness.announce(node, "stopped")
            return AWAY
        return Answer(status=200)

    harness.sender.answers[URL] = meanwhile
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    await harness.pass_time(days=1)
    assert harness.deliveries_made == ["waiting_unlock", "stopped"]
    assert await harness.states(node) == ["superseded", "delivered"]


async def test_an_event_superseded_in_flight_that_arrived_counts(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()

    async def meanwhile(event: Received) -> Answer:
        if said(event) == "waiting_unlock":
            await harness.announce(node, "stopped")
        return Answer(status=200)

    harness.sender.answers[URL] = meanwhile
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    assert harness.deliveries_made == ["waiting_unlock", "stopped"]
    assert await harness.states(node) == ["delivered", "delivered"]


async def test_killed_after_the_post_it_is_sent_once_more_under_the_same_id(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()

    class Killed(BaseException):
        pass

    async def kill(_: Received) -> Answer:
        raise Killed

    harness.sender.answers[URL] = kill
    await harness.announce(node, "waiting_unlock")
    with pytest.raises(Killed):
        await harness.run()
    harness.answers(200)
    await harness.run()
    assert len(harness.deliveries_made) == 1, "its lease still stands"
    await harness.pass_time(seconds=31)
    first, second = harness.sender.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert await harness.states(node) == ["delivered"]


async def test_a_dispatcher_that_was_asleep_for_its_lease_writes_nothing(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()

    async def oversleep(_: Received) -> Answer:
        harness.answers(200)
        await harness.pass_time(seconds=31)  # another dispatcher takes over meanwhile
        return AWAY

    harness.sender.answers[URL] = oversleep
    await harness.announce(node, "waiting_unlock")
    with pytest.raises(Stale):
        await harness.run()
    assert await harness.states(node) == ["delivered"]
    (stored,) = await harness.deliveries(node)
    assert len(stored.attempts) == 1


async def test_a_receiver_that_is_gone_is_paused_and_its_event_failed(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(410)
    await harness.announce(node, "stopped")
    await harness.run()
    await harness.announce(node, "waiting_unlock")
    await harness.pass_time(days=2)
    assert harness.deliveries_made == ["stopped"]
    assert await harness.states(node) == ["failed", "pending"]
    receiver = await harness.database.reader.subscriptions.get_of_node(node.id)
    assert receiver.pause is Pause.GONE


async def test_five_days_of_failure_pause_and_a_successful_test_resumes(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(AWAY)
    for _ in range(6):
        await harness.announce(node, "waiting_unlock")
        await harness.pass_time(days=1)
    receiver = await harness.database.reader.subscriptions.get_of_node(node.id)
    assert receiver.pause is Pause.FAILING
    assert receiver.failing_since == harness.now - timedelta(days=5)

    harness.sender.received.clear()
    await harness.announce(node, UPDATE, "waiting_unlock")
    await harness.pass_time(days=1)
    assert harness.deliveries_made == [], "a paused receiver is left in peace"

    harness.answers(200)
    tried = await webhooks.test(harness.dispatcher, "harbour", node.id, actor="test")
    assert tried.message.state == "delivered"
    await harness.run()
    assert harness.deliveries_made == ["stopped", "v0.21.2-beta", "waiting_unlock"]
    receiver = await harness.database.reader.subscriptions.get_of_node(node.id)
    assert (receiver.pause, receiver.failing_since) == (None, None)


async def test_after_a_long_pause_old_news_is_not_told(harness: WebhookHarness) -> None:
    node = await harness.house()
    harness.answers(410)
    await harness.announce(node, UPDATE)
    await harness.run()
    await harness.announce(node, Blocks(LINE))
    await harness.pass_time(days=6)
    await harness.announce(node, "waiting_unlock")
    harness.sender.received.clear()
    harness.answers(200)
    await webhooks.test(harness.dispatcher, "harbour", node.id, actor="test")
    await harness.run()
    assert harness.deliveries_made == ["stopped", "waiting_unlock"]


async def test_another_url_begins_anew(harness: WebhookHarness) -> None:
    node = await harness.house()
    harness.answers(410)
    await harness.announce(node, UPDATE, "waiting_unlock")
    await harness.run()
    other = "https://books.harbour.test/"
    moved = replace(node, settings=some_settings(webhook=other))
    async with harness.database.transaction() as tx:
        await tx.nodes.save(node, moved)
        await node_events.url_changed(tx, moved, now=harness.now)
    await harness.run()
    assert [each.url for each in harness.sender.received] == [URL, other]
    assert harness.deliveries_made[1:] == ["waiting_unlock"]


async def test_without_a_url_nothing_waits_any_more(harness: WebhookHarness) -> None:
    node = await harness.house()
    harness.answers(AWAY)
    await harness.announce(node, UPDATE, "waiting_unlock")
    await harness.run()
    harness.now += timedelta(seconds=1)
    moved = replace(node, settings=some_settings(webhook=""))
    async with harness.database.transaction() as tx:
        await tx.nodes.save(node, moved)
        await node_events.url_changed(tx, moved, now=harness.now)
    await harness.pass_time(days=1)
    assert len(harness.deliveries_made) == 1
    assert await harness.states(node) == ["failed", "failed"]


async def test_any_event_can_be_sent_again_by_hand(harness: WebhookHarness) -> None:
    node = await harness.house()
    harness.answers(410)
    await harness.announce(node, UPDATE)
    await harness.run()
    (failed,) = await harness.deliveries(node)
    harness.answers(AWAY)
    again = await webhooks.redeliver(
        harness.dispatcher, "harbour", node.id, failed.message.id, actor="test"
    )
    assert again.message.state == "failed"
    harness.answers(200)
    again = await webhooks.redeliver(
        harness.dispatcher, "harbour", node.id, failed.message.id, actor="test"
    )
    assert again.message.state == "delivered"
    assert [each.answer.status for each in again.attempts] == [410, None, 200]
    ids = {event.headers["webhook-id"] for event in harness.sender.received}
    assert ids == {failed.message.id}
    harness.answers(500)
    again = await webhooks.redeliver(
        harness.dispatcher, "harbour", node.id, failed.message.id, actor="test"
    )
    assert again.message.state == "delivered", "what has arrived has arrived"
    await harness.pass_time(days=1)
    assert len(harness.deliveries_made) == 4, (
        "a failure by hand is not tried again by itself"
    )


async def test_a_test_tells_what_is_asked_and_is_not_tried_again(
    harness: WebhookHarness,
) -> None:
    node = await harness.house(a_node(NodeStatus.RUNNING))
    harness.answers(500)
    tried = await webhooks.test(
        harness.dispatcher, "harbour", node.id, actor="test", status="waiting_unlock"
    )
    assert tried.message.test
    assert tried.message.state == "failed"
    await harness.pass_time(days=1)
    assert harness.deliveries_made == ["waiting_unlock"]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (status, str(status) if str(status) in ANNOUNCED else "stopped")
        for status in NodeStatus
        if status is not NodeStatus.DELETING
    ],
)
async def test_a_test_never_tells_what_receivers_do_not_know(
    harness: WebhookHarness, status: NodeStatus, text: str
) -> None:
    node = await harness.house(a_node(status))
    await webhooks.test(harness.dispatcher, "harbour", node.id, actor="test")
    assert harness.deliveries_made == [text]
    with pytest.raises(Malformed, match="status: must be one of stopped, wai"):
        await webhooks.test(
            harness.dispatcher, "harbour", node.id, actor="test", status="running"
        )
    assert harness.deliveries_made == [text]


async def test_many_names_of_one_receiver_are_counted_together(
    harness: WebhookHarness,
) -> None:
    nodes = [
        await harness.house(
            a_node(
                id=f"{number:08d}-7a44-4c39-9a0e-0c1f2b7d9e55N",
                name=f"pier {number}",
                slot=300 + number,
                api_endpoint=f"pier-{number}.localhost",
            ),
            url=f"https://{number}.hooks.harbour.test/",
        )
        for number in range(31)
    ]
    for node in nodes[:30]:
        await webhooks.test(harness.dispatcher, "harbour", node.id, actor="test")
    with pytest.raises(TooMany, match="try again in 2 s") as refusal:
        await webhooks.test(harness.dispatcher, "harbour", nodes[30].id, actor="test")
    assert refusal.value.retry_after_s == 2
    assert await harness.deliveries(nodes[30]) == []
    assert len(harness.deliveries_made) == 30


def test_two_organizations_are_counted_each_for_itself() -> None:
    by_hand = ManualLimit(1)
    by_hand.take("harbour", URL, at_s=0)
    by_hand.take("reef", URL, at_s=0)
    for spelled in (URL, URL.replace("hooks", "HOOKS"), URL.replace(".test", ".test.")):
        with pytest.raises(TooMany):
            by_hand.take("harbour", spelled, at_s=0)


async def test_events_are_shown_and_resent_to_their_own_organization_alone(
    harness: WebhookHarness,
) -> None:
    node, other = await harness.house(), await harness.house(_other())
    await harness.announce(node, "stopped")
    await harness.run()
    (stored,) = await harness.deliveries(node)
    dispatcher = harness.dispatcher
    for attempt in (
        webhooks.overview(dispatcher, "pier", node.id, before=9, limit=9),
        webhooks.redeliver(
            dispatcher, "pier", node.id, stored.message.id, actor="test"
        ),
        webhooks.redeliver(
            dispatcher, "harbour", other.id, stored.message.id, actor="test"
        ),
        webhooks.redeliver(
            dispatcher, "harbour", node.id, "msg_nonesuch", actor="test"
        ),
        webhooks.test(dispatcher, "pier", node.id, actor="test"),
        webhooks.rotate_secret(dispatcher, "pier", node.id, actor="key:charlie"),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert len(harness.deliveries_made) == 1


async def test_after_a_rotation_both_secrets_sign_for_a_day(
    harness: WebhookHarness,
) -> None:
    harness.now = datetime.now(UTC)
    node = await harness.house()
    rotated = await webhooks.rotate_secret(
        harness.dispatcher, "harbour", node.id, actor="key:alice"
    )
    assert len(bytes.fromhex(rotated.secret)) >= 24
    assert rotated.old_signs_until == harness.now + timedelta(days=1)
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    (event,) = harness.sender.received
    assert event.headers["Service-Secret"] == rotated.secret
    for secret in (SECRET, rotated.secret):
        Webhook(secret).verify(event.body, dict(event.headers))

    await harness.pass_time(days=1)
    await harness.announce(node, "stopped")
    await harness.run()
    signatures = harness.sender.received[-1].headers["webhook-signature"].split()
    assert len(signatures) == 2, "the old secret is over"


async def test_of_two_rotations_at_once_both_secrets_are_good(
    harness: WebhookHarness,
) -> None:
    harness.now = datetime.now(UTC)
    node = await harness.house()
    rotations = await asyncio.gather(
        *(
            webhooks.rotate_secret(
                harness.dispatcher, "harbour", node.id, actor="key:alice"
            )
            for _ in range(2)
        )
    )
    await harness.announce(node, "stopped")
    await harness.run()
    (event,) = harness.sender.received
    for rotated in rotations:
        Webhook(rotated.secret).verify(event.body, dict(event.headers))


async def test_a_test_that_resumes_waits_for_what_is_announced(
    harness: WebhookHarness,
) -> None:
    """Both lock the task and then its events: in another order both would wait."""
    node = await harness.house()
    harness.answers(AWAY)
    await harness.announce(node, "stopped")
    await harness.run()
    async with harness.database.transaction() as tx:
        await tx.subscriptions.set_health(
            node.id, failing_since=NOON, pause=Pause.FAILING
        )
    harness.answers(200)
    begun, go = asyncio.Event(), asyncio.Event()

    async def announce() -> None:
        async with harness.database.transaction() as tx:
            await tx.tasks.put(NODE_WEBHOOKS, node.id, due=harness.now)
            begun.set()
            await go.wait()
            status = of_node(node, "waiting_unlock")
            await node_events.announce(tx, node, [status], now=harness.now)

    announcing = asyncio.create_task(announce())
    await begun.wait()
    testing = asyncio.create_task(
        webhooks.test(harness.dispatcher, node.organization_id, node.id, actor="test")
    )
    await until_stuck(harness.database, testing)
    go.set()
    await asyncio.gather(announcing, testing)
    await harness.run()
    assert harness.deliveries_made[-1] == "waiting_unlock"


async def test_forgetting_a_node_leaves_nothing_of_its_webhooks(
    harness: WebhookHarness,
) -> None:
    node, other = await harness.house(), await harness.house(_other())
    for each in (node, other):
        await harness.announce(each, "stopped")
    await harness.run()
    async with harness.database.transaction() as tx:
        await node_events.delete_webhook(tx, node.id)
    assert await harness.deliveries(node) == []
    assert len(await harness.deliveries(other)) == 1


async def test_old_events_are_forgotten_with_their_attempts(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    await harness.announce(node, "stopped")
    await harness.pass_time(days=31)
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    async with harness.database.transaction() as tx:
        await tx.tasks.put(FORGETTING, "all", due=harness.now)
        (claim,) = await tx.tasks.claim(
            FORGETTING,
            now=harness.now,
            until=harness.now + timedelta(seconds=30),
            limit=1,
        )
    await prune(harness.dispatcher, Work(harness.database, claim))
    reader = harness.database.reader
    due = await reader.tasks.next_due(FORGETTING, now=harness.now)
    assert due == harness.now + timedelta(hours=1)
    (stored,) = await harness.deliveries(node)
    assert json.loads(stored.message.body)["details"] == {"status": "waiting_unlock"}


async def test_forgetting_is_queued_when_a_program_starts(
    harness: WebhookHarness,
) -> None:
    platform = Platform(
        settings=Settings(),
        database=harness.database,
        sealer=harness.sealer,
        clock=lambda: harness.now,
        dispatcher=harness.dispatcher,
    )
    await put_standing(platform)
    due = await harness.database.reader.tasks.next_due(FORGETTING, now=harness.now)
    assert due == harness.now
    assert FORGETTING in {each.kind for each in queues(platform)}


async def test_an_event_that_nothing_would_send_is_found(
    harness: WebhookHarness,
) -> None:
    node = await harness.house()
    harness.answers(AWAY)
    await harness.announce(node, "stopped")
    await harness.run()
    assert await verify(harness.database) == []
    async with harness.database.transaction() as tx:
        (claim,) = await tx.tasks.claim(
            NODE_WEBHOOKS,
            now=harness.now + timedelta(days=1),
            until=harness.now + timedelta(days=1),
            limit=1,
        )
        await tx.tasks.end(claim)
    (broken,) = await verify(harness.database)
    assert str(broken).startswith(f"I10: node {node.id}")
    async with harness.database.transaction() as tx:
        await tx.subscriptions.set_health(node.id, failing_since=NOON, pause=Pause.GONE)
    assert await verify(harness.database) == []


def _other() -> Node:
    return a_node(id=OTHER, name="pier", slot=8, api_endpoint="pier.localhost")
