"""The images of a cluster's pods: their Dockerfiles, with programs from the cache.

buildah takes the program instead of the stage that would compile it, so it needs no
registry. Equal programs make images of one digest, which names them:
`localhost/leyden/lnd@sha256:...`.
"""

import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from leyden.errors import SetupError
from leyden.values import Struct
from leyden_workshop.devcluster.packages import Packages

# Not a real registry; containerd keeps names with this prefix unchanged.
_REGISTRY: Final = "localhost/leyden"
PAUSE: Final = f"{_REGISTRY}/pause:1"
COMPANION: Final = f"{_REGISTRY}/companion:1"
# A link to deploy/images.
_DOCKERFILES: Final = Path(__file__).with_name("dockerfiles")
_REFERENCE: Final = "org.opencontainers.image.ref.name"


class Image(Struct, frozen=True):
    """An image, and its archive in the cache."""

    name: str
    archive: Path

    @property
    def digest(self) -> str:
        """The part of the archive's name that identifies its content."""
        return self.archive.stem

    @property
    def repository(self) -> str:
        """The name without its tag."""
        return self.name.rpartition(":")[0]


def lnd(version: str) -> str:
    """Return the name of the image of a version of lnd."""
    return f"{_REGISTRY}/lnd:v{version}"


def ensure(cache: Path, name: str, program: Path, packages: Packages) -> Image:
    """Return the image of a program FOLDER/bin/NAME, built once."""
    dockerfile = _DOCKERFILES / program.name / "Dockerfile"
    # A program from other sources is in another folder of the cache.
    made_of = f"{name} {program} {program.stat().st_size} {dockerfile.read_text()}"
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:12]
    archive = cache / "images" / f"{program.name}-{digest}.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            made = Path(folder, archive.name)
            _build(Path(folder), made, name, dockerfile, program, packages)
            made.replace(archive)
    return Image(name, archive)


def by_digest(archive: Path) -> str:
    """Return the name of an OCI archive's image with its digest; "" for others."""
    with tarfile.open(archive) as archive_:
        if "index.json" not in archive_.getnames():
            return ""
        content = archive_.extractfile("index.json")
        manifest = json.load(content)["manifests"][0] if content else {}
    name = manifest.get("annotations", {}).get(_REFERENCE, "")
    repository = name.rpartition(":")[0]
    return f"{repository}@{manifest['digest']}" if repository else ""


def _build(
    folder: Path,
    archive: Path,
    name: str,
    dockerfile: Path,
    program: Path,
    packages: Packages,
) -> None:
    done = subprocess.run(
        [
            *(packages.root / "usr/bin/buildah", "--storage-driver=vfs"),
            *(f"--root={folder}/root", f"--runroot={folder}/run", "build"),
            *("--isolation=chroot", "--timestamp=0"),
            f"--signature-policy={packages.root}/etc/containers/policy.json",
            f"--build-context=build={program.parent.parent}",
            *(f"--tag=oci-archive:{archive}:{name}", f"--file={dockerfile}"),
            dockerfile.parent,
        ],
        env=packages.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetupError(f"buildah: {name}: {done.stderr.strip()}")
