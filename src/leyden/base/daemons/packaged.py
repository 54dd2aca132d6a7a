"""Built programs as a Python package: what `leyden daemons wheel` makes.

LEYDEN_DAEMONS/KEY/bin/NAME, where KEY is the key of the set in the cache: a program is
taken from an installed package only if the same sources, tags and stamps made it.
"""

import functools
import importlib.util
from pathlib import Path
from typing import Final

from leyden.base.daemons.catalogue import Program, ToolSet

PACKAGE: Final = "leyden_daemons"


@functools.cache
def folder() -> Path | None:
    """Return where the package is installed; None if it is not."""
    found = importlib.util.find_spec(PACKAGE)
    folders = found.submodule_search_locations if found else None
    return Path(folders[0]) if folders else None


def find(tools: ToolSet, program: Program) -> Path | None:
    """Return the installed program that these sources make, if there is one."""
    where = folder()
    if where is None:
        return None
    path = where / packaged_path(tools, program)
    return path if path.exists() else None


def packaged_path(tools: ToolSet, program: Program) -> Path:
    """Return the place of a program in the package."""
    return Path(tools.key, "bin", program.name)
