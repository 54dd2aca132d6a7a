"""Images: Dockerfiles that are built without Docker, the same each time, and listed."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from deploy.images import buildinfo, dockerfiles, sbom
from deploy.images.debian import BASE, HERE, PYTHON
from deploy.images.sbom import Part
from deploy.images.tars import Entry, folder, layer

from leyden.daemons import catalogue
from leyden.errors import SetupError
from leyden_workshop.devcluster import packages
from tests.programs import built

ROOT = Path(__file__).parents[2]
DOCKERFILES = sorted(HERE.glob("*/Dockerfile"))


def build(into: Path, *names: str) -> dict[str, Any]:
    """Build images as an operator does; return what lies there by its name."""
    command = [sys.executable, "-m", "deploy.images", str(into), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert all("@sha256:" in line for line in done.stdout.splitlines())
    return {each.name: each for each in into.iterdir()}


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.parent.name)
def test_each_starts_from_nothing_and_runs_as_nobody_special(file: Path) -> None:
    recipe = dockerfiles.parse(file.read_text())
    assert recipe.config["User"] == "1000:1000"
    assert recipe.config["Entrypoint"][0].startswith("/")
    assert recipe.layers


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FROM debian:12\n", "FROM scratch"),
        ("", "FROM scratch"),
        ("FROM scratch\nRUN apt-get update\n", "RUN apt-get update"),
        ("FROM scratch\nADD https://example.com/a.tgz /\n", "only Docker"),
    ],
)
def test_what_only_docker_builds_is_refused(text: str, why: str) -> None:
    with pytest.raises(SetupError, match=why):
        dockerfiles.parse(text)


def test_a_layer_follows_from_what_is_in_it() -> None:
    entries = {
        "home/lnd": folder(mode=0o700, own=True),
        "bin/lnd": Entry(content=b"a program", mode=0o755),
        "bin/sh": Entry(link="lnd", mode=0o777),
    }
    one = layer(entries)
    assert one == layer(dict(reversed(entries.items())))
    with tarfile.open(fileobj=io.BytesIO(one)) as archive:
        found = {each.name: each for each in archive.getmembers()}
    assert set(found) == {"bin", "home", *entries}
    assert (found["bin/lnd"].mode, found["bin/lnd"].uid) == (0o755, 0)
    assert (found["home/lnd"].mode, found["home/lnd"].uid) == (0o700, 1000)
    assert {each.mtime for each in found.values()} == {0}


def test_packages_of_python_hold_those_of_any_program() -> None:
    assert packages.pinned(BASE).items() <= packages.pinned(PYTHON).items()
    assert not {"bash", "dash", "apt", "coreutils"} & set(packages.pinned(PYTHON))


def test_a_list_of_parts_follows_from_them_and_names_each_once() -> None:
    parts = [
        *sbom.debian({"libc6": "2.36-9+deb12u14"}, architecture="amd64"),
        Part("pkg:pypi/msgspec@0.22.0", "msgspec", "0.22.0"),
        Part("pkg:pypi/msgspec@0.22.0", "msgspec", "0.22.0"),
    ]
    one = sbom.document("localhost/leyden/platform:1", parts)
    assert one == sbom.document("localhost/leyden/platform:1", reversed(parts))
    told = json.loads(one)
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    assert [each["purl"] for each in told["components"]] == [
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12",
        "pkg:pypi/msgspec@0.22.0",
    ]


def test_a_file_that_is_no_go_program_has_no_modules() -> None:
    assert [*buildinfo.modules(b"\x7fELF and nothing more" * 100)] == []


@pytest.mark.real
@pytest.mark.timeout(300)
def test_built_twice_they_are_the_same_bytes_and_say_what_is_in_them(
    tmp_path: Path,
) -> None:
    tools, lnd = catalogue.find("lnd")
    built("lnd", "companion")
    names = ("companion", f"lnd-{lnd.version}")
    one, other = (build(tmp_path / each, *names) for each in ("one", "other"))
    for name in names:
        for end in (".tar", ".cdx.json"):
            assert one[name + end].read_bytes() == other[name + end].read_bytes()
    told = json.loads(one[f"lnd-{lnd.version}.cdx.json"].read_text())
    purls = {each["purl"] for each in told["components"]}
    pinned = dict(
        line.split()[:2]
        for line in (tools.folder / "go.mod").read_text().splitlines()
        if line.startswith("\t") and len(line.split()) > 1
    )
    btcd = "github.com/btcsuite/btcd"
    assert f"pkg:golang/{btcd}@{pinned[btcd]}" in purls
    assert len(purls) > 100


@pytest.mark.real
@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_platform_is_small_runs_and_is_the_same_when_built_again(
    tmp_path: Path,
) -> None:
    names = ("platform", "envoy")
    one = build(tmp_path / "one", *names)
    digests = {name: digest(one[f"{name}.tar"]) for name in names}
    assert one["platform.tar"].stat().st_size < 250_000_000
    assert one["envoy.tar"].stat().st_size < 150_000_000
    if os.geteuid() == 0:
        for name, words in (
            ("platform", ("/usr/local/bin/leyden", "--version")),
            ("envoy", ("/usr/bin/envoy", "--version")),
        ):
            assert "1." in within(tmp_path / f"{name}-root", one[name], *words)
    other = build(tmp_path / "other", *names)
    assert {name: digest(other[f"{name}.tar"]) for name in names} == digests


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def within(root: Path, context: Path, *words: str) -> str:
    """Run a program in what an image unpacks to, as its user."""
    recipe = dockerfiles.parse((context / "Dockerfile").read_text())
    root.mkdir()
    root.chmod(0o755)  # despite the umask, which `leyden test` sets
    for each in recipe.layers:
        with tarfile.open(context / each) as archive:
            archive.extractall(root, filter="fully_trusted")  # noqa: S202  ours
    command = ["chroot", "--userspec=1000:1000", str(root), *words]
    paths = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = subprocess.run(
        command, env=paths, capture_output=True, text=True, check=True
    )
    return done.stdout
