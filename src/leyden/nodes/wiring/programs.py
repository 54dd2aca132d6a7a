"""The lnd binaries of nodes: cached, or copies any user can execute."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from leyden.base.daemons import build as builds
from leyden.base.daemons.catalogue import Program
from leyden.base.daemons.progress import Progress, quiet
from leyden.base.files import draft, remove_abandoned_drafts
from leyden.nodes.rules.versions import Version

Binary = Callable[[Version], Awaitable[Path]]


def lnds(
    cache: Path, *, own: Mapping[Program, Path], progress: Progress = quiet
) -> Binary:
    """Return a lookup of lnd binaries: the operator's own, or the cache's.

    A missing binary is built.
    """
    known: dict[Version, Path] = {}

    async def binary(wanted: Version) -> Path:
        # Working out where it is takes a millisecond of each start.
        if (path := known.get(wanted)) is None or not os.access(path, os.X_OK):
            path = known[wanted] = await builds.binary(
                "lnd", str(wanted), cache=cache, own=own, progress=progress
            )
        return path

    return binary


def shared_copies(binary: Binary, folder: Path) -> Binary:
    """Return a lookup of copies outside a home folder closed to node users.

    Each binary is copied once, however many nodes start at the same time.
    """
    under_way: dict[Path, asyncio.Task[None]] = {}

    async def copied(wanted: Version) -> Path:
        program = await binary(wanted)
        digest = hashlib.sha256(str(program).encode()).hexdigest()[:12]
        copy = folder / f"{program.name}-{wanted}-{digest}"
        if not copy.exists():
            if (copying := under_way.get(copy)) is None:
                work = asyncio.to_thread(_copy, program, copy)
                copying = under_way[copy] = asyncio.create_task(work)
                copying.add_done_callback(lambda _: under_way.pop(copy, None))
            # One start that is given up must not end the copy that others wait for.
            await asyncio.shield(copying)
        return copy

    return copied


def _copy(program: Path, to: Path) -> None:
    to.parent.mkdir(exist_ok=True)
    to.parent.chmod(0o711)
    remove_abandoned_drafts(to.parent)
    # 50 MB that a power cut cut short would be there under the right name.
    with program.open("rb") as source, draft(to, mode=0o755) as file:
        shutil.copyfileobj(source, file, 1 << 20)
