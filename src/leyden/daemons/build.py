"""Programs by name: from the cache, or built into it.

Promises:
- What is in the cache is whole: a program is built beside its place and renamed into
  it. Once it is there nothing here touches the network.
- Two builders at once build once: the second waits and finds it.
- A builder that was killed leaves nothing in the way of the next one.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from leyden.daemons import catalogue
from leyden.daemons.catalogue import Program, ToolSet
from leyden.daemons.progress import Progress, State, Step, quiet
from leyden.daemons.troubles import unwritable
from leyden.daemons.workshop import Workshop, place

# Go compiles on all processors by itself; a second set beside the first only helps
# where there are more of them than one keeps busy.
_PROCESSORS_PER_SET = 4


def default_cache(environment: Mapping[str, str]) -> Path:
    """Give the folder that all checkouts of one user share."""
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
    """Give a program that can be run: the operator's own, or the one in the cache.

    The latter is built first when it is not there yet.
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
    """Build what is wanted and not there yet, in the order given.

    Sets are built one after the other on small machines, a few at once on others. The
    first failure ends them all.
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
