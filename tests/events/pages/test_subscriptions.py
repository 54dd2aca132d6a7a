"""Webhook endpoints of an organization, and its events, as people see them."""

import asyncio
import json
import re

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.errors import RightsChanged
from leyden.events import subscriptions
from leyden.events.rules.deliveries import Answer
from leyden.events.rules.events import ALARMS, INSTALLATION, TYPES, Event
from leyden.events.rules.webhooks import verify
from leyden.events.subscriptions import Wanted
from leyden.people import accounts, api_keys
from tests.base.pages.conftest import person
from tests.base.pages.test_changes import CHANGED, streaming, told_at
from tests.base.pages.visitor import Visitor
from tests.channels.pages.test_channels import ONCE
from tests.events.sending import send_all
from tests.fakes.sender import FakeSender
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made
from tests.people.pages.test_team import user_id

URL = "https://hooks.harbour.test/events"
WANTED = {"url": URL, "which": "all", "description": "books", "once": ONCE}


async def subscribed(visitor: Visitor, **also: str) -> tuple[str, str]:
    """Create an endpoint; return its page, and its secret."""
    endpoints = f"{visitor.root}/events/endpoints"
    shown = await visitor.submit(endpoints, {**WANTED, **also})
    assert shown.status == 200, shown.text
    secret = re.search(r'id="secret"[^>]*>([0-9a-f]{64})<', shown.text)
    assert secret is not None
    return f"{endpoints}/{also.get('once', ONCE)}S", secret[1]


async def test_a_chat_is_shown_without_what_is_secret_of_its_url(
    alice: Visitor, sender: FakeSender
) -> None:
    endpoints = f"{alice.root}/events/endpoints"
    secret = "https://hooks.slack.test/services/lantern"
    chat = {**WANTED, "url": secret, "format": "slack"}
    refused = await alice.submit(endpoints, {**chat, "which": ""})
    assert (refused.status, "lantern" in refused.text) == (400, False)
    made = await alice.submit(endpoints, chat)
    assert made.location == f"{endpoints}/{ONCE}S?done=created"
    await alice.submit(f"{endpoints}/{ONCE}S/test", {"type": "node.running"})
    for path in (endpoints, made.location):
        shown = await alice.get(path)
        assert ("https://hooks.slack.test/…" in shown.text, shown.status) == (True, 200)
        assert ("lantern" in shown.text, "Rotate secret" in shown.text) == (
            False,
            False,
        )
    saved = await alice.submit(
        f"{endpoints}/{ONCE}S",
        {"url": "https://hooks.slack.test/…", "which": "all", "description": ""},
    )
    assert saved.location.endswith("done=saved")
    await alice.submit(f"{endpoints}/{ONCE}S/test", {"type": "node.running"})
    assert [each.url for each in sender.received] == [secret] * 2


async def new_key(platform: Platform, visitor: Visitor, name: str) -> None:
    await api_keys.create(
        platform,
        visitor.organization_id,
        name=name,
        scopes=["node"],
        expires=None,
        actor="test",
    )


async def send(platform: Platform) -> None:
    """Let the dispatcher send what is due."""
    assert platform.dispatcher is not None
    await send_all(platform.dispatcher)


async def test_the_secret_is_shown_once_and_signs_what_is_sent(
    alice: Visitor, sender: FakeSender, fleet_harness: FleetHarness
) -> None:
    page, secret = await subscribed(alice)
    shown = await alice.get(page)
    assert (shown.status, secret in shown.text) == (200, False)
    assert secret not in (await alice.get(f"{alice.root}/events/endpoints")).text
    sent = await alice.submit(f"{page}/test", {"type": "order.paid"})
    assert sent.location == f"{page}?done=sent"
    (received,) = sender.received
    assert json.loads(received.body)["test"] is True
    body, headers = received.body, received.headers
    assert verify([secret], headers=headers, body=body, now=fleet_harness.now)
    rotated = await alice.submit(f"{page}/rotate-secret")
    assert (rotated.status, secret in rotated.text) == (200, False)
    assert "also signed with the old secret" in rotated.text


async def test_an_endpoint_is_paused_and_resumed_and_misses_nothing(
    alice: Visitor, platform: Platform, sender: FakeSender
) -> None:
    page, _ = await subscribed(alice, which="some", type="key.*")
    paused = await alice.submit(f"{page}/pause")
    assert paused.location == f"{page}?done=paused"
    assert "Paused" in (await alice.get(page)).text
    await new_key(platform, alice, "meanwhile")
    await send(platform)
    assert sender.received == []
    await alice.submit(f"{page}/resume")
    await send(platform)
    assert [json.loads(each.body)["type"] for each in sender.received] == [
        "key.created"
    ]


async def test_everything_since_an_event_is_sent_again(
    alice: Visitor, platform: Platform, sender: FakeSender
) -> None:
    page, _ = await subscribed(alice)
    for name in ("one", "two", "three"):
        await new_key(platform, alice, name)
    await send(platform)
    first, *rest = [json.loads(each.body) for each in sender.received]
    shown = (await alice.get(page)).text
    assert f"{page}/resend?after={first['id']}" in shown
    answer = await alice.get(f"{page}/resend?after={first['id']}")
    assert (answer.status, f'value="{first["id"]}"' in answer.text) == (200, True)
    again = await alice.submit(f"{page}/resend", {"after": first["id"]})
    assert again.location == f"{page}?done=resent"
    await send(platform)
    assert [json.loads(each.body) for each in sender.received[3:]] == rest
    refused = await alice.submit(f"{page}/resend", {"after": "evt_1"})
    assert (refused.status, "after: must be the id" in refused.text) == (400, True)


async def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    alice: Visitor, sender: FakeSender
) -> None:
    endpoints = f"{alice.root}/events/endpoints"
    wrong = {**WANTED, "url": "ftp://harbour", "which": "some", "type": "key.*"}
    refused = await alice.submit(endpoints, wrong)
    assert (refused.status, 'value="ftp://harbour"' in refused.text) == (400, True)
    assert 'value="key.*" checked' in refused.text
    none = await alice.submit(endpoints, {**WANTED, "which": "some"})
    assert (none.status, "choose at least one type" in none.text) == (400, True)
    page, _ = await subscribed(alice)
    none = await alice.submit(page, {"url": URL, "which": "some"})
    assert (none.status, "choose at least one type" in none.text) == (400, True)
    sender.answers[URL] = Answer(status=500, excerpt="<script>alert(1)</script>")
    for _ in range(10):
        assert (await alice.submit(f"{page}/test")).status == 303
    shown = (await alice.get(page)).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    often = await alice.submit(f"{page}/test")
    assert (often.status, often.header("retry-after")) == (429, "6")


async def test_a_role_subscribes_to_what_keys_of_it_would_see(
    alice: Visitor, platform: Platform, site: Site
) -> None:
    theirs, _ = await subscribed(alice)
    dora = await person(platform, site, "dora", alice.organization_id, Role.DEVELOPER)
    own = "3e4d6c52-0f5b-4f5e-9a41-2b7d5e1c3f60"
    page, _ = await subscribed(dora, once=own)
    shown = (await dora.get(page)).text
    assert ('value="node.*" checked' in shown, "order.paid" in shown) == (True, False)
    assert (await dora.get(theirs)).status == 403
    assert theirs not in (await dora.get(f"{dora.root}/events/endpoints")).text
    refused = await dora.submit(
        page, {"url": URL, "which": "some", "type": "order.paid"}
    )
    assert refused.status == 400


async def test_events_are_filtered_and_paged_by_cursor_newest_first(
    alice: Visitor,
    bob: Visitor,
    charlie: Visitor,
    platform: Platform,
    fleet_harness: FleetHarness,
) -> None:
    node = await made(alice, fleet_harness)
    for number in range(60):
        async with platform.database.transaction() as tx:
            data = {**TYPES["key.created"].example, "name": f"key {number}"}
            own = alice.organization_id
            event = Event(organization_id=own, type="key.created", data=data)
            tx.events.add(event, at=fleet_harness.now)
    events = f"{alice.root}/events"
    shown = (await bob.get(f"{events}?type=key.*")).text
    names = re.findall(r"API key &#34;(key \d+)&#34; was created", shown)
    assert names == [f"key {number}" for number in range(59, 9, -1)]
    (older,) = re.findall(r'href="\?(type=key\.%2A&amp;before=evt_\w+)"', shown)
    shown = (await bob.get(f"{events}?{older.replace('&amp;', '&')}")).text
    assert re.findall(r"API key &#34;(key \d+)&#34; was created", shown) == [
        f"key {number}" for number in range(9, -1, -1)
    ]
    assert "data-changes" not in shown  # what is past does not change
    shown = (await alice.get(f"{events}?type=node.created")).text
    assert (f'href="{node}"' in shown, "key 1" in shown) == (True, False)
    (cursor,) = re.findall(
        r"evt_\w+", (await bob.get(f"{events}?type=node.created")).text
    )
    foreign = await charlie.get(f"{charlie.root}/events?before={cursor}")
    assert (foreign.status, "another organization" in foreign.text) == (400, True)
    assert (await alice.get(f"{events}?type=x.*")).status == 400


async def test_a_new_event_reaches_an_open_page(
    alice: Visitor, platform: Platform
) -> None:
    url = told_at((await alice.get(f"{alice.root}/events")).text)
    async with streaming(alice, url) as stream:
        await new_key(platform, alice, "another")
        await stream.until_changed()


async def test_a_new_alarm_reaches_operators_alone(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )

    async def alarm() -> None:
        data = ALARMS["disk.low"].example
        event = Event(organization_id=INSTALLATION, type="disk.low", data=data)
        async with platform.database.transaction() as tx:
            tx.events.add(event, at=fleet_harness.now)

    url = told_at((await alice.get("/app/operator/events")).text)
    async with streaming(alice, url) as stream:
        await alarm()
        await stream.until_changed()
    url = told_at((await alice.get("/app/operator/events")).text)
    async with streaming(alice, url) as stream:
        await stream.until_begun()
        await accounts.set_operator(
            platform, "alice@example.org", operator=False, actor="test"
        )
        await alarm()
        async with asyncio.timeout(10):
            await stream.ended.wait()
        assert CHANGED not in stream.got


async def test_an_operators_endpoint_is_for_alarms_and_for_operators_alone(
    alice: Visitor, bob: Visitor, platform: Platform, sender: FakeSender
) -> None:
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )
    endpoints = "/app/operator/events/endpoints"
    assert (await bob.get(endpoints)).status == 404
    made = await alice.submit(endpoints, {**WANTED, "which": "some", "type": "disk.*"})
    assert made.status == 200
    page = f"{endpoints}/{ONCE}S"
    assert "disk.low" in (await alice.get(page)).text
    assert (await alice.submit(f"{page}/test")).location == f"{page}?done=sent"
    assert json.loads(sender.received[0].body)["organization_id"] == "installation"
    own = f"{alice.root}/events/endpoints/{ONCE}S"
    assert (await alice.get(own)).status == 404, "not among the organization's"
    refused = {"url": URL, "which": "some", "type": "credit.*"}
    assert (await alice.submit(page, refused)).status == 400
    assert "No alarms yet" in (await alice.get("/app/operator/events")).text

    async def lose() -> None:
        await accounts.set_operator(
            platform, "alice@example.org", operator=False, actor="test"
        )

    alice.meanwhile = lose
    assert (await alice.submit(f"{page}/delete")).status == 404
    assert await platform.database.reader.subscriptions.find(f"{ONCE}S") is not None


@pytest.mark.usefixtures("alice")
async def test_a_right_to_send_alarms_that_is_lost_on_the_way_does_nothing(
    platform: Platform,
) -> None:
    wanted = Wanted(url=URL)
    assert platform.dispatcher is not None
    with pytest.raises(RightsChanged):
        await subscriptions.create(
            platform.dispatcher,
            INSTALLATION,
            "1S",
            wanted,
            scopes=(),
            actor=f"user:{await user_id(platform, 'alice')}",
        )
