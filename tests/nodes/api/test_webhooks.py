"""The webhook endpoints: deliveries, redeliver, test, rotate-secret."""

from datetime import timedelta
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.events.rules.deliveries import Answer
from leyden.nodes.rules.nodes import Node, NodeStatus
from leyden.values import replace
from tests.base.api.conftest import Caller
from tests.events.webhook_harness import SECRET, URL, WebhookHarness
from tests.nodes.rules.nodes import a_node

UNKNOWN = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"


@pytest.fixture
def harness(sqlite_db: Database, sealer: Sealer) -> WebhookHarness:
    return WebhookHarness(database=sqlite_db, sealer=sealer)


@pytest.fixture
def platform(settings: Settings, harness: WebhookHarness) -> Platform:
    return Platform(
        settings=settings,
        database=harness.database,
        sealer=harness.sealer,
        clock=lambda: harness.now,
        dispatcher=harness.dispatcher,
    )


@pytest.fixture
async def node(harness: WebhookHarness, alice: Caller) -> Node:
    mine = replace(a_node(NodeStatus.RUNNING), organization_id=alice.organization_id)
    return await harness.house(mine)


def at(node: Node, *, node_id: str | None = None) -> str:
    return f"/organizations/{node.organization_id}/nodes/{node_id or node.id}/webhooks"


async def test_every_attempt_is_shown_and_the_secret_is_not(
    alice: Caller, bob: Caller, harness: WebhookHarness, node: Node
) -> None:
    harness.answers(
        Answer(status=503, excerpt="at lunch", took=timedelta(milliseconds=41.6))
    )
    await harness.announce(node, "waiting_unlock")
    await harness.run()
    harness.answers(Answer(error="the connection was refused"))
    await harness.pass_time(seconds=5)
    shown = await alice.get(f"{at(node)}/deliveries")
    assert shown.status == 200
    found = shown.json()
    delivery_id = found["deliveries"][0].pop("delivery_id")
    assert delivery_id.startswith("msg_")
    assert found == {
        "node_id": node.id,
        "receiver": {
            "webhook": URL,
            "status": "active",
            "reason": "",
            "failing_since": "2026-03-01T12:00:00.000Z",
        },
        "deliveries": [
            {
                "event": {
                    "type": "status",
                    "details": {"status": "waiting_unlock"},
                    "api": node.api_endpoint,
                },
                "test": False,
                "created": "2026-03-01T12:00:00.000Z",
                "status": "pending",
                "next_attempt": "2026-03-01T12:00:35.000Z",
                "attempts": [
                    {
                        "time": "2026-03-01T12:00:00.000Z",
                        "took_ms": 42,
                        "status": 503,
                        "answer": "at lunch",
                        "error": "",
                    },
                    {
                        "time": "2026-03-01T12:00:05.000Z",
                        "took_ms": 0,
                        "status": None,
                        "answer": "",
                        "error": "the connection was refused",
                    },
                ],
            }
        ],
        "next_cursor": 0,
        "has_more": False,
    }
    assert SECRET.encode() not in shown.body
    assert (await bob.get(f"{at(node)}/deliveries")).body == shown.body


async def test_a_paused_receiver_is_shown(
    alice: Caller, harness: WebhookHarness, node: Node
) -> None:
    harness.answers(410)
    await harness.announce(node, "stopped")
    await harness.run()
    shown = (await alice.get(f"{at(node)}/deliveries")).json()
    assert shown["receiver"] == {
        "webhook": URL,
        "status": "paused",
        "reason": "gone",
        "failing_since": "2026-03-01T12:00:00.000Z",
    }
    assert shown["deliveries"][0]["status"] == "failed"
    assert shown["deliveries"][0]["next_attempt"] == ""


async def test_pages_follow_one_another(
    alice: Caller, harness: WebhookHarness, node: Node
) -> None:
    for _ in range(5):
        await harness.announce(node, "waiting_unlock")
        await harness.run()
    found: list[Any] = []
    cursor = 0
    for size in (2, 2, 1):
        page = (
            await alice.get(f"{at(node)}/deliveries?limit=2&cursor={cursor}")
        ).json()
        assert len(page["deliveries"]) == size
        found += [each["delivery_id"] for each in page["deliveries"]]
        cursor = page["next_cursor"]
    assert cursor == 0
    assert len(set(found)) == 5


async def test_an_event_is_sent_again(
    alice: Caller, harness: WebhookHarness, node: Node
) -> None:
    harness.answers(410)
    await harness.announce(node, "stopped")
    await harness.run()
    harness.answers(200)
    page = (await alice.get(f"{at(node)}/deliveries")).json()
    delivery_id = page["deliveries"][0]["delivery_id"]
    again = await alice.post(f"{at(node)}/deliveries/{delivery_id}/redeliver", {})
    assert again.status == 200
    assert again.json()["delivery_id"] == delivery_id
    assert again.json()["status"] == "delivered"
    assert [each["status"] for each in again.json()["attempts"]] == [410, 200]


async def test_a_webhook_is_tried_out(
    alice: Caller, harness: WebhookHarness, node: Node
) -> None:
    harness.answers(Answer(error="the certificate does not verify: self-signed"))
    tried = await alice.post(f"{at(node)}/test", {})
    assert tried.status == 200
    assert tried.json()["test"] is True
    assert tried.json()["status"] == "failed"
    assert tried.json()["event"]["details"] == {"status": "stopped"}
    (attempt,) = tried.json()["attempts"]
    assert attempt["error"] == "the certificate does not verify: self-signed"


async def test_the_status_of_a_test_can_be_chosen(
    alice: Caller, harness: WebhookHarness, node: Node
) -> None:
    for status in ("waiting_unlock", "waiting_init", "stopped"):
        tried = await alice.post(f"{at(node)}/test", {"status": status})
        assert tried.json()["event"]["details"] == {"status": status}
    for body in ({"status": "running"}, {"status": 1}, {"state": "stopped"}):
        refused = await alice.post(f"{at(node)}/test", body)
        assert refused.status == 400
        assert "stat" in refused.json()["message"]
    assert len(harness.deliveries_made) == 3


async def test_tests_and_redeliveries_are_no_way_to_flood_anybody(
    alice: Caller, bob: Caller, harness: WebhookHarness, node: Node
) -> None:
    await harness.announce(node, "stopped")
    await harness.run()
    page = (await alice.get(f"{at(node)}/deliveries")).json()
    (delivery,) = page["deliveries"]
    again = f"{at(node)}/deliveries/{delivery['delivery_id']}/redeliver"
    statuses = [
        (await alice.post(path, {})).status
        for _ in range(30)
        for path in (f"{at(node)}/test", again)
    ]
    assert statuses == [200] * 10 + [429] * 50
    assert len(harness.deliveries_made) == 11
    before = (await alice.get(f"{at(node)}/deliveries")).body

    refused = await bob.post(again, {})  # of the same organization
    assert refused.status == 429
    assert refused.headers["retry-after"] == "6"
    assert "webhook: at most 10 tests" in refused.json()["message"]
    assert (await alice.get(f"{at(node)}/deliveries")).body == before

    harness.now += timedelta(seconds=6)
    assert (await alice.post(again, {})).status == 200
    assert (await alice.post(again, {})).status == 429
    assert len(harness.deliveries_made) == 12


async def test_a_node_without_a_webhook_is_told_so(
    alice: Caller, harness: WebhookHarness
) -> None:
    mine = replace(a_node(), organization_id=alice.organization_id)
    node = await harness.house(mine, url="")
    tried = await alice.post(f"{at(node)}/test", {})
    assert tried.status == 409
    assert "no webhook" in tried.json()["message"]


async def test_a_rotated_secret_is_shown_once_and_used(
    alice: Caller, harness: WebhookHarness, node: Node
) -> None:
    answer = await alice.post(f"{at(node)}/rotate-secret", {})
    assert answer.status == 200
    secret = answer.json().pop("webhook_secret")
    assert secret != SECRET
    assert len(bytes.fromhex(secret)) >= 24
    assert answer.json()["old_secret_signs_until"] == "2026-03-02T12:00:00.000Z"
    await harness.announce(node, "stopped")
    await harness.run()
    assert harness.sender.received[-1].headers["Service-Secret"] == secret
    lines = await harness.database.reader.audit.latest()
    (line,) = (each for each in lines if each.action == "webhook secret rotated")
    assert line.subject == node.id
    assert secret not in str(line.detail)


async def test_what_is_not_there_or_not_yours_is_not_found(
    alice: Caller, charlie: Caller, nobody: Caller, harness: WebhookHarness, node: Node
) -> None:
    await harness.announce(node, "stopped")
    await harness.run()
    page = (await alice.get(f"{at(node)}/deliveries")).json()
    delivery_id = page["deliveries"][0]["delivery_id"]
    reported = len(harness.deliveries_made)
    tails = {
        "/deliveries": "GET",
        f"/deliveries/{delivery_id}/redeliver": "POST",
        "/test": "POST",
        "/rotate-secret": "POST",
    }
    for tail, method in tails.items():
        for caller, path in (
            (charlie, at(node)),
            (charlie, at(node).replace(alice.organization_id, charlie.organization_id)),
            (alice, at(node, node_id=UNKNOWN)),
            (alice, at(node, node_id="nonsense")),
        ):
            answer = await caller.call(method, path + tail)
            assert (answer.status, answer.json()) == (404, {"message": "not found"})
        assert (await nobody.call(method, at(node) + tail)).status == 401
    unknown = await alice.call("POST", f"{at(node)}/deliveries/msg_0/redeliver")
    assert (unknown.status, unknown.json()) == (404, {"message": "not found"})
    assert len(harness.deliveries_made) == reported


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "cursor=-1", "page=2", "limit=1&limit=2"],
)
async def test_a_query_that_makes_no_sense_is_refused(
    alice: Caller, node: Node, query: str
) -> None:
    answer = await alice.get(f"{at(node)}/deliveries?{query}")
    assert answer.status == 400
