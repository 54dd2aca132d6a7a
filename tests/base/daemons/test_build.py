"""The cache of built programs, with a stand-in for Go."""

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leyden.base.daemons.build import build, place
from leyden.base.daemons.catalogue import ToolSet
from leyden.base.daemons.progress import State, Step
from leyden.base.processes import identify
from leyden.errors import SetupError
from tests.base.daemons.conftest import StandIn
from tests.waiting import until


class Told(list[Step]):
    def states(self) -> list[tuple[str, State]]:
        return [(step.program, step.state) for step in self]


async def make(
    harbour: ToolSet, cache: Path, go: StandIn, told: Told | None = None
) -> Path:
    """Build harbourd and give its path."""
    program = harbour.programs[0]
    await build(
        [(harbour, program)],
        cache=cache,
        environment=go.environment,
        progress=(told if told is not None else Told()).append,
    )
    return place(cache, harbour, program)


async def test_a_program_is_built_where_its_place_is(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    path = await make(harbour, cache, go)
    said = subprocess.run([path, "--version"], capture_output=True, check=True)
    assert said.stdout == b"harbourd version 1.2.3\n"
    assert not (path.parent.parent / "partial").exists()
    assert go.builds[0].startswith(
        "build -trimpath -tags lightrpc,foghornrpc "
        "-ldflags -s -w -buildid= -X example.org/harbour.Commit=v1.2.3 -o "
    )


async def test_what_is_built_needs_neither_go_nor_network_again(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    path = await make(harbour, cache, go)
    go.unset("go")
    told = Told()
    assert await make(harbour, cache, go, told) == path
    assert told.states() == [("harbourd 1.2.3", State.READY)]
    assert told[0].size == path.stat().st_size


async def test_every_program_is_a_line_with_time_and_size(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    told = Told()
    await build(
        [(harbour, program) for program in harbour.programs],
        cache=cache,
        environment=go.environment,
        progress=told.append,
    )
    assert told.states() == [
        ("harbourd 1.2.3", State.FETCHING),
        ("harbour 1.2.3", State.FETCHING),
        ("harbourd 1.2.3", State.BUILDING),
        ("harbourd 1.2.3", State.BUILT),
        ("harbour 1.2.3", State.BUILDING),
        ("harbour 1.2.3", State.BUILT),
    ]
    assert all(step.seconds > 0 and step.size > 0 for step in (told[3], told[5]))


async def test_two_at_once_build_once(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("hold")
    first = asyncio.create_task(make(harbour, cache, go))
    await until(lambda: go.pid is not None)
    told = Told()
    second = asyncio.create_task(make(harbour, cache, go, told))
    await until(lambda: State.WAITING in {step.state for step in told})
    go.unset("hold")
    assert await first == await second
    assert len(go.builds) == 1
    assert told.states()[-1] == ("harbourd 1.2.3", State.READY)


async def test_a_failed_build_leaves_nothing_and_the_next_one_heals(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("failure", "light.go:7:1: undefined: lamp\n")
    with pytest.raises(SetupError, match=r"cannot build harbourd .* light\.go:7:1"):
        await make(harbour, cache, go)
    assert not place(cache, harbour, harbour.programs[0]).exists()
    go.unset("failure")
    assert (await make(harbour, cache, go)).exists()


async def test_a_cancelled_build_ends_its_compiler(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("hold")
    building = asyncio.create_task(make(harbour, cache, go))
    await until(lambda: go.pid is not None)
    building.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await building
    pid = go.pid
    assert pid is not None
    await until(lambda: identify(pid) is None)


async def test_after_a_kill_the_next_builder_waits_for_the_compiler_and_builds_whole(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("hold")
    builder = subprocess.Popen(
        [sys.executable, "-c", _BUILDS, repr(harbour), str(cache)],
        env={**go.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    await until(lambda: go.pid is not None)
    builder.kill()
    builder.wait()
    path = place(cache, harbour, harbour.programs[0])
    assert (path.parent.parent / "partial" / "harbourd").read_text() == "half\n"
    assert not path.exists()
    told = Told()
    second = asyncio.create_task(make(harbour, cache, go, told))
    await until(lambda: State.WAITING in {step.state for step in told})
    go.unset("hold")
    assert "version 1.2.3" in (await second).read_text()
    assert len(go.builds) == 2


async def test_another_pin_is_another_place(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    first = await make(harbour, cache, go)
    (harbour.folder / "go.sum").write_text("example.org/light v1.0.1 h1:def=\n")
    assert await make(harbour, cache, go) != first


async def test_a_cache_that_cannot_be_written_is_told(
    harbour: ToolSet, go: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="set LEYDEN_CACHE to a folder"):
        await make(harbour, tmp_path / "file", go)


async def test_a_file_in_the_way_of_the_cache_is_told(
    harbour: ToolSet, cache: Path, go: StandIn
) -> None:
    (cache / "daemons").mkdir(parents=True)
    (cache / "daemons" / harbour.key).touch()
    with pytest.raises(SetupError, match=r"cannot write to .* \(File exists\)"):
        await make(harbour, cache, go)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("link: write a.out: no space left on device", "the disk is full"),
        ("proxy.invalid: dial tcp 192.0.2.1:443: i/o timeout", "network does not res"),
        ("verifying a@v1/go.mod: checksum mismatch", "is not what was pinned"),
        ("", "failed without a word"),
    ],
)
async def test_a_failure_is_one_line_with_the_next_step(
    harbour: ToolSet, cache: Path, go: StandIn, output: str, told: str
) -> None:
    go.set("failure", output)
    with pytest.raises(SetupError, match=told) as refused:
        await make(harbour, cache, go)
    assert "\n" not in refused.value.message


_BUILDS = """
import asyncio, os, sys
from pathlib import Path, PosixPath
from leyden.base.daemons.build import build
from leyden.base.daemons.catalogue import Program, ToolSet
harbour = eval(sys.argv[1])
wanted = [(harbour, harbour.programs[0])]
asyncio.run(build(wanted, cache=Path(sys.argv[2]), environment=os.environ))
"""
