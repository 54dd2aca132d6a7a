"""Lines of lnd's log are found by how grave they are, and by what they say."""

from leyden.nodes.lnd.log import Level, LogLine, matching

LINES = [
    "2026-03-01 12:00:00.000 [INF] SRVR: Initializing peer network bootstrappers!",
    "2026-03-01 12:00:01.000 [ERR] SRVR: Unable to retrieve initial bootstrap peers",
    "goroutine 1 [running]:",
    "2026-03-01 12:00:02.000 [DBG] CHBU: says [ERR] of somebody else",
    "2026-03-01 12:00:03.000 [XYZ] SRVR: no level that lnd has",
    "2026-03-01 12:00:04.000 [WRN] PEER: harbour light is slow",
]


def found_in(lines: list[str], level: Level = Level.TRC) -> list[LogLine]:
    return matching(lines, level=level, contains="", most=100)


def found(level: Level = Level.TRC, contains: str = "", most: int = 100) -> list[int]:
    shown = matching(LINES, level=level, contains=contains, most=most)
    return [LINES.index(each.text) for each in shown]


def test_a_line_counts_by_its_own_level_and_what_follows_it_too() -> None:
    assert found(Level.ERR) == [1, 2]
    assert found(Level.WRN) == [1, 2, 5]
    assert found(Level.INF) == [0, 1, 2, 5]
    assert found() == [0, 1, 2, 3, 4, 5]


def test_lines_that_go_on_are_found_by_what_they_say_themselves() -> None:
    assert found(Level.ERR, contains="goroutine") == [2]
    assert found(Level.ERR, most=1) == [2]
    assert [each.level for each in found_in(["no level", *LINES[:1]])] == [
        Level.INF
    ] * 2
    assert found_in(["no level"], Level.WRN) == []


def test_text_is_found_however_it_is_written_and_the_newest_are_shown() -> None:
    assert found(contains="srvr") == [0, 1, 4]
    assert found(contains="srvr", most=2) == [1, 4]
    assert found(Level.ERR, contains="HARBOUR") == []
