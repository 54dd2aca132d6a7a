"""The recording for the README: what is printed, when, in a cast and in a picture."""

import json
from xml.etree import ElementTree as ET

from leyden_workshop.cli.recording import cast, drawn, paced

LINES = [(0.0, "$ leyden up"), (400.0, "<up> & running"), (400.5, "x" * 100)]


def test_pauses_are_cut_and_long_lines_folded() -> None:
    assert list(paced(LINES)) == [
        (0.0, "$ leyden up"),
        (1.5, "<up> & running"),
        (2.0, "x" * 92),
        (2.0, "x" * 8),
    ]


def test_a_cast_is_what_asciinema_plays() -> None:
    head, *events = map(json.loads, cast(LINES[:2]).splitlines())
    assert head == {"version": 2, "width": 92, "height": 24}
    assert events[1] == [400.0, "o", "<up> & running\r\n"]


def test_a_picture_shows_each_line_at_its_time_and_ends_with_the_last_ones() -> None:
    lines = [(float(second), f"line {second}") for second in range(30)]
    picture = drawn([*lines, (30.0, "<b> & more")])
    root = ET.fromstring(picture)  # noqa: S314  our own
    texts = root.findall(".//{http://www.w3.org/2000/svg}text")
    assert [each.text for each in texts[-2:]] == ["line 29", "<b> & more"]
    assert "animation-delay:29.00s" in texts[29].attrib["style"]
    assert "100% {transform: translateY(-126px)}" in picture  # 31 lines in 24 rows
