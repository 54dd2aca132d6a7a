"""What `leyden release` makes: equal each time, whole, and signed."""

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import leyden
from leyden.errors import SetupError
from leyden_workshop.compiler import release
from tests.programs import needs

ROOT = Path(__file__).parents[2]
LEYDEN = Path(sys.executable).with_name("leyden")


def made(into: Path) -> dict[str, Path]:
    command = (LEYDEN, "release", "--dry", "--output", into)
    subprocess.run(command, cwd=into.parent, check=True, capture_output=True)
    return {each.name: each for each in into.iterdir()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return made(tmp_path_factory.mktemp("release") / "dist")


def named(files: dict[str, Path], ending: str) -> Path:
    [found] = [each for name, each in files.items() if name.endswith(ending)]
    return found


def test_a_release_is_the_same_each_time(
    files: dict[str, Path], tmp_path: Path
) -> None:
    again = made(tmp_path / "dist")
    assert {name: each.read_bytes() for name, each in again.items()} == {
        name: each.read_bytes() for name, each in files.items()
    }


def test_each_file_has_its_sum(files: dict[str, Path]) -> None:
    lines = files[release.SUMS].read_text().splitlines()
    assert {line.partition("  ")[2] for line in lines} == {*files} - {release.SUMS}
    for line in lines:
        expected, _, name = line.partition("  ")
        assert hashlib.sha256(files[name].read_bytes()).hexdigest() == expected


def test_the_source_makes_the_wheel(files: dict[str, Path], tmp_path: Path) -> None:
    at = str(release.commit_time(ROOT, dry=True))
    with tarfile.open(named(files, ".tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    kept = {"src", "CHANGELOG.md", "LICENSE", "NOTICE", "PACKAGE.md", "pyproject.toml"}
    made = {"PKG-INFO", ".gitignore"}
    assert {each.name for each in folder.iterdir()} <= kept | made
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    environment = {"SOURCE_DATE_EPOCH": at}
    subprocess.run(command, cwd=folder, env=environment, check=True)
    [wheel] = (folder / "dist").iterdir()
    assert wheel.read_bytes() == files[wheel.name].read_bytes()


def test_the_description_has_no_links_that_lead_nowhere(files: dict[str, Path]) -> None:
    for wheel in [path for name, path in files.items() if name.endswith(".whl")]:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [
                each for each in archive.namelist() if each.endswith("-info/METADATA")
            ]
            text = archive.read(name).decode()
        assert re.findall(r"\]\((?!https://)[^)]*\)", text) == [], wheel.name


def test_the_chart_has_the_version_as_helm_wants_it(files: dict[str, Path]) -> None:
    version = leyden.__version__.replace(".dev", "-dev.")
    with tarfile.open(files[f"leyden-{version}.tgz"]) as archive:
        held = archive.extractfile("leyden/Chart.yaml")
        assert held is not None
        lines = held.read().decode().splitlines()
        assert {f"version: {version}", f"appVersion: {version}"} <= {*lines}
        assert "leyden/values.yaml" in archive.getnames()


@needs("ssh-keygen")
def test_the_sums_are_signed(files: dict[str, Path], tmp_path: Path) -> None:
    sums = tmp_path / release.SUMS
    sums.write_bytes(files[release.SUMS].read_bytes())
    key = tmp_path / "key"
    make = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    subprocess.run(make, check=True)
    (tmp_path / "signers").write_text(f"leyden {(tmp_path / 'key.pub').read_text()}")
    for _ in range(2):  # a signature that is there is replaced
        signature = release.sign(sums, key)
    verify = ("-f", tmp_path / "signers", "-I", "leyden", "-n", "file")
    command = ("ssh-keygen", "-Y", "verify", *verify, "-s", signature)
    subprocess.run(command, input=sums.read_bytes(), check=True)
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(command, input=b"another", check=True)


def test_every_image_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is a stand-in: building takes registries, and many minutes."""
    stand_in = tmp_path / "buildah"
    stand_in.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/typed\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    archives = release.images(ROOT, tmp_path, ["--build-arg=PYTHON=base"], at=7)
    typed = (tmp_path / "typed").read_text().splitlines()
    built, pushed = typed[::2], typed[1::2]
    for line, path in zip(pushed, archives, strict=True):
        assert f" oci-archive:{path}:localhost/leyden/" in line
    for file in (ROOT / "deploy/images").glob("*/Dockerfile"):
        named = f"--file={file.relative_to(ROOT)}"
        count = {"lnd": 3, "pause": 0}.get(file.parent.name, 1)
        assert sum(named in each for each in built) == count
    lnd = "--build-arg=VERSION=0.21.2 --build-arg=PYTHON=base -t localhost/leyden/lnd"
    assert sum(f"{lnd}:v0.21.2-beta " in each for each in built) == 1


def test_what_is_not_committed_and_tagged_is_not_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True)

    git("init", "--quiet")
    (tmp_path / "one").touch()
    git("add", "one")
    git("commit", "--quiet", "--message", "one")
    monkeypatch.setattr(release, "__version__", "0.2.0")
    with pytest.raises(SetupError, match=r"not tagged: git tag v0\.2\.0"):
        release.commit_time(tmp_path, dry=False)
    git("tag", "v0.2.0")
    assert release.commit_time(tmp_path, dry=False)
    (tmp_path / "two").touch()
    with pytest.raises(SetupError, match="uncommitted changes"):
        release.commit_time(tmp_path, dry=False)
    assert release.commit_time(tmp_path, dry=True)
