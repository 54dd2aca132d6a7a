"""What `leyden up` gets before it can go on, and how long that takes here."""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from leyden.base.daemons import archives
from leyden.base.daemons.build import build, program_path
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.progress import BuildState, BuildStep, Progress
from leyden.values import Struct
from leyden_workshop.compiler import catalogue
from leyden_workshop.compiler.estimates import Finished, pace, remaining_s

_ARCHIVE_S: Final = 20.0  # 40 MB at 16 Mbit/s


class Missing(Struct, frozen=True):
    """Programs that are not there yet, and how long it takes to get them."""

    how: str  # "building lnd and btcd from source"
    seconds: float
    otherwise_s: float = 0.0  # if there are no archives


class Builds:
    """The programs of a private chain; what was built here corrects the estimates."""

    def __init__(
        self, cache: Path, own: Mapping[Program, Path], progress: Progress
    ) -> None:
        self._cache = cache
        self._own = own
        self._progress = progress
        self._processors = len(os.sched_getaffinity(0))
        self._finished: list[Finished] = []

    @property
    def pace(self) -> float:
        """How many times as long as two idle processors this machine takes."""
        return pace(self._finished, processors=self._processors)

    def programs(self, *names: str) -> dict[str, Path]:
        """Return the paths of programs, whether they are built yet or not."""
        return {
            name: self._own.get(program) or program_path(self._cache, tools, program)
            for name, (tools, program) in _found(names).items()
        }

    def missing(self, *names: str) -> Missing | None:
        """Return what is not there yet; None if nothing is missing."""
        left = [
            (name, tools, archives.find(program, os.environ))
            for name, (tools, program) in _found(names).items()
            if program not in self._own
            and not program_path(self._cache, tools, program).exists()
        ]
        if not left:
            return None
        from_source = self._building_s(tools for _, tools, _ in left)
        archived = {each for *_, each in left if each is not None}
        compiled = [tools for _, tools, archive in left if archive is None]
        *others, last = (name for name, *_ in left)
        listed = " and ".join(filter(None, (", ".join(others), last)))
        if not archived:
            return Missing(f"building {listed} from source", from_source)
        return Missing(
            f"{'downloading and building' if compiled else 'downloading'} {listed}",
            len(archived) * _ARCHIVE_S + self._building_s(compiled),
            from_source,
        )

    def _building_s(self, wanted: Iterable[ToolSet]) -> float:
        sets = {tools.name: tools for tools in wanted}
        return remaining_s(
            [*sets.values()], self._finished, processors=self._processors
        )

    async def build(self, *names: str) -> None:
        """Get the programs that are missing."""
        wanted = [each for each in _found(names).values() if each[1] not in self._own]
        built = list[BuildStep]()

        def note(step: BuildStep) -> None:
            if step.state is BuildState.BUILT:
                built.append(step)
            self._progress(step)

        began = time.monotonic()
        await build(wanted, cache=self._cache, progress=note)
        sets = {tools.name: tools for tools, _ in wanted}
        if built and len(built) == len(wanted) and len(sets) == 1:
            (tools,) = sets.values()
            self._finished.append(Finished(tools, time.monotonic() - began))


def _found(names: tuple[str, ...]) -> dict[str, tuple[ToolSet, Program]]:
    return {name: catalogue.find(name) for name in names}
