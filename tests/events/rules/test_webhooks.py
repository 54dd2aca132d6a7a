"""The events of the contract as JSON, and their proof."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from leyden.errors import Malformed
from leyden.events.rules.events import TYPES, Data, Event
from leyden.events.rules.webhooks import (
    ANNOUNCED,
    WebhookType,
    body,
    of_logged,
    signature_headers,
    status_of_test,
    verify,
)

API = "harbour-light.nodes.example.org"
SECRET = "3f" * 24
OLD_SECRET = "a7" * 24
NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
LINE = "[ERR] GRPH: out of order block: expecting height=840001, got height=840003"


def logged(kind: str, **data: str) -> Event:
    return Event(organization_id="harbour", type=f"node.{kind}", data=data)


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        (
            logged("waiting_unlock", status="waiting_unlock"),
            {"type": "status", "details": {"status": "waiting_unlock"}, "api": API},
        ),
        (
            logged("stopped", status="stopped", cause="", reason=""),
            {"type": "status", "details": {"status": "stopped"}, "api": API},
        ),
        (
            logged("restored", status="stopped"),
            {"type": "status", "details": {"status": "stopped"}, "api": API},
        ),
        (
            logged("update_available", version="0.20.2-beta", service_version="1.4.0"),
            {
                "type": "update",
                "details": {
                    "update_available": "true",
                    "lnd_version": "0.20.2-beta",
                    "service_version": "1.4.0",
                },
                "api": API,
            },
        ),
        (
            logged("out_of_order_block", log=LINE),
            {
                "type": "error",
                "details": {"type": "out_of_order_block", "log": LINE},
                "api": API,
            },
        ),
    ],
)
def test_a_body_has_the_three_fields_of_the_contract(
    event: Event, answer: dict[str, object]
) -> None:
    found = of_logged(event)
    assert found is not None
    assert json.loads(body(*found, api=API)) == answer


def test_the_announced_states_are_those_of_the_contract() -> None:
    assert set(ANNOUNCED) == {"waiting_unlock", "waiting_init", "stopped"}


def test_nothing_else_of_the_log_is_an_event_of_the_contract() -> None:
    def of(data: Data, kind: str) -> object:
        return of_logged(Event(organization_id="harbour", type=kind, data=data))

    found = {kind for kind, each in TYPES.items() if of(each.example, kind)}
    assert found == {
        *(f"node.{status}" for status in ANNOUNCED),
        "node.restored",
        "node.update_available",
        "node.out_of_order_block",
    }
    assert of_logged(logged("restored", status="starting")) is None


def test_a_log_line_is_cut_and_stays_json() -> None:
    found = of_logged(logged("out_of_order_block", log='"\x00\\' * 1000))
    assert found is not None
    answer = json.loads(body(*found, api=API))
    assert answer["details"]["log"] == ('"\x00\\' * 1000)[:1024]


def test_the_public_library_verifies_the_secret_as_it_is_shown() -> None:
    now = datetime.now(UTC)
    text = body(WebhookType.STATUS, {"status": "waiting_unlock"}, api=API)
    headers = signature_headers([SECRET], event_id="msg_tide", sent=now, body=text)
    assert Webhook(SECRET).verify(text, headers)["api"] == API
    assert Webhook(SECRET.encode()).verify(text, headers)["api"] == API
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(text.replace("unlock", "init"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD_SECRET).verify(text, headers)


def test_after_a_rotation_both_secrets_verify_and_the_new_one_is_shown() -> None:
    text = body(WebhookType.STATUS, {"status": "stopped"}, api=API)
    headers = signature_headers(
        [SECRET, OLD_SECRET], event_id="msg_tide", sent=datetime.now(UTC), body=text
    )
    assert headers["Service-Secret"] == SECRET
    for secret in (SECRET, OLD_SECRET):
        Webhook(secret).verify(text, headers)


def test_a_signature_holds_for_its_body_its_id_and_five_minutes() -> None:
    text = body(WebhookType.STATUS, {"status": "stopped"}, api=API)
    headers = signature_headers([SECRET], event_id="msg_tide", sent=NOON, body=text)

    def holds(
        changed: dict[str, str] | None = None,
        *,
        late: timedelta = timedelta(),
        secret: str = SECRET,
        text: str = text,
    ) -> bool:
        return verify(
            [secret],
            headers=headers | (changed or {}),
            body=text.encode(),
            now=NOON + late,
        )

    assert holds()
    assert holds(late=timedelta(minutes=5))
    assert holds({"webhook-signature": f"v1,none {headers['webhook-signature']}"})
    assert not holds(late=timedelta(minutes=5, seconds=1))
    assert not holds(late=-timedelta(minutes=5, seconds=1))
    assert not holds(secret=OLD_SECRET)
    assert not holds(text=text + " ")
    assert not holds({"webhook-id": "msg_ebb"})
    assert not holds({"webhook-timestamp": str(int(NOON.timestamp()) + 1)})
    assert not holds({"webhook-signature": ""})
    assert not holds({"webhook-signature": "v1,"})
    for undecodable in ("v1,ümlaut", "v1,\udcff", "\udcff"):
        assert not holds({"webhook-signature": undecodable})
        assert not holds({"webhook-id": undecodable})
    for nonsense in ("", "noon", "-1", "١٢", "9" * 5000, "1e9"):
        assert not holds({"webhook-timestamp": nonsense})


def test_headers_that_are_missing_are_no_proof() -> None:
    text = body(WebhookType.STATUS, {"status": "stopped"}, api=API)
    headers = signature_headers([SECRET], event_id="msg_tide", sent=NOON, body=text)
    assert headers["webhook-id"] == "msg_tide"
    assert headers["webhook-timestamp"] == str(int(NOON.timestamp()))
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        rest = {key: value for key, value in headers.items() if key != name}
        assert not verify([SECRET], headers=rest, body=text.encode(), now=NOON)
    for event_id in ("None", "XXXX"):  # an id that is missing has no name of its own
        signed = signature_headers([SECRET], event_id=event_id, sent=NOON, body=text)
        del signed["webhook-id"]
        assert not verify([SECRET], headers=signed, body=text.encode(), now=NOON)


def test_a_secret_that_is_no_base64_signs_as_it_stands() -> None:
    text = body(WebhookType.STATUS, {"status": "stopped"}, api=API)

    def signatures(secret: str) -> list[str]:
        headers = signature_headers([secret], event_id="msg", sent=NOON, body=text)
        return headers["webhook-signature"].split(" ")

    assert len(signatures("harbour light")) == 1
    assert len(signatures(SECRET)) == 2


def test_a_test_event_is_one_that_receivers_know() -> None:
    for status in ANNOUNCED:
        assert status_of_test("running", status) == status
        assert status_of_test(status, None) == status
    assert status_of_test("running", None) == "stopped"
    with pytest.raises(Malformed, match="stopped, waiting_init, waiting_unlock"):
        status_of_test("running", "running")


def test_a_body_is_written_without_spaces() -> None:
    assert body(WebhookType.STATUS, {"status": "stopped"}, api=API) == (
        f'{{"type":"status","details":{{"status":"stopped"}},"api":"{API}"}}'
    )
