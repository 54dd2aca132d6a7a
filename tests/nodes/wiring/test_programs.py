"""Copies of programs: made once, whole, by however many starts at the same time."""

import asyncio
import contextlib
import os
import stat
from pathlib import Path

import pytest

from leyden.nodes.rules.versions import Version
from leyden.nodes.wiring.programs import Binary, shared_copies

VERSION = Version.of("v0.20.2-beta")
OTHER = Version.of("v0.21.2-beta")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "cache" / "lnd"
    file.parent.mkdir()
    file.write_bytes(os.urandom(8 << 20))
    file.chmod(0o700)
    return file


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return tmp_path / "programs"


def found(program: Path) -> Binary:
    async def binary(_: Version) -> Path:
        return program

    return binary


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def test_starts_at_the_same_time_share_one_copy(
    program: Path, programs: Path
) -> None:
    binary = shared_copies(found(program), programs)

    async def copied() -> tuple[Path, int]:
        existing = await binary(VERSION)
        return existing, existing.stat().st_ino  # another copy would have another one

    ((copy, made),) = set(await asyncio.gather(*(copied() for _ in range(32))))
    assert copy.read_bytes() == program.read_bytes()
    assert names(programs) == [copy.name]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o755
    assert stat.S_IMODE(programs.stat().st_mode) == 0o711
    assert await copied() == (copy, made)


async def test_two_programs_of_one_home_may_copy_at_the_same_time(
    program: Path, programs: Path
) -> None:
    several = [shared_copies(found(program), programs) for _ in range(8)]
    request = [binary(VERSION) for binary in several for _ in range(4)]
    (copy,) = set(await asyncio.gather(*request))
    assert copy.read_bytes() == program.read_bytes()
    assert names(programs) == [copy.name]


async def test_a_start_that_is_given_up_ends_no_copy_of_others(
    program: Path, programs: Path
) -> None:
    binary = shared_copies(found(program), programs)
    first = asyncio.ensure_future(binary(VERSION))
    second = asyncio.ensure_future(binary(VERSION))
    await asyncio.sleep(0)  # both have asked
    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    copy = await second
    assert copy.read_bytes() == program.read_bytes()


async def test_a_copy_that_failed_is_tried_again(program: Path, programs: Path) -> None:
    binary = shared_copies(found(program), programs)
    content = program.read_bytes()
    program.unlink()
    results = await asyncio.gather(
        *(binary(VERSION) for _ in range(4)), return_exceptions=True
    )
    assert {type(each) for each in results} == {FileNotFoundError}
    assert names(programs) == []
    program.write_bytes(content)
    assert (await binary(VERSION)).read_bytes() == content


async def test_each_version_has_a_copy_of_its_own(
    program: Path, programs: Path
) -> None:
    binary = shared_copies(found(program), programs)
    one, other = await asyncio.gather(binary(VERSION), binary(OTHER))
    assert one != other
    assert names(programs) == sorted((one.name, other.name))
