"""lnd's complaint about the order of blocks, and everything that only looks like it."""

import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.lnd.log import MOST_BYTES, Burst, Tail, last_height, out_of_order

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
def test_text_around_it_in_its_own_line_spoils_it(before: bytes, after: bytes) -> None:
    line = before + LINE.encode() + after
    whole = line.split(b"\n")
    expected = [LINE] if LINE.encode() in whole else []
    assert out_of_order(line) == expected


def test_a_burst_is_told_once_and_the_next_again(now: datetime) -> None:
    burst = Burst()
    minutes = [0, 1, 9, 18, 27, 36, 46, 47]  # 36 to 46 is quiet enough
    begun = [m for m in minutes if burst.begins(now + timedelta(minutes=m))]
    assert begun == [0, 46]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "lnd.log"


def add(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_each_line_is_found_once(log: Path) -> None:
    tail = Tail(log, from_start=True)
    assert tail.look() == []  # not there yet
    add(log, f"{INFO}{LINE}\n")
    assert tail.look() == [LINE]
    assert tail.look() == []
    add(log, f"{LINE}\n{LINE}\n")
    assert tail.look() == [LINE, LINE]


def test_a_line_is_found_when_it_is_whole(log: Path) -> None:
    tail = Tail(log, from_start=True)
    for part in (LINE[:30], LINE[30:]):
        add(log, part)
        assert tail.look() == []
    add(log, "\n")
    assert tail.look() == [LINE]


def test_what_was_there_before_can_be_left_alone(log: Path) -> None:
    add(log, f"{LINE}\n")
    tail = Tail(log, from_start=False)
    assert tail.look() == []
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("older", [(), ("lnd.log.7.gz", "lnd.log.9.gz")])
def test_rotation_loses_no_line(
    log: Path,
    packed: bool,  # noqa: FBT001  a parameter of the test
    older: tuple[str, ...],
) -> None:
    for name in older:
        (log.parent / name).write_bytes(gzip.compress(f"{LINE}\n".encode()))
    tail = Tail(log, from_start=True)
    add(log, INFO * 20)
    assert tail.look() == []

    add(log, f"{LINE}\n")
    rotated = log.rename(log.parent / "lnd.log.10")
    add(log, f"{INFO}{LINE}\n")  # the new file is there before the old one is packed
    if packed:
        Path(f"{rotated}.gz").write_bytes(gzip.compress(rotated.read_bytes()))
        rotated.unlink()

    assert tail.look() == [LINE, LINE]
    assert tail.look() == []


def test_a_new_file_is_known_even_when_it_is_the_longer(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, INFO)
    assert tail.look() == []
    add(log, f"{LINE}\n")
    log.rename(log.parent / "lnd.log.1")
    add(log, f"{LINE}\n{INFO * 20}")
    assert tail.look() == [LINE, LINE]


def test_a_rotated_file_that_is_gone_or_half_packed_is_passed_over(log: Path) -> None:
    for left in (None, b"", gzip.compress(b"x" * 9_000)[:20], b"nonsense"):
        tail = Tail(log, from_start=True)
        add(log, INFO * 20)
        assert tail.look() == []
        log.unlink()
        if left is not None:
            (log.parent / "lnd.log.1.gz").write_bytes(left)
        (log.parent / "keeps-the-inode").touch()
        add(log, f"{LINE}\n")
        assert tail.look() == [LINE]
        log.unlink()


def test_a_log_that_was_cut_is_read_anew(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, INFO * 20)
    assert tail.look() == []
    os.truncate(log, 0)
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]


def test_a_flood_is_not_read_whole(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, f"{LINE}\n")
    add(log, INFO * (5 * MOST_BYTES // len(INFO)))
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]  # the last; the first was drowned
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]


def test_a_line_without_an_end_does_not_stop_the_tail(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, "x" * (MOST_BYTES + 10))
    assert tail.look() == []
    add(log, f"\n{LINE}\n")
    assert tail.look() == [LINE]


def test_a_node_that_has_no_log_any_more_is_quiet(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, INFO)
    assert tail.look() == []
    log.unlink()
    assert tail.look() == []
    assert Burst().begins(datetime(2026, 3, 1, tzinfo=UTC))


STAMP = "2026-03-01 12:00:00.123 [INF]"
SHA = "ab" * 32


def test_the_height_is_that_of_the_last_block_told_of(tmp_path: Path) -> None:
    log = tmp_path / "lnd.log"
    synced = f'{STAMP} LTND: Chain backend is fully synced! rev="" end_height=450\n'
    log.write_text(synced)
    new, later = Tail(log, from_start=True), Tail(log, from_start=False)
    assert (new.height, later.height) == (0, 450)
    new.look()
    assert new.height == 450
    with log.open("a") as more:
        more.write(f"{STAMP} NTFN: New block: height=451, sha={SHA}\n{INFO}")
    for tail in (new, later):
        assert (tail.look(), tail.height) == ([], 451)


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
