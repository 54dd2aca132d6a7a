"""Lines of lnd's log: its complaint about the order of blocks, and what looks like it.

All others are found by how grave they are, and by what they say.
"""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leyden.nodes.lnd.log import (
    Level,
    LogLine,
    last_height,
    matching,
    out_of_order,
)

LINE = (
    "2026-03-01 12:00:00.123 [ERR] GRPH: out of order block: "
    "expecting height=812, got height=810"
)
INFO = "2026-03-01 12:00:00.123 [INF] CRTR: Pruning channel graph using block 812\n"


@pytest.mark.parametrize("before", ["", INFO, INFO * 3])
@pytest.mark.parametrize("after", ["", INFO])
def test_the_line_is_found(before: str, after: str) -> None:
    assert out_of_order(f"{before}{LINE}\n{after}".encode()) == [LINE]


@pytest.mark.parametrize(
    "line",
    [
        f"2026-03-01 12:00:00.123 [ERR] PEER: remote says: {LINE}",
        LINE.replace("[ERR]", "[INF]"),
        LINE.replace("GRPH", "PEER"),
        LINE.replace("[ERR] GRPH", "[ERR] GRPH: x"),
        f"{LINE} and more",
        f" {LINE}",
        LINE.replace("812", "eight"),
        LINE.replace("812", "-1"),
        LINE.replace("812", "9" * 11),
        LINE.removeprefix("2026-03-01 12:00:00.123 "),
        LINE.replace("expecting", "wanting"),
        LINE.upper(),
        "alias=out of order block: expecting height=1, got height=2",
        f"2026-03-01 12:00:00.123 [DBG] DISC: alias={LINE!r}",
    ],
)
def test_a_line_that_only_looks_like_it_is_none(line: str) -> None:
    assert out_of_order(f"{INFO}{line}\n{INFO}".encode()) == []


@given(st.binary(), st.binary())
@example(b"", b"0")
@example(b"\n", b"\n0")
@example(b"", b"\r")
def test_text_around_it_in_its_own_line_spoils_it(before: bytes, after: bytes) -> None:
    line = before + LINE.encode() + after
    # A digit more makes another height, and the line is lnd's all the same.
    same = re.compile(re.escape(LINE.encode()) + rb"[0-9]{0,7}")
    expected = [each.decode() for each in line.split(b"\n") if same.fullmatch(each)]
    assert out_of_order(line) == expected


@given(
    st.integers(0, 10**10 - 1),
    st.integers(0, 10**10 - 1),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_it_is_found_whatever_the_heights_are(
    expected: int, got: int, before: int, after: int
) -> None:
    beginning, _, _ = LINE.partition("expecting")
    line = f"{beginning}expecting height={expected}, got height={got}"
    content = f"{INFO * before}{line}\n{INFO * after}"
    assert out_of_order(content.encode()) == [line]


STAMP = "2026-03-01 12:00:00.123 [INF]"
SHA = "ab" * 32


@pytest.mark.parametrize(
    "line",
    [
        f"{STAMP} PEER: alias={STAMP} NTFN: New block: height=9, sha={SHA}",
        f"{STAMP} NTFN: New block: height=9, sha={SHA} and more",
        f"{STAMP} NTFN: New block: height=nine, sha={SHA}",
        f"{STAMP} NTFN: New block: height={'9' * 10}, sha={SHA}",
        f"{STAMP} NTFN: New block: height=9, sha=x",
    ],
)
def test_what_only_looks_like_a_block_has_no_height(line: str) -> None:
    assert last_height(f"{INFO}{line}\n{INFO}".encode()) is None


LINES = [
    "2026-03-01 12:00:00.000 [INF] SRVR: Initializing peer network bootstrappers!",
    "2026-03-01 12:00:01.000 [ERR] SRVR: Unable to retrieve initial bootstrap peers",
    "goroutine 1 [running]:",
    "2026-03-01 12:00:02.000 [DBG] CHBU: says [ERR] of somebody else",
    "2026-03-01 12:00:03.000 [XYZ] SRVR: no level that lnd has",
    "2026-03-01 12:00:04.000 [WRN] PEER: harbour light is slow",
]


def found_in(lines: list[str], level: Level = Level.TRC) -> list[LogLine]:
    return matching(lines, level=level, contains="", limit=100)


def found(level: Level = Level.TRC, contains: str = "", limit: int = 100) -> list[int]:
    shown = matching(LINES, level=level, contains=contains, limit=limit)
    return [LINES.index(each.text) for each in shown]


def test_a_line_counts_by_its_own_level_and_what_follows_it_too() -> None:
    assert found(Level.ERR) == [1, 2]
    assert found(Level.WRN) == [1, 2, 5]
    assert found(Level.INF) == [0, 1, 2, 5]
    assert found() == [0, 1, 2, 3, 4, 5]


def test_lines_that_go_on_are_found_by_what_they_say_themselves() -> None:
    assert found(Level.ERR, contains="goroutine") == [2]
    assert found(Level.ERR, limit=1) == [2]
    assert [each.level for each in found_in(["no level", *LINES[:1]])] == [
        Level.INF
    ] * 2
    assert found_in(["no level"], Level.WRN) == []


def test_text_is_found_however_it_is_written_and_the_newest_are_shown() -> None:
    assert found(contains="srvr") == [0, 1, 4]
    assert found(contains="srvr", limit=2) == [1, 4]
    assert found(Level.ERR, contains="HARBOUR") == []
