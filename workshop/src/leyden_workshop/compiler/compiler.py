"""Building programs from their pinned sources into the cache.

Promises:
- Every program in the cache is complete: it is built elsewhere and renamed
  into place. Once it exists nothing here accesses the network.
- Two concurrent builds build once: the second waits and uses the result.
- A killed build does not block the next one.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from leyden.base.daemons import archives
from leyden.base.daemons.build import is_built, program_path
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.locks import locked, unwritable
from leyden.base.daemons.progress import BuildState, BuildStep, Progress
from leyden.values import Struct
from leyden_workshop.compiler.commands import run
from leyden_workshop.compiler.toolchain import toolchain

# Go compiles on all processors by itself; a second set beside the first only helps
# where there are more of them than one keeps busy.
_PROCESSORS_PER_SET = 4
_LINKER = "-s -w -buildid="
# Settings of the building user that would change the program.
_OURS = {
    "CGO_ENABLED": "0",  # one static file, for containers too
    "GO111MODULE": "on",
    "GOFLAGS": "-mod=readonly -buildvcs=false",
    "GOTOOLCHAIN": "local",  # ours is new enough: no download behind our back
    "GOWORK": "off",
}
_DROPPED = ("GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT")


async def build(
    wanted: Sequence[tuple[ToolSet, Program]],
    *,
    cache: Path,
    environment: Mapping[str, str],
    progress: Progress,
) -> None:
    """Build the wanted programs, in the given order.

    Tool sets are built one after the other on small machines, and several
    at once on larger ones. The first failure cancels the others.
    """
    by_set: dict[str, tuple[ToolSet, list[Program]]] = {}
    for tools, program in wanted:
        by_set.setdefault(tools.name, (tools, []))[1].append(program)
    turns = max(1, (os.cpu_count() or 1) // _PROCESSORS_PER_SET)
    compiler = Compiler(
        cache=cache,
        environment=environment,
        progress=progress,
        turns=asyncio.Semaphore(turns),
    )
    try:
        async with asyncio.TaskGroup() as group:
            for tools, programs in by_set.values():
                group.create_task(compiler.build(tools, programs))
    except ExceptionGroup as failures:
        first = failures.exceptions[0]
        if isinstance(first, OSError):
            raise unwritable(cache, first) from None
        raise first from None


def build_environment(go: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for `go`, independent of the caller's."""
    inherited = {k: v for k, v in environment.items() if k not in _DROPPED}
    path = os.pathsep.join((str(go.parent), inherited.get("PATH", os.defpath)))
    return {**inherited, **_OURS, "PATH": path}


class Compiler(Struct, frozen=True, kw_only=True):
    """The build environment: cache, variables, progress and concurrency."""

    cache: Path
    environment: Mapping[str, str]
    progress: Progress
    turns: asyncio.Semaphore

    async def build(self, tools: ToolSet, programs: Sequence[Program]) -> None:
        """Build the programs of one set that are missing from the cache."""
        folder = self.cache / "daemons" / tools.key
        async with (
            self.turns,
            locked(
                folder.with_name(folder.name + ".lock"),
                waiting=lambda: self._tell(programs, BuildState.WAITING),
            ) as file,
        ):
            left = []
            for program in programs:
                path = program_path(self.cache, tools, program)
                if is_built(self.cache, tools, program):
                    self._tell([program], BuildState.READY, size=path.stat().st_size)
                else:
                    left.append(program)
            if not left:
                return
            folder.mkdir(exist_ok=True)
            partial = folder / "partial"
            shutil.rmtree(partial, ignore_errors=True)  # of one that was killed
            partial.mkdir()
            go = await toolchain(
                self.cache, oldest=tools.go, environment=self.environment
            )
            await self._fetch(tools, left, go, folder, file)
            for program in left:
                await self._make(tools, program, go, folder, file)
            shutil.rmtree(partial)

    async def _fetch(
        self,
        tools: ToolSet,
        programs: Sequence[Program],
        go: Path,
        folder: Path,
        lock: int,
    ) -> None:
        self._tell(programs, BuildState.FETCHING)
        packages = [program.package for program in programs]
        await run(
            [str(go), "list", "-deps", "-tags", ",".join(tools.tags), *packages],
            cwd=tools.folder,
            environment=build_environment(go, self.environment),
            doing=f"fetch the sources of {tools.name}",
            log=folder / "fetch.log",
            keep=[lock],
        )

    async def _make(
        self, tools: ToolSet, program: Program, go: Path, folder: Path, lock: int
    ) -> None:
        self._tell([program], BuildState.BUILDING)
        began = time.monotonic()
        partial = folder / "partial" / program.name
        stamps = " ".join(f"-X {name}={value}" for name, value in tools.stamps.items())
        # The compiler inherits the lock: if we are killed, it goes on, and the next
        # build waits for it instead of starting a second one.
        await run(
            [
                *(str(go), "build", "-trimpath", "-tags", ",".join(tools.tags)),
                *("-ldflags", f"{_LINKER} {stamps}".strip()),
                *("-o", str(partial), program.package),
            ],
            cwd=tools.folder,
            environment=build_environment(go, self.environment),
            doing=f"build {program}",
            log=folder / f"{program.name}.log",
            keep=[lock],
        )
        _install(partial, program_path(self.cache, tools, program))
        archives.mark(self.cache, tools, program).unlink(missing_ok=True)
        size = program_path(self.cache, tools, program).stat().st_size
        seconds = time.monotonic() - began
        self._tell([program], BuildState.BUILT, seconds=seconds, size=size)

    def _tell(
        self,
        programs: Sequence[Program],
        state: BuildState,
        *,
        seconds: float = 0.0,
        size: int = 0,
    ) -> None:
        for program in programs:
            self.progress(
                BuildStep(program=str(program), state=state, seconds=seconds, size=size)
            )


def _install(partial: Path, path: Path) -> None:
    """Move a finished program into place atomically."""
    path.parent.mkdir(exist_ok=True)
    with partial.open("rb") as file:
        os.fsync(file.fileno())  # or a power cut could leave the name and no bytes
    partial.chmod(0o755)
    partial.replace(path)
