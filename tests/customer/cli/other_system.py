"""`leyden` as on another system, with the packages that it has there and no others.

    python -m tests.customer.cli.other_system win32 nodes list

What only Linux has is taken away once the standard library and packages, which look at
the real system, are imported.
"""

import asyncio
import importlib
import os
import pkgutil
import signal
import site
import socket
import sys
from collections.abc import Iterator
from importlib import metadata
from types import ModuleType

from packaging.requirements import Requirement

# Modules and names that Windows has not; macOS has all but the last.
_MODULES = {
    *("fcntl", "grp", "posix_ipc", "pty", "pwd", "resource", "spwd", "syslog"),
    *("termios", "tty"),
}
_NAMES: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod"),
        *("fork", "geteuid", "getuid", "killpg", "pidfd_open", "setpriority", "setsid"),
    ),
    signal: ("SIGHUP", "SIGKILL", "SIGUSR1", "pidfd_send_signal"),
    socket: ("AF_UNIX",),
}
_TAKEN: dict[str, dict[ModuleType, tuple[str, ...]]] = {
    "linux": {},
    "darwin": {os: ("pidfd_open",), socket: ("TCP_KEEPIDLE",)},
    "win32": _NAMES,
}
_SYSTEMS = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}


class _Missing:
    """Finds nothing but what is installed there."""

    def __init__(self, missing: set[str]) -> None:
        self._missing = missing

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in self._missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def installed(name: str, platform: str) -> Iterator[str]:
    """Yield the distributions that pip installs there with this one, and its name."""
    name = name.lower().replace("_", "-")
    yield name
    there = {"platform_system": _SYSTEMS[platform], "sys_platform": platform}
    there["extra"] = ""
    try:
        lines = metadata.requires(name) or ()
    except metadata.PackageNotFoundError:  # only that system has it
        return
    for line in lines:
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate(there):
            yield from installed(needed.name, platform)


def become(platform: str) -> None:
    """Make this process look like one on that system, where `leyden` is installed."""
    there = {*installed("leyden", platform)}
    packages = {
        package
        for package, names in metadata.packages_distributions().items()
        if there & {each.lower().replace("_", "-") for each in names}
    }
    for name in ("aiohttp", "rich.live", "rich.progress", "click.shell_completion"):
        importlib.import_module(name)
    missing = {
        each.name
        for each in pkgutil.iter_modules(site.getsitepackages())
        if each.name not in packages
    }
    for module, names in _TAKEN[platform].items():
        for name in names:
            vars(module).pop(name, None)
    if platform == "win32":
        missing |= _MODULES
        loop = asyncio.SelectorEventLoop
        loop.add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler  # type: ignore[method-assign]
    for name in [*sys.modules]:
        if name.partition(".")[0] in missing:
            del sys.modules[name]
    sys.meta_path.insert(0, _Missing(missing))
    vars(sys)["platform"] = platform


if __name__ == "__main__":
    _, system, *words = sys.argv
    become(system)
    sys.argv = ["leyden", *words]
    importlib.import_module("leyden.app.main").main()
