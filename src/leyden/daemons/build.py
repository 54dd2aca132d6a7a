"""Programs by name, from the cache or built into it.

Promises:
- Every program in the cache is complete: it is built elsewhere and renamed
  into place. Once it exists nothing here accesses the network.
- Two concurrent builds build once: the second waits and uses the result.
- A killed build does not block the next one.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from leyden.daemons import catalogue
from leyden.daemons.build_failures import unwritable
from leyden.daemons.catalogue import Program, ToolSet
from leyden.daemons.progress import Progress, State, Step, quiet
from leyden.daemons.workshop import Workshop, place

# Go compiles on all processors by itself; a second set beside the first only helps
# where there are more of them than one keeps busy.
_PROCESSORS_PER_SET = 4


def default_cache(environment: Mapping[str, str]) -> Path:
    """Return the cache folder shared by all checkouts of one user."""
    if given := environment.get("LEYDEN_CACHE"):
        return Path(given).absolute()
    home = Path(environment.get("HOME") or "/tmp")  # noqa: S108  as `./leyden` does
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "leyden"


async def binary(
    name: str,
    version: str | None = None,
    *,
    cache: Path,
    own: Mapping[Program, Path] = MappingProxyType({}),
    environment: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> Path:
    """Return the path of a program: the operator's own, or the cached one.

    A program missing from the cache is built first.
    """
    tools, program = catalogue.find(name, version)
    if program in own:
        return own[program]
    await build(
        [(tools, program)], cache=cache, environment=environment, progress=progress
    )
    return place(cache, tools, program)


async def build(
    wanted: Sequence[tuple[ToolSet, Program]],
    *,
    cache: Path,
    environment: Mapping[str, str] | None = None,
    progress: Progress = quiet,
) -> None:
    """Build the wanted programs that are missing, in the given order.

    Tool sets are built one after the other on small machines, and several
    at once on larger ones. The first failure cancels the others.
    """
    missing: dict[str, tuple[ToolSet, list[Program]]] = {}
    for tools, program in wanted:
        path = place(cache, tools, program)
        if path.exists():
            size = path.stat().st_size
            progress(Step(program=str(program), state=State.READY, size=size))
        else:
            missing.setdefault(tools.name, (tools, []))[1].append(program)
    if not missing:
        return
    turns = max(1, (os.cpu_count() or 1) // _PROCESSORS_PER_SET)
    workshop = Workshop(
        cache=cache,
        environment=os.environ if environment is None else environment,
        progress=progress,
        turns=asyncio.Semaphore(turns),
    )
    try:
        async with asyncio.TaskGroup() as group:
            for tools, programs in missing.values():
                group.create_task(workshop.build(tools, programs))
    except ExceptionGroup as failures:
        first = failures.exceptions[0]
        if isinstance(first, OSError):
            raise unwritable(cache, first) from None
        raise first from None
