"""A log is read on from a stored position: nothing is lost, or found twice."""

import gzip
import os
from pathlib import Path

import pytest

from leyden.nodes.lnd import tail as reading
from leyden.nodes.lnd.tail import MAX_BEHIND, MAX_BYTES
from leyden.nodes.rules.log_positions import BEGINNING, END, LogPosition
from tests.nodes.lnd.test_log import INFO, LINE, SHA, STAMP


class Tail:
    """Reads on from its position, as those do who look after nodes."""

    def __init__(self, log: Path, *, from_start: bool) -> None:
        self._log = str(log)
        self.position = BEGINNING if from_start else END
        self.height = 0 if from_start else reading.height_at_the_end(self._log)
        self.complete = True
        if not from_start:
            self.look()

    def look(self) -> list[str]:
        news = reading.read_new(self._log, self.position)
        if news is not None and news.behind:
            news = reading.catch_up(self._log, self.position)
        if news is None:
            return []
        self.position, self.complete = news.position, news.complete
        self.height = news.height or self.height
        return list(news.complaints)


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
    tail.position = LogPosition(rotated=9 if older else 0)  # they were read
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
    add(log, INFO * (MAX_BEHIND // len(INFO)))
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]  # the last; the first was drowned
    assert not tail.complete
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]
    assert tail.complete


def test_what_went_on_without_us_for_long_is_read_whole(log: Path) -> None:
    tail = Tail(log, from_start=True)
    for _ in range(3):
        add(log, f"{LINE}\n{INFO * (2 * MAX_BYTES // len(INFO))}")
    add(log, LINE[:50])
    assert tail.look() == [LINE] * 3
    assert tail.complete
    add(log, f"{LINE[50:]}\n")
    assert tail.look() == [LINE]


def rotate(log: Path, number: int, *, packed: bool = True) -> None:
    old = log.rename(log.with_name(f"{log.name}.{number}"))
    if packed:
        old.with_name(f"{old.name}.gz").write_bytes(gzip.compress(old.read_bytes()))
        old.unlink()


def numbered(height: int) -> str:
    return LINE.replace("812", str(height))


def test_a_log_that_was_rotated_again_and_again_is_read_on_with(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, f"{numbered(1)}\n{INFO}")
    assert tail.look() == [numbered(1)]
    for number in (1, 2, 3):
        add(log, f"{INFO}{numbered(number + 1)}\n")
        rotate(log, number, packed=number < 3)
    add(log, f"{numbered(5)}\n")
    assert tail.look() == [numbered(height) for height in (2, 3, 4, 5)]
    assert tail.complete
    assert tail.look() == []


def test_a_file_that_is_being_packed_is_read_as_it_was(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, INFO)
    assert tail.look() == []
    add(log, f"{LINE}\n")
    rotate(log, 1, packed=False)
    (log.parent / "lnd.log.1.gz").write_bytes(gzip.compress(LINE.encode())[:15])
    add(log, INFO)
    assert tail.look() == [LINE]
    assert tail.complete


def test_old_files_that_are_gone_are_said_to_be_missing(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, INFO * 3)
    assert tail.look() == []
    rotate(log, 1)
    (log.parent / "lnd.log.1.gz").unlink()
    add(log, f"{numbered(2)}\n")
    rotate(log, 2)
    add(log, f"{numbered(3)}\n")
    assert tail.look() == [numbered(2), numbered(3)]
    assert not tail.complete


def test_old_files_that_were_read_are_not_read_again(log: Path) -> None:
    tail = Tail(log, from_start=True)
    for number in (1, 2):
        add(log, f"{numbered(number)}\n")
        assert tail.look() == [numbered(number)]
        rotate(log, number)
        add(log, INFO)
        assert tail.look() == []
    log.unlink()  # by hand
    (log.parent / "keeps-the-inode").touch()
    add(log, f"{LINE}\n")
    assert tail.look() == [LINE]


def test_a_folder_that_was_emptied_counts_anew(log: Path) -> None:
    tail = Tail(log, from_start=True)
    for number in (1, 2, 3):
        add(log, INFO * (5 + number))
        assert tail.look() == []
        rotate(log, number)
    add(log, INFO * 5)
    assert tail.look() == []
    for each in log.parent.iterdir():
        each.unlink()
    (log.parent / "keeps-the-inode").touch()
    add(log, f"{numbered(1)}\n")
    rotate(log, 1)
    add(log, f"{numbered(2)}\n")
    assert tail.look() == [numbered(1), numbered(2)]


def test_another_file_of_the_same_inode_is_known_by_its_beginning(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, INFO)
    assert tail.look() == []
    with log.open("r+b") as file:  # as if it were removed, and its inode given again
        file.write(f"{LINE}\n{LINE}\n{INFO * 9}".encode().replace(b"123", b"456"))
    found = LINE.replace("123", "456")
    assert tail.look() == [found, found]


def test_what_was_written_before_the_first_look_belongs_to_it(log: Path) -> None:
    add(log, f"{numbered(1)}\n")
    rotate(log, 1)
    add(log, f"{numbered(2)}\n")
    assert Tail(log, from_start=True).look() == [numbered(1), numbered(2)]


def test_a_line_without_an_end_does_not_stop_the_tail(log: Path) -> None:
    tail = Tail(log, from_start=True)
    add(log, "x" * (MAX_BYTES + 10))
    assert tail.look() == []
    add(log, f"\n{LINE}\n")
    assert tail.look() == [LINE]


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
