"""Programs by name: the operator's own, those of the package, or the cache's.

What is missing is downloaded into the cache, if its release archive is pinned.
Otherwise it is built, where leyden-workshop is installed: its compiler is an entry
point of `leyden.builders`.
"""

import importlib
import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from leyden.base.daemons import archives, catalogue, packaged
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.progress import BuildState, BuildStep, Progress, quiet
from leyden.errors import SetupError

HOW: Final = (
    "install the leyden-daemons wheel of this version, or `pip install "
    "leyden-workshop`, which builds programs from source, or name your own in the "
    "setting own_binaries"
)


class Builder(Protocol):
    """Builds programs into the cache, each whole or not at all."""

    async def __call__(
        self,
        wanted: Sequence[tuple[ToolSet, Program]],
        *,
        cache: Path,
        environment: Mapping[str, str],
        progress: Progress,
    ) -> None:
        """Build these programs, in the given order."""


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

    A program missing from the cache is built first, if something can build it.
    """
    tools, program = catalogue.find(name, version)
    if program in own:
        return own[program]
    await build(
        [(tools, program)], cache=cache, environment=environment, progress=progress
    )
    return program_path(cache, tools, program)


async def build(
    wanted: Sequence[tuple[ToolSet, Program]],
    *,
    cache: Path,
    environment: Mapping[str, str] | None = None,
    progress: Progress = quiet,
    from_source: bool = False,
) -> None:
    """Get the wanted programs that are missing: download them, or have them built.

    With `from_source`, a program from an archive doesn't count.
    """
    environment = os.environ if environment is None else environment
    missing = []
    for tools, program in wanted:
        path = program_path(cache, tools, program)
        if is_built(cache, tools, program) if from_source else path.exists():
            size = path.stat().st_size
            progress(BuildStep(program=str(program), state=BuildState.READY, size=size))
        else:
            missing.append((tools, program))
    if not from_source and any(archives.find(each[1], environment) for each in missing):
        # Only here: who has all programs needs no HTTP client.
        downloads = importlib.import_module("leyden.base.daemons.downloads")
        missing = await downloads.fetch(
            missing, cache=cache, environment=environment, progress=progress
        )
    if not missing:
        return
    builder = find_builder()
    if builder is None:
        names = ", ".join(str(program) for _, program in missing)
        raise SetupError(f"{names}: not installed here; {HOW}")
    await builder(
        missing,
        cache=cache,
        environment=environment,
        progress=progress,
    )


def program_path(cache: Path, tools: ToolSet, program: Program) -> Path:
    """Return the path of a program, whether it is there yet or not.

    One that was installed as a package is not built.
    """
    installed = packaged.find(tools, program)
    return installed or cache / "daemons" / tools.key / "bin" / program.name


def is_built(cache: Path, tools: ToolSet, program: Program) -> bool:
    """Return whether a program is there, made from the pinned sources."""
    is_there = program_path(cache, tools, program).exists()
    return is_there and not archives.mark(cache, tools, program).exists()


def find_builder() -> Builder | None:
    """Return who builds programs, if leyden-workshop is installed."""
    for each in metadata.entry_points(group="leyden.builders"):
        builder: Builder = each.load()
        return builder
    return None
