"""Build the images of deploy/images with Debian's buildah, and without a registry.

Packages of Debian stand in for the base images of Python and Debian.

    with bench() as at:
        name = at.build("platform")
        at.run(name, "leyden", "--version")
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.programs import require

ROOT = Path(__file__).parents[1]
BASE = "localhost/base:1"
# Registries of packages may be behind a proxy with an authority of its own.
AUTHORITIES = "/etc/ssl/certs:/etc/ssl/certs:ro"
STEP_S = 400  # on a busy machine


@dataclass(frozen=True)
class Bench:
    """A folder that has images."""

    folder: Path

    def build(self, image: str, *options: str, tag: str = "1") -> str:
        """Build what docs/operators/cluster.md says; return the name of the image."""
        name = f"localhost/leyden/{image}:{tag}"
        self.buildah(
            *("build", "--isolation=chroot", f"--volume={AUTHORITIES}"),
            *(f"--build-arg=PYTHON={BASE}", f"--build-arg=DEBIAN={BASE}", *options),
            *(f"--tag={name}", f"--file={ROOT}/deploy/images/{image}/Dockerfile", ROOT),
        )
        return name

    def archive(self, name: str) -> Path:
        """Write an image into an archive."""
        path = self.folder / f"{name.rpartition('/')[2].replace(':', '-')}.tar"
        to = f"oci-archive:{path}:{name}"
        self.buildah("push", "--disable-compression", name, to)
        return path

    def run(self, name: str, *words: str) -> str:
        """Run a program in an image, as its user."""
        container = self.buildah("from", name).strip()
        return self.buildah("run", "--isolation=chroot", container, "--", *words)

    def buildah(self, *words: object) -> str:
        """Run buildah, with its storage in our folder."""
        storage = ("--storage-driver=vfs", f"--root={self.folder}/storage")
        return _run(
            require("buildah"), *storage, f"--runroot={self.folder}/run", *words
        )


@contextmanager
def bench() -> Iterator[Bench]:
    """Return a folder with the base image."""
    if os.geteuid():
        pytest.skip("only root can build images")
    debian = require("mmdebstrap")
    with tempfile.TemporaryDirectory(prefix="images-") as folder:
        made = Bench(Path(folder))
        packages = "--include=python3,python3-venv,ca-certificates"
        how = ("--variant=minbase", "--dpkgopt=force-unsafe-io", packages)
        _run(debian, *how, "bookworm", f"{folder}/base.tar")
        (made.folder / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        made.buildah("build", f"--tag={BASE}", folder)
        (made.folder / "base.tar").unlink()
        yield made


def _run(*words: object) -> str:
    done = subprocess.run(
        [*map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=STEP_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
