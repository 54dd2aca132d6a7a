"""Endpoints of chats: a plain sentence for each event, and a URL that stays secret."""

import json

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.accounts import OF_ORGANIZATIONS, Organization
from leyden.errors import Conflict, Malformed
from leyden.events import manual_deliveries, owned_subscriptions, subscriptions
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.chat import Format
from leyden.events.rules.deliveries import Answer
from leyden.events.rules.events import Event
from leyden.events.subscriptions import Wanted
from tests.conftest import NOW
from tests.events.test_subscriptions import ALL, TEAM, Office

SLACK = "https://hooks.slack.test/services/T0/B0/lantern"
SHOWN = "https://hooks.slack.test/…"
TELEGRAM = "https://api.telegram.test/bot7:lantern/sendMessage?chat_id=-100"
NAMED = '<!channel> & "@everyone" *light*'
SHOWN_NAME = NAMED.replace("@", "@\u2060")


@pytest.fixture
async def harness(db: Database, sealer: Sealer) -> Office:
    harness = Office(db, sealer)
    async with db.transaction() as tx:
        await tx.accounts.add(Organization(id=TEAM, name=TEAM, created=NOW))
    return harness


async def made(
    harness: Office, format_: Format, url: str, id_: str = "1S"
) -> tuple[Subscription, str]:
    wanted = Wanted(url=url, format=format_, types=["node.*"])
    return await subscriptions.create(
        harness.dispatcher, TEAM, id_, wanted, scopes=OF_ORGANIZATIONS, actor="test"
    )


async def stored_events(harness: Office, name: str = NAMED) -> None:
    async with harness.database.transaction() as tx:
        data = {"node_id": "7N", "name": name, "status": "running"}
        event = Event(organization_id=TEAM, type="node.running", data=data)
        tx.events.add(event, at=harness.now)
    await harness.work()


@pytest.mark.parametrize(
    ("format_", "url", "expected"),
    [
        (
            Format.SLACK,
            SLACK,
            {
                "text": 'Node "&lt;!channel&gt; &amp; "@\u2060everyone" *light*" '
                "is running."
            },
        ),
        (
            Format.DISCORD,
            "https://discord.test/api/webhooks/1/lantern",
            {
                "content": r'Node "\<!channel\> & "\@'
                "\u2060"
                r'everyone" \*light\*" is running.',
                "allowed_mentions": {"parse": []},
            },
        ),
        (
            Format.TELEGRAM,
            TELEGRAM,
            {
                "text": f'Node "{SHOWN_NAME}" is running.',
                "link_preview_options": {"is_disabled": True},
            },
        ),
    ],
)
async def test_a_chat_gets_a_sentence_in_its_shape(
    harness: Office, format_: Format, url: str, expected: dict[str, object]
) -> None:
    _, secret = await made(harness, format_, url)
    await stored_events(harness)
    [request] = harness.sender.received
    assert (request.url, secret) == (url, "")
    assert json.loads(request.body) == expected
    assert request.headers == {"Content-Type": "application/json"}


async def test_ntfy_gets_the_sentence_alone(harness: Office) -> None:
    await made(harness, Format.NTFY, "https://ntfy.test/lantern")
    await stored_events(harness, "harbour light")
    [request] = harness.sender.received
    assert request.body == b'Node "harbour light" is running.'
    assert request.headers == {"Content-Type": "text/plain"}


async def test_the_url_of_a_chat_is_shown_without_its_path(harness: Office) -> None:
    chat, _ = await made(harness, Format.SLACK, SLACK)
    assert (chat.url, "lantern" in repr(chat)) == (SHOWN, False)
    [listed] = await owned_subscriptions.list_(harness.dispatcher, TEAM, ALL)
    assert (listed.url, "lantern" in repr(listed)) == (SHOWN, False)
    found = await harness.database.reader.subscriptions.find("1S")
    assert found is not None
    assert b"lantern" not in (found.sealed_url or b"lantern")


async def test_the_url_that_is_shown_changes_nothing(harness: Office) -> None:
    await made(harness, Format.SLACK, SLACK)
    for url in (SHOWN, f"{SLACK}-2"):
        wanted = Wanted(url=url, description="the team's")
        await subscriptions.change(
            harness.dispatcher, TEAM, "1S", wanted, scopes=ALL, actor="test"
        )
        await stored_events(harness)
    assert [each.url for each in harness.sender.received] == [SLACK, f"{SLACK}-2"]


async def test_a_test_says_so_and_what_failed_is_retried(harness: Office) -> None:
    await made(harness, Format.NTFY, "https://ntfy.test/lantern")
    await manual_deliveries.test(
        harness.dispatcher, TEAM, "1S", "node.failed", scopes=ALL, actor="test"
    )
    assert harness.sender.received[-1].body.startswith(b"Test: Node ")
    harness.sender.answers["https://ntfy.test/lantern"] = Answer(status=500)
    await stored_events(harness, "harbour light")
    harness.sender.answers.clear()
    await harness.pass_time(minutes=1)
    assert [each.body for each in harness.sender.received[1:]] == (
        [b'Node "harbour light" is running.'] * 2
    )


async def test_a_chat_has_no_secret_to_rotate(harness: Office) -> None:
    await made(harness, Format.SLACK, SLACK)
    with pytest.raises(Conflict, match="has no secret"):
        await subscriptions.rotate_secret(
            harness.dispatcher, TEAM, "1S", scopes=ALL, actor="test"
        )


@pytest.mark.parametrize(
    "url",
    [
        "https://api.telegram.test/bot7:lantern/sendMessage",
        "https://api.telegram.test/bot7:lantern/?chat_id=7",
        "http://api.telegram.test/bot7:lantern/sendMessage?chat_id=7",
    ],
)
async def test_a_telegram_url_names_the_chat(harness: Office, url: str) -> None:
    with pytest.raises(Malformed, match="url: must") as refused:
        await made(harness, Format.TELEGRAM, url)
    assert "lantern" not in str(refused.value)
