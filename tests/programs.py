"""Programs that tests run: those that Leyden builds, and those of the system.

A test that cannot have one is skipped, and says by name what is missing and which
package has it. `./leyden test` is for who has Python alone: it builds PLAIN and leaves
out what takes more, unless `--all` is given.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from leyden.base.daemons.build import default_cache, program_path
from leyden.base.daemons.catalogue import Program, ToolSet, find
from leyden.nodes.runtimes.local import nftables
from leyden_workshop.compiler import catalogue
from leyden_workshop.devcluster import binaries

RUN: Final = "TEST_RUN"  # "plain" or "all"; unset, a test takes whatever is there
BUILDS: Final = "TEST_RUN_BUILDS"  # a folder, while this run builds programs

PLAIN: Final = ("lnd-0.20.2", "pool-0.7.1", "auctioneer")  # what the README's `up` has
PACKAGES: Final[Mapping[str, str]] = {
    "buildah": "buildah",
    "cargo": "cargo",
    "certutil": "libnss3-tools",
    "chromium": "chromium",
    "curl": "curl",
    "go": "golang",
    "ip": "iproute2",
    "jq": "jq",
    "mmdebstrap": "mmdebstrap",
    "nft": "nftables",
    "node": "nodejs",
    "npm": "npm",
    "openssl": "openssl",
    "setpriv": "util-linux",
    "ssh-keygen": "openssh-client",
    "strace": "strace",
    "systemd-analyze": "systemd",
    "terraform": "",  # Debian has neither it nor OpenTofu
    "tor": "tor",
    "unshare": "util-linux",
    "update-ca-certificates": "ca-certificates",
    "vfychain": "libnss3-tools",
}
_ONLY_WITH_ALL: Final = ("chromium", "nft", "terraform", "tor")
_NAMES: Final = {
    "chromium": ("chromium", "chromium-browser"),
    "terraform": ("terraform", "tofu"),
}
_SYSTEM: Final = "/usr/sbin:/sbin"  # not everybody's PATH has them
_FINISHED: Final = "finished"
_LOOK_AGAIN_S: Final = 0.2


def is_plain() -> bool:
    """Return whether this run leaves out what takes more than Python."""
    return os.environ.get(RUN) == "plain"


def installed(name: str) -> Path | None:
    """Return where the system has a program; None also if this run leaves it out."""
    if is_plain() and name in _ONLY_WITH_ALL:
        return None
    path = f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM}"
    for each in _NAMES.get(name, (name,)):
        if found := shutil.which(each, path=path):
            return Path(found)
    return None


def missing(*names: str) -> str:
    """Return why a test that needs these programs is skipped; "" if it is not."""
    for name in names:
        if is_plain() and name in _ONLY_WITH_ALL:
            return f"needs {name}: only with ./leyden test --all"
        if installed(name) is None:
            package = PACKAGES[name]
            how = f"; on Debian: apt-get install {package}" if package else ""
            return f"{name} is not installed{how}"
    return ""


def only_with_all(what: str) -> None:
    """Skip the test in a plain run, which does without this."""
    if is_plain():
        pytest.skip(f"needs {what}: only with ./leyden test --all")


def needs(*names: str) -> pytest.MarkDecorator:
    """Mark tests that these programs of the system are needed for."""
    why = missing(*names)
    return pytest.mark.skipif(bool(why), reason=why or "everything is there")


def as_root_with_nft() -> pytest.MarkDecorator:
    """Mark tests that hold users to an egress policy."""
    why = "only root can hold users to a policy" if os.geteuid() else ""
    why = why or missing("nft") or nftables.unavailable_reason()
    return pytest.mark.skipif(bool(why), reason=why or "everything is there")


def require(name: str) -> Path:
    """Return where the system has a program, or skip the test."""
    if why := missing(name):
        pytest.skip(why)
    found = installed(name)
    assert found is not None
    return found


def built(*names: str) -> Mapping[str, Path]:
    """Return programs that Leyden builds, or skip the test; wait if this run does.

    `lnd v0.21.2-beta` is one of another version than the usual.
    """
    return {name: _built(*_find(name)) for name in names}


def _find(name: str) -> tuple[ToolSet, Program]:
    sets = (*catalogue.SETS, *binaries.SETS)
    return find(*name.split(), sets=sets)


def _built(tools: ToolSet, program: Program) -> Path:
    if tools.name not in PLAIN:
        only_with_all(str(program))
    path = program_path(default_cache(os.environ), tools, program)
    if builds := os.environ.get(BUILDS):
        _wait(Path(builds), tools.name, path.exists)
    if not path.exists():
        pytest.skip(f"{program} is not built: {_how(tools, program)}")
    return path


def _how(tools: ToolSet, program: Program) -> str:
    if tools in catalogue.SETS:
        return f"leyden daemons build {program.name}"
    return "./leyden test --all"


def _wait(builds: Path, name: str, is_there: Callable[[], bool]) -> None:
    """Wait until a program is there, or this run builds no more.

    The time is not the test's: its alarm stands still.
    """
    if is_there() or (builds / _FINISHED).exists():
        return
    alarm = signal.setitimer(signal.ITIMER_REAL, 0)
    (builds / f"{name}{_WAITED_FOR}").touch()
    while not is_there() and not (builds / _FINISHED).exists():
        time.sleep(_LOOK_AGAIN_S)
    signal.setitimer(signal.ITIMER_REAL, *alarm)


_WAITED_FOR: Final = ".waited-for"


def waited_for(builds: Path) -> set[str]:
    """Return the names of the sets that tests of this run have waited for."""
    return {each.name.removesuffix(_WAITED_FOR) for each in builds.iterdir()}


def finish(builds: Path) -> None:
    """Let nobody wait any longer."""
    (builds / _FINISHED).touch()
