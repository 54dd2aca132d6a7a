"""The operator's own binaries, used instead of built ones."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from leyden.base.daemons import catalogue
from leyden.base.daemons.catalogue import Program
from leyden.errors import SetupError


async def own(
    names: Sequence[str], *, environment: Mapping[str, str] | None = None
) -> dict[Program, Path]:
    """Read each program's version; reject those not in the catalogue.

    A name without a slash is searched for on the PATH.
    """
    known = dict(os.environ if environment is None else environment)
    found: dict[Program, Path] = {}
    for name in names:
        path = shutil.which(name, path=known.get("PATH"))
        if path is None:
            raise SetupError(f"own_binaries: there is no program {name}")
        # They all answer like this: lnd version 0.20.2-beta commit=v0.20.2-beta
        words = (await output([path, "--version"], environment=known)).split()
        if words[1:2] != ["version"] or len(words) < 3:  # noqa: PLR2004  those three
            raise SetupError(f"own_binaries: {path} does not tell its version")
        try:
            _, program = catalogue.find(words[0], words[2])
        except SetupError as error:
            raise SetupError(f"own_binaries: {path}: {error.message}") from None
        found[program] = Path(path)
    return found


async def output(argv: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Run a command and return its standard output."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd="/",
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    printed, _ = await process.communicate()
    return printed.decode(errors="replace")
