"""The cache of built programs, with a stand-in for Go."""

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leyden.base.daemons.build import build, program_path
from leyden.base.daemons.catalogue import ToolSet
from leyden.base.daemons.progress import BuildState, BuildStep
from leyden.base.processes import identify
from leyden.errors import SetupError
from tests.base.daemons.conftest import StandIn
from tests.waiting import until


class RecordedSteps(list[BuildStep]):
    def states(self) -> list[tuple[str, BuildState]]:
        return [(step.program, step.state) for step in self]


async def make(
    tools: ToolSet, cache: Path, go: StandIn, answer: RecordedSteps | None = None
) -> Path:
    """Build harbourd and give its path."""
    program = tools.programs[0]
    await build(
        [(tools, program)],
        cache=cache,
        environment=go.environment,
        progress=(answer if answer is not None else RecordedSteps()).append,
    )
    return program_path(cache, tools, program)


async def test_a_program_is_built_where_its_place_is(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    path = await make(tools, cache, go)
    said = subprocess.run([path, "--version"], capture_output=True, check=True)
    assert said.stdout == b"harbourd version 1.2.3\n"
    assert not (path.parent.parent / "partial").exists()
    assert go.builds[0].startswith(
        "build -trimpath -tags lightrpc,foghornrpc "
        "-ldflags -s -w -buildid= -X example.org/harbour.Commit=v1.2.3 -o "
    )


async def test_what_is_built_needs_neither_go_nor_network_again(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    path = await make(tools, cache, go)
    go.unset("go")
    answer = RecordedSteps()
    assert await make(tools, cache, go, answer) == path
    assert answer.states() == [("harbourd 1.2.3", BuildState.READY)]
    assert answer[0].size == path.stat().st_size


async def test_every_program_is_a_line_with_time_and_size(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    answer = RecordedSteps()
    await build(
        [(tools, program) for program in tools.programs],
        cache=cache,
        environment=go.environment,
        progress=answer.append,
    )
    assert answer.states() == [
        ("harbourd 1.2.3", BuildState.FETCHING),
        ("harbour 1.2.3", BuildState.FETCHING),
        ("harbourd 1.2.3", BuildState.BUILDING),
        ("harbourd 1.2.3", BuildState.BUILT),
        ("harbour 1.2.3", BuildState.BUILDING),
        ("harbour 1.2.3", BuildState.BUILT),
    ]
    assert all(step.seconds > 0 and step.size > 0 for step in (answer[3], answer[5]))


async def test_two_at_once_build_once(tools: ToolSet, cache: Path, go: StandIn) -> None:
    go.set("hold")
    first = asyncio.create_task(make(tools, cache, go))
    await until(lambda: go.pid is not None)
    answer = RecordedSteps()
    second = asyncio.create_task(make(tools, cache, go, answer))
    await until(lambda: BuildState.WAITING in {step.state for step in answer})
    go.unset("hold")
    assert await first == await second
    assert len(go.builds) == 1
    assert answer.states()[-1] == ("harbourd 1.2.3", BuildState.READY)


async def test_a_failed_build_leaves_nothing_and_the_next_one_heals(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("failure", "light.go:7:1: undefined: lamp\n")
    with pytest.raises(SetupError, match=r"cannot build harbourd .* light\.go:7:1"):
        await make(tools, cache, go)
    assert not program_path(cache, tools, tools.programs[0]).exists()
    go.unset("failure")
    assert (await make(tools, cache, go)).exists()


async def test_a_cancelled_build_ends_its_compiler(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("hold")
    building = asyncio.create_task(make(tools, cache, go))
    await until(lambda: go.pid is not None)
    building.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await building
    pid = go.pid
    assert pid is not None
    await until(lambda: identify(pid) is None)


async def test_after_a_kill_the_next_builder_waits_for_the_compiler_and_builds_whole(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    go.set("hold")
    builder = subprocess.Popen(
        [sys.executable, "-c", _BUILDS, repr(tools), str(cache)],
        env={**go.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    await until(lambda: go.pid is not None)
    builder.kill()
    builder.wait()
    path = program_path(cache, tools, tools.programs[0])
    assert (path.parent.parent / "partial" / "harbourd").read_text() == "half\n"
    assert not path.exists()
    answer = RecordedSteps()
    second = asyncio.create_task(make(tools, cache, go, answer))
    await until(lambda: BuildState.WAITING in {step.state for step in answer})
    go.unset("hold")
    assert "version 1.2.3" in (await second).read_text()
    assert len(go.builds) == 2


async def test_another_pin_is_another_place(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    first = await make(tools, cache, go)
    (tools.folder / "go.sum").write_text("example.org/light v1.0.1 h1:def=\n")
    assert await make(tools, cache, go) != first


async def test_a_cache_that_cannot_be_written_is_told(
    tools: ToolSet, go: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="set LEYDEN_CACHE to a folder"):
        await make(tools, tmp_path / "file", go)


async def test_a_file_in_the_way_of_the_cache_is_told(
    tools: ToolSet, cache: Path, go: StandIn
) -> None:
    (cache / "daemons").mkdir(parents=True)
    (cache / "daemons" / tools.key).touch()
    with pytest.raises(SetupError, match=r"cannot write to .* \(File exists\)"):
        await make(tools, cache, go)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("link: write a.out: no space left on device", "the disk is full"),
        ("proxy.invalid: dial tcp 192.0.2.1:443: i/o timeout", "network does not res"),
        ("verifying a@v1/go.mod: checksum mismatch", "is not what was pinned"),
        ("", "failed without a word"),
    ],
)
async def test_a_failure_is_one_line_with_the_next_step(
    tools: ToolSet, cache: Path, go: StandIn, output: str, text: str
) -> None:
    go.set("failure", output)
    with pytest.raises(SetupError, match=text) as refused:
        await make(tools, cache, go)
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
