"""What the last release stored of nodes' webhooks is sent once, and shown."""

import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import alembic.command
import msgspec
import psycopg
import pytest
import sqlalchemy as sa

from leyden.backups import sealed_values
from leyden.base.database.database import open_database
from leyden.base.database.schema import _config, connected, migrate
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import to_us
from leyden.base.tasks.work import Work
from leyden.channels.books.verify import verify
from leyden.events.dispatchers import FORGETTING, RETIRED, prune, retire
from leyden.events.rows.subscriptions import NODE_WEBHOOKS, old_purpose
from leyden.events.rows.subscriptions import webhook_secret_purpose as purpose
from leyden.events.rules.deliveries import Pause
from leyden.nodes import webhooks
from leyden.nodes.launch_specs import key_purpose, settings_purpose
from tests.events.webhook_harness import SECRET, URL, Update, WebhookHarness
from tests.nodes.rules.nodes import NOON, a_node, some_settings

BEFORE = "0048_lightning_only"
PIER = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"
OLD_SECRET = "a7" * 32
SECOND = 1_000_000


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A database under the schema of before."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    if request.param == "postgres":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    else:
        url = url.removesuffix(".db") + "-before.db"
    with _config() as config, connected(url) as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, BEFORE)
    return url


def put(url: str, **rows: list[Mapping[str, Any]]) -> None:
    """Store rows as the last release does, in the order given."""
    with connected(url) as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        for table, each in rows.items():
            for row in each:
                connection.execute(tables.tables[table].insert(), row)


def an_event(id_: str, details: Mapping[str, str], **more: Any) -> dict[str, Any]:
    node = a_node()
    kind = "update" if "lnd_version" in details else "status"
    body = json.dumps({"type": kind, "details": details, "api": node.api_endpoint})
    return {
        "id": id_,
        "node_id": node.id,
        "type": kind,
        "body": body,
        "told_once": f"update {details['lnd_version']}" if kind == "update" else None,
        "test": 0,
        "created": to_us(NOON),
        "state": "pending",
        "due": to_us(NOON),
        "overtakable": 0,
        "attempts": 0,
        **more,
    }


def an_attempt(id_: str, number: int, status: int) -> dict[str, Any]:
    return {
        "event_id": id_,
        "number": number,
        "at": to_us(NOON),
        "took": 41_000,
        "status": status,
        "excerpt": "at lunch",
        "error": "",
    }


def a_task(kind: str, due: int, **more: Any) -> dict[str, Any]:
    task = {"kind": kind, "key": a_node().id, "due": due, "lease": 0, "fence": 3}
    return {**task, "asked": 7, "attempts": 0, "holder": "", **more}


UPDATE = {"update_available": "true", "lnd_version": "v9", "service_version": "1"}
UNLOCK = {"status": "waiting_unlock"}


@pytest.fixture
async def harness(url: str, sealer: Sealer) -> AsyncIterator[WebhookHarness]:
    """A node with a webhook, some events of every state, and one that was retried."""
    put_nodes(url, sealer)
    retried = to_us(NOON) + 30 * SECOND
    put(
        url,
        webhook_event=[
            an_event("msg_0", {"status": "stopped"}, state="superseded"),
            an_event("msg_1", UPDATE, state="delivered", attempts=2),
            an_event("msg_2", {"status": "stopped"}, test=1, state="failed"),
            an_event("msg_3", UNLOCK, attempts=1, due=retried),
        ],
        webhook_attempt=[
            an_attempt("msg_1", 1, 503),
            an_attempt("msg_1", 2, 200),
            an_attempt("msg_3", 1, 503),
        ],
        webhook_receiver=[
            {
                "node_id": a_node().id,
                "sealed_old_secret": sealer.seal(
                    OLD_SECRET.encode(), purpose=old_purpose(purpose(a_node().id))
                ),
                "old_secret_until": to_us(NOON) + 3600 * SECOND,
                "failing_since": to_us(NOON),
                "pause": None,
            },
            {"node_id": PIER, "failing_since": to_us(NOON), "pause": "gone"},
        ],
        task=[a_task("webhooks", retried)],
    )
    migrate(url)
    database = await open_database(url)
    yield WebhookHarness(database=database, sealer=sealer)
    await database.close()


def put_nodes(url: str, sealer: Sealer) -> None:
    """Store the rows of two nodes; of these only the webhooks matter."""
    settings = msgspec.json.encode(some_settings(webhook=URL)).decode()
    node = {
        "organization_id": "harbour",
        "network": "testnet",
        "type": "standard",
        "version": "v0.20.1-beta",
        "created": to_us(NOON),
        "status": "waiting_unlock",
        "wanted": "running",
        "revision": 0,
        "process": "",
        "launched": 0,
        "host": "",
        "crashes": 0,
        "due": to_us(NOON),
        "purchased_type": "paid",
        "purchase_status": "active",
        "edition": 0,
        "settings": settings,
    }
    ids = {a_node().id: a_node().api_endpoint, PIER: "pier.localhost"}
    put(
        url,
        organization=[{"id": "harbour", "name": "Harbour", "created": 0}],
        node=[
            {**node, "id": id_, "name": api, "api_endpoint": api, "slot": slot}
            for slot, (id_, api) in enumerate(ids.items(), start=1)
        ],
        node_outfit=[
            {
                "node_id": id_,
                "sealed_settings": sealer.seal(b"{}", purpose=settings_purpose(id_)),
                "webhook_secret": sealer.seal(SECRET.encode(), purpose=purpose(id_)),
                "certificate": b"",
                "certificate_until": 0,
                "key": sealer.seal(b"", purpose=key_purpose(id_)),
            }
            for id_ in ids
        ],
    )


async def test_what_waits_is_sent_once_under_its_id_with_both_secrets(
    harness: WebhookHarness,
) -> None:
    await harness.run()
    assert harness.deliveries_made == [], "its time has not come"
    assert await harness.next_due() == timedelta(seconds=30)
    assert await verify(harness.database) == []
    await harness.pass_time(seconds=30)
    (sent,) = harness.sender.received
    assert sent.headers["webhook-id"] == "msg_3"
    assert sent.headers["Service-Secret"] == SECRET
    assert len(sent.headers["webhook-signature"].split()) == 4
    await harness.pass_time(days=3)
    assert len(harness.sender.received) == 1


async def test_what_was_is_shown_as_it_was(harness: WebhookHarness) -> None:
    node = a_node()
    shown = await harness.deliveries(node)
    assert [(each.message.id, str(each.message.state)) for each in shown] == [
        ("msg_0", "superseded"),
        ("msg_1", "delivered"),
        ("msg_2", "failed"),
        ("msg_3", "pending"),
    ]
    assert [each.message.test for each in shown] == [False, False, True, False]
    statuses = [[answer.status for _, answer in each.attempts] for each in shown]
    assert statuses == [[], [503, 200], [], [503]]
    assert shown[1].attempts[0].answer.excerpt == "at lunch"
    subscriptions = harness.database.reader.subscriptions
    assert (await subscriptions.get_of_node(node.id)).failing_since == NOON
    assert (await subscriptions.get_of_node(PIER)).pause is Pause.GONE
    assert await subscriptions.list_("harbour") == []


async def test_each_secret_that_moved_opens(harness: WebhookHarness, url: str) -> None:
    with connected(url) as connection:
        opened = sealed_values.open_all(connection, harness.sealer)
    assert (opened.values, opened.shut) == (7, [])
    node_id = a_node().id
    rotated = await webhooks.rotate_secret(
        harness.dispatcher, "harbour", node_id, actor="test"
    )
    await harness.pass_time(seconds=30)
    assert harness.sender.received[0].headers["Service-Secret"] == rotated.secret


async def test_an_update_that_was_announced_is_not_announced_again(
    harness: WebhookHarness,
) -> None:
    node = await harness.database.reader.nodes.get(a_node().id)
    await harness.announce(node, Update("v9"))
    assert len(await harness.deliveries(node)) == 4
    await harness.announce(node, Update("v10"))
    assert len(await harness.deliveries(node)) == 5


async def test_what_the_last_release_still_stores_is_taken_over(
    harness: WebhookHarness, url: str
) -> None:
    """It runs beside this one for a while; both process the tasks of its kind."""
    await harness.pass_time(seconds=30)
    newer = {**UPDATE, "lnd_version": "v11"}
    put(
        url,
        webhook_event=[
            an_event("msg_4", newer, attempts=1),
            an_event("msg_5", UNLOCK, state="delivered", attempts=1),
        ],
        webhook_attempt=[an_attempt("msg_4", 1, 503), an_attempt("msg_5", 1, 200)],
    )
    for _ in range(2):
        await do(harness, FORGETTING, "all")  # it has left no task for what it has sent
        await do(harness, RETIRED, a_node().id)
        await harness.run()
    ids = [each.headers["webhook-id"] for each in harness.sender.received]
    assert ids == ["msg_3", "msg_4"]
    shown = (await harness.deliveries(a_node()))[-2:]
    assert [len(each.attempts) for each in shown] == [2, 1]
    with connected(url) as connection:
        rest = "SELECT told_once FROM webhook_event WHERE state <> 'pending'"
        assert sorted(connection.execute(sa.text(rest)).scalars()) == [
            "update v11",
            "update v9",
        ]
    reader = harness.database.reader
    assert await reader.tasks.next_due(NODE_WEBHOOKS, now=harness.now) is None


async def do(harness: WebhookHarness, kind: str, key: str) -> None:
    """Do a task of this kind, as its queue would, if there is one."""
    async with harness.database.transaction() as tx:
        if kind == FORGETTING:
            await tx.tasks.put(kind, key, due=harness.now)
        claims = await tx.tasks.claim(
            kind, now=harness.now, until=harness.now + timedelta(seconds=30), limit=1
        )
    step = prune if kind == FORGETTING else retire
    for claim in claims:
        await step(harness.dispatcher, Work(harness.database, claim))
