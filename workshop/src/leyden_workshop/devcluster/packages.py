"""Extract Debian packages into the cache, without installing them or running scripts.

apt uses separate lists below the cache, so the machine's lists do not change, and root
is not needed. The version of each package is pinned in cluster.txt, up
to rebuilds (`+b1`). apt verifies the signatures.
"""

import asyncio
import hashlib
import os
import platform
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leyden.base.daemons.locks import locked
from leyden.base.daemons.operator_binaries import output
from leyden.base.daemons.progress import BuildState, BuildStep, Progress
from leyden.errors import SetupError
from leyden.values import Struct
from leyden_workshop.compiler.commands import run

_LISTING: Final = Path(__file__).with_name("cluster.txt")
_RECIPE: Final = "1"
_REBUILT: Final = re.compile(r"\+b\d+$")
_TOOLS: Final = ("apt-get", "apt-cache", "dpkg-deb")
_NAME: Final = "Debian packages"
# Debian's scripts, which are not run, would create these links.
_IPTABLES: Final = ("iptables", "ip6tables")
_NFT: Final = "xtables-nft-multi"


class Packages(Struct, frozen=True):
    """The folder of extracted packages."""

    root: Path

    @property
    def path(self) -> str:
        """The folders of their programs, in the format of PATH."""
        return os.pathsep.join(
            str(self.root / each) for each in ("usr/sbin", "usr/bin", "sbin", "bin")
        )

    @property
    def plugins(self) -> Path:
        """The folder of the CNI plugins."""
        return self.root / "usr/lib/cni"

    def environment(self) -> dict[str, str]:
        """Return the environment for finding these programs and their libraries."""
        libraries = sorted(self.root.glob("usr/lib/*-linux-gnu*"))
        libraries += sorted(self.root.glob("lib/*-linux-gnu*"))
        found = {
            "PATH": f"{self.path}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        }
        if libraries:
            found["XTABLES_LIBDIR"] = str(libraries[0] / "xtables")
        return found


def pinned() -> dict[str, str]:
    """Return the version of each package."""
    lines = _LISTING.read_text().splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return {name: version for name, version in rows}  # noqa: C416  rows are lists


def choose(wanted: Mapping[str, str], madison: str, *, machine: str) -> dict[str, str]:
    """Return the version of each package to download, from the output of `apt-cache`.

    Raise SetupError for a package that the archive does not have in the pinned version.
    """
    listed: dict[str, list[str]] = {name: [] for name in wanted}
    for line in madison.splitlines():
        name, _, rest = line.partition("|")
        if name.strip() in listed:
            listed[name.strip()].append(rest.partition("|")[0].strip())
    chosen = {}
    troubles = []
    for name, version in wanted.items():
        fitting = [each for each in listed[name] if _REBUILT.sub("", each) == version]
        if fitting:
            chosen[name] = fitting[0]
        else:
            versions = ", ".join(dict.fromkeys(listed[name])) or "none"
            troubles.append(f"{name} {version} (available: {versions})")
    if troubles:
        raise SetupError(
            f"packages: the archive of {machine} lacks the versions that this release "
            f"needs: {'; '.join(troubles)}. Use a newer release of Leyden, or change "
            f"{_LISTING.name} and try"
        )
    return chosen


def packages_in(cache: Path) -> Packages:
    """Return the packages at their place, extracted or not."""
    parts = [_RECIPE, platform.machine(), _LISTING.read_text()]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    return Packages(cache / "debian" / f"{_LISTING.stem}-{digest}")


async def ensure(
    cache: Path,
    *,
    environment: Mapping[str, str],
    progress: Progress,
) -> Packages:
    """Return the packages; download and extract them if needed."""
    found = packages_in(cache)
    if found.root.exists():
        return found
    machine = _machine()
    async with locked(
        found.root.with_name(found.root.name + ".lock"),
        waiting=lambda: progress(BuildStep(program=_NAME, state=BuildState.WAITING)),
    ):
        if not found.root.exists():
            await _download(found.root, environment, progress, machine)
    return found


async def _download(
    root: Path,
    environment: Mapping[str, str],
    progress: Progress,
    machine: str,
) -> None:
    progress(BuildStep(program=_NAME, state=BuildState.FETCHING))
    began = asyncio.get_running_loop().time()
    partial = root.with_name(root.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)  # left by a killed run
    for name in ("apt/lists/partial", "apt/archives/partial", "debs", "root"):
        (partial / name).mkdir(parents=True)
    environment = {**environment, "LC_ALL": "C"}
    log = root.with_name(root.name + ".log")
    options = _options(partial / "apt")
    await run(
        ["apt-get", *options, "update"],
        environment=environment,
        doing="fetch Debian's lists of packages",
        log=log,
    )
    wanted = pinned()
    listed = await output(
        ["apt-cache", *options, "madison", *wanted], environment=environment
    )
    chosen = choose(wanted, listed, machine=machine)
    await run(
        ["apt-get", *options, "download", *(f"{n}={v}" for n, v in chosen.items())],
        environment=environment,
        doing="fetch Debian's packages",
        log=log,
        cwd=partial / "debs",
    )
    for file in _listed(partial / "debs"):
        await run(
            ["dpkg-deb", "--extract", str(file), str(partial / "root")],
            environment=environment,
            doing=f"extract {file.name}",
            log=log,
        )
    for name in _IPTABLES:
        link = partial / "root/usr/sbin" / name
        if link.with_name(_NFT).exists():
            link.unlink(missing_ok=True)
            link.symlink_to(_NFT)
    (partial / "root").chmod(0o755)
    (partial / "root").rename(root)
    shutil.rmtree(partial)
    seconds = asyncio.get_running_loop().time() - began
    size = _size(root)
    progress(
        BuildStep(program=_NAME, state=BuildState.BUILT, seconds=seconds, size=size)
    )


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _size(folder: Path) -> int:
    return sum(each.lstat().st_size for each in folder.rglob("*"))


def _options(folder: Path) -> list[str]:
    given = {
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder,
        "Dir::Cache::archives": folder / "archives",
        "APT::Sandbox::User": "root",  # run as ourselves: _apt can't write there
        "Acquire::Languages": "none",
    }
    return [word for name, value in given.items() for word in ("-o", f"{name}={value}")]


def _machine() -> str:
    """Return the name of this Debian; raise SetupError on other systems."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    name = release.get("PRETTY_NAME", "an unknown system")
    if (release.get("ID"), release.get("VERSION_ID")) != ("debian", "12"):
        raise SetupError(
            f"packages: this machine is {name}; containerd, runc, libc and others come "
            "from Debian 12, so a cluster can only be created on Debian 12"
        )
    if missing := [each for each in _TOOLS if shutil.which(each) is None]:
        raise SetupError(f"packages: {', '.join(missing)} is not installed here")
    return name
