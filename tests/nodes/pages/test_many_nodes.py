"""A list of more nodes than one sees at a glance: by state, by name, by the page."""

import re
import uuid

from leyden.base.pages.words import browser, sats
from leyden.nodes.pages.nodes import Part, parts
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import filled

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0"
)
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)


async def make_many(alice: Visitor, fleet_harness: FleetHarness, number: int) -> None:
    await alice.get(f"{alice.root}/nodes/new")
    for position in range(number):
        wish = filled(f"beacon {position:03}", once=str(uuid.uuid4()))
        assert (await alice.submit(f"{alice.root}/nodes/new", wish)).status == 303
    await fleet_harness.work()


def listed(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a [^>]*>([^<]+)<', text)


async def test_a_few_are_seen_without_a_bar(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    await make_many(alice, fleet_harness, 2)
    text = (await alice.get(f"{alice.root}/nodes")).text
    assert sorted(listed(text)) == ["beacon 000", "beacon 001"]
    assert 'class="states"' not in text


async def test_many_are_found_by_state_and_name(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    await make_many(alice, fleet_harness, 10)
    nodes = f"{alice.root}/nodes"
    text = (await alice.get(nodes)).text
    stopped = re.findall(rf'href="({nodes}/[^"]+N)"', text)[4]
    name = listed(text)[4]
    await alice.get(stopped)
    assert (await alice.submit(f"{stopped}/stop")).status == 303
    await fleet_harness.work()
    text = (await alice.get(nodes)).text
    assert 'class="states"' in text
    assert f'href="{nodes}?status=waiting_init"' in text
    assert len(listed(text)) == 10
    assert listed((await alice.get(f"{nodes}?status=stopped")).text) == [name]
    assert len(listed((await alice.get(f"{nodes}?name=N+00")).text)) == 10
    assert listed((await alice.get(f"{nodes}?name={name[-3:]}")).text) == [name]
    both = f"{nodes}?status=waiting_init&name={name[-3:]}"
    assert "No nodes match" in (await alice.get(both)).text
    assert (await alice.get(f"{nodes}?status=%3Cb%3E")).status == 200
    assert "<b>" not in (await alice.get(f"{nodes}?name=%3Cb%3E")).text


def test_a_bar_is_whole_and_says_how_many() -> None:
    assert parts([]) == []
    found = parts([("failed", 1), ("running", 3)])
    assert found == [
        Part(state="running", count=3, begins=0.0, width=75.0),
        Part(state="failed", count=1, begins=75.0, width=25.0),
    ]


def test_browsers_are_named_as_people_do() -> None:
    assert browser(FIREFOX) == "Firefox on Linux"
    assert browser(EDGE) == "Edge on Windows"
    assert browser(PHONE) == "Safari on iPhone"
    assert browser("curl/8.5.0") == "curl/8.5.0"
    assert browser("") == "unknown"


def test_what_is_missing_has_a_minus() -> None:
    assert sats(-37_162) == "\N{MINUS SIGN}37,162 sat"
