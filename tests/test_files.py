"""Files are there whole, with their mode, whoever writes at the same time."""

import os
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pytest

from leyden.base import files

SOURCES = Path(files.__file__).parents[1]


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_many_who_write_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    contents = [bytes([number]) * 100_000 for number in range(32)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda content: files.write_private(path, content), contents))
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["kept.json"]


@pytest.mark.usefixtures("usual_umask")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_is_what_was_asked_for_whatever_the_umask(
    tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "file"
    path.write_text("was for everybody")
    path.chmod(0o666)
    files.write_whole(path, "new", mode=mode)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_draft_is_private_from_its_first_byte(tmp_path: Path) -> None:
    with files.draft(tmp_path / "file", mode=0o755) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == files.PRIVATE


@pytest.mark.parametrize(
    "draft", [partial(files.draft, mode=files.PRIVATE), files._draft_by_path]
)
def test_what_breaks_off_leaves_what_was_there_and_no_draft(
    tmp_path: Path, draft: Callable[[Path], AbstractContextManager[BinaryIO]]
) -> None:
    path = tmp_path / "kept"
    with draft(path) as file:
        file.write(b"before")
    with pytest.raises(KeyboardInterrupt), draft(path) as file:
        file.write(b"half of wh")
        raise KeyboardInterrupt
    assert path.read_text() == "before"
    assert names(tmp_path) == ["kept"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("somebody's")
    link = tmp_path / "link"
    link.symlink_to(target)
    files.write_private(link, "ours")
    assert (target.read_text(), link.read_text()) == ("somebody's", "ours")
    assert not link.is_symlink()


def test_the_longest_name_there_is_can_be_written(tmp_path: Path) -> None:
    files.write_private(tmp_path / ("é" * 127), "x")
    assert len(names(tmp_path)) == 1


def test_only_drafts_that_nobody_writes_any_more_are_removed(tmp_path: Path) -> None:
    old, new = (tmp_path / f".lnd.{digit * 16}.draft" for digit in ("0", "f"))
    others = [tmp_path / "lnd", tmp_path / ".lnd.draft", tmp_path / "notes.draft"]
    for each in (old, new, *others):
        each.touch()
        if each is not new:
            os.utime(each, (0, 0))
    files.remove_abandoned_drafts(tmp_path)
    assert not old.exists()
    assert all(each.exists() for each in (new, *others))
    os.utime(new, (0, 0))
    folder = os.open(tmp_path, os.O_RDONLY)
    files.remove_abandoned_drafts(folder)
    os.close(folder)
    assert not new.exists()


def test_nobody_names_a_draft_by_the_process() -> None:
    named = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if "getpid" in file.read_text() or "O_TRUNC" in file.read_text()
    }
    # A lock holds the number of its process for people to read.
    assert named == {"nodes/wiring/home.py", "nodes/wiring/ownership.py"}
