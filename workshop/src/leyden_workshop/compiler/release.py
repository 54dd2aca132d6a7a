"""The files of a release: made from a commit, and equal each time they are made."""

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata

from leyden import __version__
from leyden.base.daemons.catalogue import SETS
from leyden.errors import SetupError

SUMS: Final = "SHA256SUMS"
_NAMESPACE: Final = "file"  # of the signature, as ssh-keygen's manual has it
_OURS: Final = "localhost/leyden"
# The images in which others are copied come last.
_IMAGES: Final = ("platform", "envoy", "companion", "lnd", "machine")


def commit_time(root: Path, *, dry: bool) -> int:
    """Return when the commit was made; raise SetupError for one not to be released."""
    if not dry:
        if _git(root, "status", "--porcelain"):
            raise SetupError("there are uncommitted changes; commit them, or use --dry")
        tag = f"v{__version__}"
        if ".dev" not in tag and tag not in _git(root, "tag", "--points-at").split():
            raise SetupError(f"this commit is not tagged: git tag {tag}")
    return int(_git(root, "log", "-1", "--format=%ct"))


def python_packages(root: Path, into: Path, *, at: int) -> list[Path]:
    """Build the wheel and the source of the service, and the wheel of the workshop."""
    into.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(at)}
    build = (sys.executable, "-m", "hatchling", "build", "-d", into, "-t", "wheel")
    _run([*build, "-t", "sdist"], root, environment)
    _run(build, root / "workshop", environment)
    made = [
        into / f"leyden-{__version__}-py3-none-any.whl",
        into / f"leyden-{__version__}.tar.gz",
        into / f"leyden_workshop-{__version__}-py3-none-any.whl",
    ]
    for path in made:
        _check(path)
    return made


def chart(root: Path, into: Path, *, at: int) -> Path:
    """Pack the chart, as `helm package` does, with this version."""
    version = re.sub(r"\.dev(\d+)$", r"-dev.\1", __version__)  # as SemVer writes it
    path = into / f"leyden-{version}.tgz"
    folder = "deploy/chart"
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=at) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name in sorted(_git(root, "ls-files", folder).splitlines()):
            content = (root / name).read_bytes()
            if name == f"{folder}/Chart.yaml":
                given = rf"\1: {version}".encode()
                content = re.sub(rb"(?m)^(version|appVersion): .*$", given, content)
            member = tarfile.TarInfo(f"leyden{name.removeprefix(folder)}")
            member.size, member.mtime = len(content), at
            archive.addfile(member, io.BytesIO(content))
    return path


def images(
    root: Path, into: Path, options: Sequence[str] = (), *, at: int
) -> list[Path]:
    """Build the images with buildah, as the guide to clusters does; give archives."""
    lnds = [
        program.version
        for tools in SETS
        for program in tools.programs
        if program.name == "lnd"
    ]
    made = []
    for image in _IMAGES:
        file = f"--file=deploy/images/{image}/Dockerfile"
        for version in lnds if image == "lnd" else [""]:
            number = version.removesuffix("-beta")
            name = f"{_OURS}/{image}:{f'v{version}' if version else '1'}"
            of = [f"--build-arg=VERSION={number}"] if version else []
            timestamp = f"--timestamp={at}"
            _run(
                ["buildah", "build", timestamp, *of, *options, "-t", name, file, "."],
                root,
            )
            path = into / f"leyden-image-{image}{number and f'-{number}'}.tar"
            path.unlink(missing_ok=True)
            _run(["buildah", "push", name, f"oci-archive:{path}:{name}"], root)
            made.append(path)
    return made


def sums(into: Path, files: Iterable[Path]) -> Path:
    """Write the hash of each file, as `sha256sum --check` reads them."""
    path = into / SUMS
    lines = (
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n"
        for each in sorted(files)
    )
    path.write_text("".join(lines))
    return path


def sign(file: Path, key: Path) -> Path:
    """Sign a file with an SSH key, which may be one of an agent or of a device."""
    signature = file.with_name(f"{file.name}.sig")
    signature.unlink(missing_ok=True)
    _run(["ssh-keygen", "-q", "-Y", "sign", "-n", _NAMESPACE, "-f", key, file], None)
    return signature


def _check(path: Path) -> None:
    """Raise SetupError for a package whose metadata, or content, is wrong."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            [found] = [name for name in names if name.endswith(".dist-info/METADATA")]
            content = wheel.read(found)
    else:
        with tarfile.open(path) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
            held = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
            content = held.read() if held else b""
    try:
        described = Metadata.from_email(content)
    except ExceptionGroup as errors:
        raise SetupError(f"{path.name}: {errors.exceptions[0]}") from None
    if str(described.version) != __version__:
        raise SetupError(f"{path.name}: its version is not {__version__}")
    others = [name for name in names if name.startswith(("tests/", "workshop/"))]
    if others:
        raise SetupError(f"{path.name}: {others[0]} is no part of it")


def _git(root: Path, *words: str) -> str:
    return _run(["git", *words], root)


def _run(
    command: Sequence[str | Path],
    folder: Path | None,
    environment: dict[str, str] | None = None,
) -> str:
    """Run a command; return its output, or raise SetupError with its last line."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise SetupError(f"{command[0]} is not installed") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise SetupError(f"{command[0]}: {said}")
    return done.stdout
