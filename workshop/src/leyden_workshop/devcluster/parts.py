"""The parts of a cluster in the cache: packages, programs and images."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from leyden.base.daemons import build as builds
from leyden.base.daemons import catalogue
from leyden.base.daemons.build import program_path
from leyden.base.daemons.progress import Progress
from leyden.values import Struct
from leyden_workshop.devcluster import binaries, images, packages
from leyden_workshop.devcluster.images import Image
from leyden_workshop.devcluster.packages import Packages


class Parts(Struct, frozen=True, kw_only=True):
    """All parts of a cluster."""

    cache: Path
    packages: Packages
    binaries: Mapping[str, Path]
    images: Sequence[Image] = ()

    def by_digest(self, name: str) -> str:
        """Return an image's name, with its digest."""
        archives = (each.archive for each in self.images if each.name == name)
        return images.by_digest(next(archives))


async def ensure(cache: Path, *, pods: bool, progress: Progress) -> Parts:
    """Return the parts; download and build missing ones."""
    packaged = await packages.ensure(cache, environment=os.environ, progress=progress)
    names = binaries.WITH_PODS if pods else binaries.API_ONLY
    wanted = [catalogue.find(name, sets=binaries.SETS) for name in names]
    if pods:
        wanted.append(catalogue.find("lnd"))
    await builds.build(wanted, cache=cache, progress=progress)
    found = {
        program.name: program_path(cache, tools, program) for tools, program in wanted
    }
    made: list[Image] = []
    if pods:
        named = {
            "pause": images.PAUSE,
            "companion": images.COMPANION,
            "lnd": images.lnd(wanted[-1][1].version),
        }
        made = [
            await asyncio.to_thread(images.ensure, cache, name, found[each], packaged)
            for each, name in named.items()
        ]
    return Parts(cache=cache, packages=packaged, binaries=found, images=made)
