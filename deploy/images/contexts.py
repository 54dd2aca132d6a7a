"""The contents of each image: the files that its Dockerfile adds, and its parts."""

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
from leyden.daemons.build import place
from leyden.daemons.catalogue import Program, ToolSet
from leyden.daemons.progress import Progress
from leyden.values import Struct
from leyden_workshop.devcluster import binaries, packages

STATE: Final = "var/lib/leyden"
_DAEMONS: Final = f"{python.SITE}/{packaged.PACKAGE}"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class Content(Struct, frozen=True, kw_only=True):
    """The layers of an image by their names, and what is in them."""

    layers: Mapping[str, bytes]
    parts: tuple[Part, ...]


class Sources(Struct, frozen=True, kw_only=True):
    """The shared sources of images with Python and Envoy."""

    cache: Path
    site: Path
    with_python: Path
    with_libc: Path


async def prepared(into: Path, cache: Path, progress: Progress) -> Sources:
    """Return the shared sources of images with Python and Envoy."""
    site = python.installed(into)
    python.compiled(site, at=python.SITE)
    extracted = await debian.extracted(debian.PYTHON, cache, progress)
    copied = into / "debian"
    shutil.copytree(extracted, copied, symlinks=True)
    stdlib = "usr/lib/python3.11"
    python.compiled(copied / stdlib, at=stdlib)
    libc = await debian.extracted(debian.BASE, cache, progress)
    return Sources(cache=cache, site=site, with_python=copied, with_libc=libc)


def of_platform(sources: Sources) -> Content:
    """Return the content of the image for API servers and workers."""
    own = python.entries(sources.site)
    return Content(
        layers={
            "debian.tar": layer(debian.entries(sources.with_python, home=STATE)),
            "python.tar": layer(own),
        },
        parts=(*_debian(debian.PYTHON), *sbom.python(own)),
    )


def of_envoy(sources: Sources) -> Content:
    """Return the content of the image with Envoy and its library."""
    package = python.envoy_package(sources.site)
    program = Entry(content=python.envoy(sources.site), mode=0o755)
    return Content(
        layers={
            "debian.tar": layer(debian.entries(sources.with_libc)),
            "envoy.tar": layer({"usr/bin/envoy": program}),
        },
        parts=(*_debian(debian.BASE), *sbom.python(package)),
    )


async def of_lnd(cache: Path, version: str, progress: Progress) -> Content:
    """Return the content of the image with one lnd."""
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
    """Return the content of the companion's image."""
    content = await _built(cache, "companion", None, binaries.SETS, progress)
    entries = {
        "bin/companion": Entry(content=content, mode=0o755),
        "tmp": folder(mode=0o1777),
    }
    return Content(layers={"companion.tar": layer(entries)}, parts=(*sbom.go(content),))


async def of_machine(sources: Sources, progress: Progress) -> Content:
    """Return the content of the image for one machine: platform, Envoy and lnds."""
    plain = of_platform(sources)
    envoy = python.envoy_package(sources.site)
    shell = await debian.extracted(debian.MACHINE, sources.cache, progress)
    daemons = {f"{_DAEMONS}/__init__.py": Entry(content=b"")}
    parts: list[Part] = []
    for tools, program in _lnds():
        content = await _built(
            sources.cache, program.name, program.version, catalogue.SETS, progress
        )
        where = f"{_DAEMONS}/{packaged.place(tools, program)}"
        daemons[where] = Entry(content=content, mode=0o755)
        parts += sbom.go(content)
    return Content(
        layers={
            **plain.layers,
            "shell.tar": layer(debian.shell(shell)),
            "envoy-package.tar": layer(envoy),
            "daemons.tar": layer(daemons),
        },
        parts=(
            *plain.parts,
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
