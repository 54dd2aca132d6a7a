"""Events in sentences, for people."""

import re

import pytest

from leyden.events.rules.events import ALARMS, TYPES
from leyden.events.rules.sentences import on_page, sentence


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_every_type_of_event_has_a_sentence(kind: str) -> None:
    text = sentence(kind, TYPES[kind].example)
    assert text.endswith(".")
    assert not {"?", "{", "}"} & set(text)
    assert kind not in text


def test_a_sentence_has_no_amounts() -> None:
    for kind, each in TYPES.items():
        amounts = [each.example.get(name) for name in ("amount", "capacity", "log")]
        text = sentence(kind, each.example)
        assert not [one for one in amounts if one and str(one) in text]


@pytest.mark.parametrize("kind", sorted(ALARMS))
def test_an_alarm_says_itself(kind: str) -> None:
    data = ALARMS[kind].example
    assert sentence(kind, data) == f"Alarm: {ALARMS[kind].about}"
    assert sentence(kind, {**data, "status": "cleared"}).startswith("Cleared: ")


def test_a_fact_that_is_missing_breaks_nothing() -> None:
    assert sentence("node.running", {}) == 'Node "?" is running.'


@pytest.mark.parametrize(
    ("name", "looks_like"),
    [
        ("https://evil.example/reset", r"\w+://\w"),
        ("evil.example", r"\w\.\w"),
        ("ask @everyone", r"@\w"),
        ("it@evil.example", r"@\w"),
        ("/start", r"/\w"),
    ],
)
def test_name_becomes_no_link_in_a_sentence(name: str, looks_like: str) -> None:
    text = sentence("key.created", {"name": name, "key_id": "7K"})
    assert re.search(looks_like, name)
    assert not re.search(looks_like, text)
    assert text.replace("\u2060", "") == f'API key "{name}" was created.'


def test_name_stays_as_it_is_when_it_looks_like_no_link() -> None:
    text = sentence("node.running", {"name": "harbour light no. 2: old/"})
    assert text == 'Node "harbour light no. 2: old/" is running.'


def test_on_a_page_an_order_is_named_by_its_node() -> None:
    data = TYPES["order.paid"].example
    by_node = on_page("order.paid", data, node="evil.example")
    assert by_node == 'The channel order for node "evil.example" is paid.'
    by_id = f"Channel order {data['order_id']} is paid."
    assert on_page("order.paid", data) == sentence("order.paid", data) == by_id
    ending = on_page("channel.lease_ended", data, node="harbour light")
    assert ending == 'The channel for node "harbour light": the lease has ended.'
