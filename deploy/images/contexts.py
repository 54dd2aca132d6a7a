"""What each image is made of: the files that its Dockerfile adds, and its parts."""

import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.images import debian, python, sbom
from deploy.images.sbom import Part
from deploy.images.tars import Entry, folder, layer

from leyden.daemons import build as builds
from leyden.daemons import catalogue, packaged
from leyden.daemons.catalogue import Program, ToolSet
from leyden.daemons.progress import Progress
from leyden.daemons.workshop import place
from leyden.devcluster import binaries, packages
from leyden.values import Struct

STATE: Final = "var/lib/leyden"
_DAEMONS: Final = f"{python.SITE}/{packaged.PACKAGE}"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class Content(Struct, frozen=True, kw_only=True):
    """The layers of an image by their names, and what is in them."""

    layers: Mapping[str, bytes]
    parts: tuple[Part, ...]


class Kitchen(Struct, frozen=True, kw_only=True):
    """Where things come from; `site` and `stdlib` are made once for all images."""

    cache: Path
    site: Path
    with_python: Path
    with_libc: Path


async def prepared(folder_: Path, cache: Path, progress: Progress) -> Kitchen:
    """Return what images of Python and Envoy are made of."""
    site = python.installed(folder_)
    python.compiled(site, at=python.SITE)
    extracted = await debian.extracted(debian.PYTHON, cache, progress)
    copied = folder_ / "debian"
    shutil.copytree(extracted, copied, symlinks=True)
    stdlib = "usr/lib/python3.11"
    python.compiled(copied / stdlib, at=stdlib)
    libc = await debian.extracted(debian.BASE, cache, progress)
    return Kitchen(cache=cache, site=site, with_python=copied, with_libc=libc)


def of_platform(kitchen: Kitchen) -> Content:
    """Return API servers and workers."""
    own = python.entries(kitchen.site)
    return Content(
        layers={
            "debian.tar": layer(debian.entries(kitchen.with_python, home=STATE)),
            "python.tar": layer(own),
        },
        parts=(*_debian(debian.PYTHON), *sbom.python(own)),
    )


def of_envoy(kitchen: Kitchen) -> Content:
    """Return Envoy and the library it is linked to."""
    package = python.envoy_package(kitchen.site)
    program = Entry(content=python.envoy(kitchen.site), mode=0o755)
    return Content(
        layers={
            "debian.tar": layer(debian.entries(kitchen.with_libc)),
            "envoy.tar": layer({"usr/bin/envoy": program}),
        },
        parts=(*_debian(debian.BASE), *sbom.python(package)),
    )


async def of_lnd(cache: Path, version: str, progress: Progress) -> Content:
    """Return one lnd and a home for it."""
    content = await _built(cache, "lnd", version, catalogue.SETS, progress)
    known = "root:x:0:0::/:\nlnd:x:1000:1000::/home/lnd:\n"
    entries = {
        "bin/lnd": Entry(content=content, mode=0o755),
        "etc/passwd": Entry(content=known.encode()),
        "home/lnd": folder(mode=0o700, own=True),
        "tmp": folder(mode=0o1777),
    }
    return Content(layers={"lnd.tar": layer(entries)}, parts=(*sbom.go(content),))


async def of_companion(cache: Path, progress: Progress) -> Content:
    """Return the companion."""
    content = await _built(cache, "companion", None, binaries.SETS, progress)
    entries = {
        "bin/companion": Entry(content=content, mode=0o755),
        "tmp": folder(mode=0o1777),
    }
    return Content(layers={"companion.tar": layer(entries)}, parts=(*sbom.go(content),))


async def of_machine(kitchen: Kitchen, progress: Progress) -> Content:
    """Return the platform with Envoy and each lnd, as packages."""
    platform_ = of_platform(kitchen)
    envoy = python.envoy_package(kitchen.site)
    shell = await debian.extracted(debian.MACHINE, kitchen.cache, progress)
    daemons = {f"{_DAEMONS}/__init__.py": Entry(content=b"")}
    parts: list[Part] = []
    for tools, program in _lnds():
        content = await _built(
            kitchen.cache, program.name, program.version, catalogue.SETS, progress
        )
        where = f"{_DAEMONS}/{packaged.place(tools, program)}"
        daemons[where] = Entry(content=content, mode=0o755)
        parts += sbom.go(content)
    return Content(
        layers={
            **platform_.layers,
            "shell.tar": layer(debian.shell(shell)),
            "envoy-package.tar": layer(envoy),
            "daemons.tar": layer(daemons),
        },
        parts=(
            *platform_.parts,
            *_debian(debian.MACHINE),
            *sbom.python(envoy),
            *parts,
        ),
    )


def lnd_versions() -> list[str]:
    """Return each version of lnd that is offered."""
    return [program.version for _, program in _lnds()]


def _lnds() -> list[tuple[ToolSet, Program]]:
    return [
        (tools, program)
        for tools in catalogue.SETS
        for program in tools.programs
        if program.name == "lnd"
    ]


async def _built(
    cache: Path,
    name: str,
    version: str | None,
    sets: tuple[ToolSet, ...],
    progress: Progress,
) -> bytes:
    found = catalogue.find(name, version, sets=sets)
    await builds.build([found], cache=cache, environment=os.environ, progress=progress)
    return place(cache, *found).read_bytes()


def _debian(listing: Path) -> list[Part]:
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    return [*sbom.debian(packages.pinned(listing), architecture=architecture)]
