"""`/subscriptions`: webhook endpoints of an organization."""

import json

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Scope
from leyden.base.settings import Settings
from leyden.events.dispatchers import Dispatcher
from leyden.events.tails import Tails
from leyden.people import api_keys
from tests.base.api.conftest import Caller
from tests.conftest import NOW
from tests.fakes.sender import FakeSender

URL = "https://hooks.harbour.test/events"
NEW = {"url": URL, "types": ["order.*"], "description": "the shop"}


@pytest.fixture
def sender() -> FakeSender:
    return FakeSender()


@pytest.fixture
def platform(
    db: Database, sealer: Sealer, settings: Settings, sender: FakeSender
) -> Platform:
    return Platform(
        settings=settings,
        database=db,
        sealer=sealer,
        clock=lambda: NOW,
        tails=Tails(db),
        dispatcher=Dispatcher(
            database=db, sealer=sealer, sender=sender, clock=lambda: NOW
        ),
    )


async def test_a_subscription_from_its_creation_to_its_end(
    alice: Caller, bob: Caller, charlie: Caller, sender: FakeSender
) -> None:
    made = (await alice.post("/subscriptions", NEW)).json()
    assert len(made.pop("secret")) == 64
    assert made == {
        "subscription_id": made["subscription_id"],
        "url": URL,
        "format": "standard",
        "types": ["order.*"],
        "description": "the shop",
        "created": "2026-03-01T12:00:00.000Z",
        "status": "active",
        "reason": "",
        "failing_since": "",
    }
    one = f"/subscriptions/{made['subscription_id']}"
    assert (await bob.get(one)).json() == made
    assert (await bob.get("/subscriptions")).json() == {"subscriptions": [made]}
    tried = (await bob.post(f"{one}/test", {})).json()
    assert tried["test"] is True
    assert json.loads(tried["body"])["test"] is True
    assert [each["status"] for each in tried["attempts"]] == [200]
    assert len(sender.received) == 1
    sent = (await bob.get(f"{one}/deliveries?limit=1")).json()
    assert sent["deliveries"] == [tried]
    assert sent["subscription"] == made
    paused = (await alice.post(one, {"paused": True})).json()
    assert (paused["status"], paused["reason"]) == ("paused", "owner")
    for path in ("", "/deliveries"):
        assert (await charlie.get(f"{one}{path}")).status == 404
    for path in ("/test", "/resend", "/rotate-secret", "/deliveries/1/redeliver", ""):
        body = json.dumps({"after": ""} if path == "/resend" else {}).encode()
        sent = b"" if path.endswith(("secret", "redeliver")) else body
        answer = await charlie.call("POST", f"{one}{path}", sent)
        assert answer.status == 404, path
    assert (await charlie.delete(one)).status == 404
    assert (await alice.delete(one)).json() == {
        "subscription_id": made["subscription_id"]
    }
    assert (await alice.get(one)).status == 404
    assert (await charlie.get("/subscriptions")).json() == {"subscriptions": []}


async def test_a_chat_is_sent_sentences_and_its_url_is_never_shown(
    alice: Caller, sender: FakeSender
) -> None:
    url = "https://hooks.slack.test/services/lantern"
    answer = await alice.post("/subscriptions", {"url": url, "format": "slack"})
    made = answer.json()
    assert (made["url"], made["secret"]) == ("https://hooks.slack.test/…", "")
    one = f"/subscriptions/{made['subscription_id']}"
    tried = await alice.post(f"{one}/test", {"type": "order.paid"})
    assert sender.received[-1].url == url
    assert json.loads(tried.json()["body"])["text"].startswith("Test: Channel order ")
    shown = [answer, tried, await alice.get(one), await alice.get("/subscriptions")]
    shown.append(await alice.get(f"{one}/deliveries"))
    assert not [each for each in shown if "lantern" in json.dumps(each.json())]
    rotated = await alice.call("POST", f"{one}/rotate-secret", b"")
    assert rotated.status == 409


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "url: is required"),
        ({"url": "ftp://example.org"}, "url: must begin with https://"),
        ({"url": "http://example.org/hook"}, "url: must begin with https://"),
        ({"url": "https://me:pw@example.org/"}, "url: must not contain a user name"),
        ({"url": "https://example.org:22/"}, "url: "),
        ({"url": "https://example.org/#x"}, "url: must not contain a fragment"),
        ({"url": f"https://example.org/{'x' * 1_024}"}, "url: at most"),
        ({"url": URL, "types": []}, "types"),
        ({"url": URL, "types": ["order.eaten"]}, "types: must be types of events"),
        ({"url": URL, "types": [7]}, "types"),
        ({"url": URL, "types": ["*"] * 51}, "types"),
        ({"url": URL, "description": "x" * 201}, "description"),
        ({"url": URL, "description": "a\r\nb"}, "description"),
        ({"url": URL, "format": "email"}, "format: must be one of standard, slack"),
        ({"url": URL, "format": "telegram"}, "url: must be like https://api.telegram"),
        ({"url": URL, "secret": "mine"}, "secret: is not a known field"),
    ],
)
async def test_a_wrong_subscription_is_refused(
    alice: Caller, body: dict[str, object], why: str
) -> None:
    answer = await alice.post("/subscriptions", body)
    assert answer.status == 400
    assert why in answer.json()["message"]
    assert (await alice.get("/subscriptions")).json() == {"subscriptions": []}


async def test_a_change_is_held_to_the_same_rules(alice: Caller) -> None:
    made = (await alice.post("/subscriptions", NEW)).json()
    one = f"/subscriptions/{made['subscription_id']}"
    for body, why in (
        ({"url": "http://x"}, "url: "),
        ({"types": []}, "types"),
        ({"types": ["nothing"]}, "types: "),
        ({"description": "\0"}, "description"),
        ({"paused": "yes"}, "paused"),
        ({"stopped": True}, "stopped: is not a known field"),
    ):
        answer = await alice.post(one, body)
        assert answer.status == 400, body
        assert why in answer.json()["message"]
    assert (await alice.get(one)).json()["url"] == URL


async def with_less_scope(alice: Caller, platform: Platform) -> Caller:
    """Return a caller of the same organization whose key is for nodes alone."""
    _, key = await api_keys.create(
        platform,
        alice.organization_id,
        name="nodes",
        scopes=[Scope.NODE],
        expires=None,
        actor="test",
    )
    return Caller(alice.api, key, alice.organization_id)


async def test_a_key_with_less_scope_has_less_to_do_with_it(
    platform: Platform, alice: Caller
) -> None:
    made = (await alice.post("/subscriptions", NEW)).json()
    nodes = await with_less_scope(alice, platform)
    one = f"/subscriptions/{made['subscription_id']}"
    assert (await nodes.get("/subscriptions")).json() == {"subscriptions": []}
    for path, body in (
        ("", {"paused": True}),
        ("/test", {}),
        ("/resend", {"after": ""}),
    ):
        assert (await nodes.post(f"{one}{path}", body)).status == 403
    for path in ("", "/deliveries"):
        assert (await nodes.get(f"{one}{path}")).status == 403
    assert (await nodes.delete(one)).status == 403
    own = (await nodes.post("/subscriptions", {"url": URL})).json()
    assert own["types"] == ["backup.*", "node.*"]


async def test_a_key_with_less_scope_sees_nothing_of_what_was_sent_before(
    alice: Caller, platform: Platform, sender: FakeSender
) -> None:
    """Its owner has chosen other types since, which the key may see."""
    wanted = {"url": URL, "types": ["order.*", "node.failed"]}
    made = (await alice.post("/subscriptions", wanted)).json()
    one = f"/subscriptions/{made['subscription_id']}"
    for kind in ("node.failed", "order.paid", "node.failed"):
        assert (await alice.post(f"{one}/test", {"type": kind})).status == 200
    assert (await alice.post(one, {"types": ["node.failed"]})).status == 200
    less = await with_less_scope(alice, platform)
    body = (await less.get(f"{one}/deliveries?limit=2")).json()["deliveries"]
    assert [each["type"] for each in body] == ["node.failed", "node.failed"]
    assert all(len(each["attempts"]) == 1 for each in body)
    every = (await alice.get(f"{one}/deliveries")).json()["deliveries"]
    assert [each["type"] for each in every][1] == "order.paid"
    again = f"{one}/deliveries/{every[1]['delivery_id']}/redeliver"
    assert (await less.call("POST", again, b"")).status == 404
    assert len(sender.received) == 3
    assert (await alice.call("POST", again, b"")).status == 200


async def test_foreign_and_future_cursors_resend_nothing(
    alice: Caller, charlie: Caller
) -> None:
    made = (await alice.post("/subscriptions", NEW)).json()
    one = f"/subscriptions/{made['subscription_id']}/resend"
    foreign = (await charlie.get("/events?after=latest")).json()["cursor"]
    own = (await alice.get("/events?after=latest")).json()["cursor"]
    future = f"evt_{10**6:012x}{own[16:]}"
    for cursor in (foreign, future, "nonsense", "latest"):
        answer = await alice.post(one, {"after": cursor})
        assert answer.status == 400, cursor
        assert answer.json()["message"].startswith("after: ")
    assert (await alice.post(one, {"after": own})).status == 200


async def test_one_key_makes_one(alice: Caller) -> None:
    for _ in range(2):
        answer = await alice.post("/subscriptions", NEW, idempotency_key="once")
        assert answer.status == 200
    found = (await alice.get("/subscriptions")).json()["subscriptions"]
    assert len(found) == 1
