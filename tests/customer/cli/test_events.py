"""`leyden events`, typed against a platform behind real sockets."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.customer.forwarding import ForwardingTarget
from leyden.events.rules.webhooks import verify
from tests.app.cli.conftest import Typed, printed_json
from tests.client.served_platform import ServedPlatform
from tests.events.webhooks.conftest import Receiver


@pytest.fixture(autouse=True)
def here(
    platform: ServedPlatform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_KEY", platform.key)


def test_all_there_is_is_printed_for_people_and_for_programs(
    platform: ServedPlatform, typed: Typed
) -> None:
    platform.new_key("node", name="the pier's own")
    shown = typed("events", "tail", "--no-follow", "--type", "key.*")
    assert shown.exit_code == 0, shown.output
    assert "  key.created  key_id=" in shown.stdout
    assert 'name="the pier\'s own" scopes=node expires=' in shown.stdout
    printed = typed("events", "tail", "--no-follow", "--json", "--type", "key.*")
    lines = [json.loads(line) for line in printed.stdout.splitlines()]
    assert {each["type"] for each in lines} == {"key.created"}
    assert lines[-1]["data"]["name"] == "the pier's own"


def test_it_goes_on_where_it_was(
    platform: ServedPlatform, typed: Typed, tmp_path: Path
) -> None:
    claim_folder = str(tmp_path / "place")
    words = ("events", "tail", "--no-follow", "--json", "--cursor-file", claim_folder)
    assert typed(*words).stdout
    assert typed(*words).stdout == ""
    platform.new_key("flow", name="another")
    (line,) = typed(*words).stdout.splitlines()
    event = json.loads(line)
    assert event["data"]["name"] == "another"
    assert Path(claim_folder).read_text() == f"{event['id']}\n"
    again = typed("events", "tail", "--no-follow", "--after", event["id"])
    assert (again.exit_code, again.stdout) == (0, "")


def test_what_is_wrong_is_said(typed: Typed) -> None:
    refused = typed("events", "tail", "--no-follow", "--type", "order.eaten")
    assert refused.exit_code == 2
    assert "type: must be types of events" in refused.stderr
    refused = typed("events", "forward", "ftp://example.org/hook")
    assert refused.exit_code == 2
    assert "URL: the URL must look like" in refused.output
    refused = typed("events", "tail", "--no-follow", "--after", "nonsense")
    assert "after: must be the id of an event" in refused.stderr


def test_events_are_forwarded_signed(platform: ServedPlatform) -> None:
    now = datetime.now(UTC)
    with (
        Receiver(b"HTTP/1.1 204 No Content\r\n\r\n") as receiver,
        platform.client() as client,
        ForwardingTarget(receiver.url, "3f" * 32) as target,
    ):
        sent = list(client.events.all_(types=["key.*"]))
        answers = [target.send(event, now=now) for event in sent]
    assert all(answer.startswith("204 (") for answer in answers)
    for event, request in zip(sent, receiver.requests, strict=True):
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        assert first == "POST /hook HTTP/1.1"
        pairs = (line.split(": ", 1) for line in lines)
        headers = {name.lower(): value for name, value in pairs}
        assert headers["webhook-id"] == event.id
        assert json.loads(body)["data"] == event.data
        assert verify(["3f" * 32], headers=headers, body=body, now=now)
    with ForwardingTarget("http://127.0.0.1:1", "3f" * 32) as nobody:
        refused = nobody.send(sent[0], now=now)
    assert refused == "no answer: the connection was refused"


def test_a_subscription_from_its_creation_to_its_end(typed: Typed) -> None:
    url = "https://example.org/events"
    words = ("create", url, "--type", "order.*", "--description", "the shop")
    made = printed_json(typed("webhooks", *words, "--json"))
    of = made["subscription_id"]
    assert len(made["secret"]) == 64
    shown = typed("webhooks", "list")
    assert of in shown.stdout
    assert "order.*" in shown.stdout
    paused = printed_json(typed("webhooks", "update", of, "--pause", "--json"))
    assert paused["reason"] == "owner"
    assert "active" in typed("webhooks", "update", of, "--resume").stdout
    tried = printed_json(typed("webhooks", "test", of, "--json"))
    assert tried["test"] is True
    assert tried["delivery_id"] in typed("webhooks", "deliveries", of).stdout
    again = printed_json(
        typed("webhooks", "redeliver", of, tried["delivery_id"], "--json")
    )
    assert len(again["attempts"]) == 2
    assert typed("webhooks", "resend", of).exit_code == 0
    rotated = printed_json(typed("webhooks", "rotate", of, "--json"))
    assert rotated["secret"] != made["secret"]
    assert printed_json(typed("webhooks", "show", of, "--json"))["url"] == url
    assert typed("webhooks", "delete", of, "--yes").stdout == "deleted\n"
    assert typed("webhooks", "list").stdout.startswith("no webhook endpoints yet")
    gone = typed("webhooks", "show", of)
    assert (gone.exit_code, gone.stderr) == (
        4,
        "leyden: not found; check the name or id\n",
    )
