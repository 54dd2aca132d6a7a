"""Images of pods are made of programs that are built, and have one digest each."""

import asyncio
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leyden.base.daemons.build import default_cache
from leyden.base.daemons.progress import quiet
from leyden.errors import SetupError
from leyden_workshop.devcluster import images, packages
from leyden_workshop.devcluster.images import Image
from leyden_workshop.devcluster.packages import Packages
from tests.programs import only_with_all

pytestmark = pytest.mark.timeout(600)  # the first one downloads the packages


@pytest.fixture(scope="module")
def buildah() -> Packages:
    """The packages of a cluster, as its first start extracts them."""
    only_with_all("buildah")
    if os.geteuid():
        pytest.skip("only root can build images")
    cache = default_cache(os.environ)
    try:
        return asyncio.run(
            packages.ensure(cache, environment=os.environ, progress=quiet)
        )
    except SetupError as error:
        pytest.skip(error.message)


def built(folder: Path, content: bytes = b"a program") -> Path:
    """Return a program with this content."""
    program = folder / "built/bin/companion"
    program.parent.mkdir(parents=True)
    program.write_bytes(content)
    program.chmod(0o755)
    return program


def blob(archive: Path, digest: str) -> Any:
    with tarfile.open(archive) as unified:
        content = unified.extractfile(f"blobs/{digest.replace(':', '/')}")
        assert content is not None
        return msgspec.json.decode(content.read())


def config(image: Image) -> Mapping[str, Any]:
    manifest = blob(image.archive, images.by_digest(image.archive).partition("@")[2])
    found: Mapping[str, Any] = blob(image.archive, manifest["config"]["digest"])
    return found


def test_equal_programs_make_images_of_one_digest(
    tmp_path: Path, buildah: Packages
) -> None:
    one, same, other = (
        images.ensure(folder, images.COMPANION, built(folder, content), buildah)
        for folder, content in (
            (tmp_path / "one", b"a program"),
            (tmp_path / "same", b"a program"),
            (tmp_path / "other", b"another"),
        )
    )
    digest = images.by_digest(one.archive)
    assert digest.startswith("localhost/leyden/companion@sha256:")
    assert images.by_digest(same.archive) == digest
    assert images.by_digest(other.archive) != digest
    assert config(one)["config"]["Entrypoint"] == ["/bin/companion"]
    assert config(one)["config"]["User"] == "1000:1000"


def test_an_image_that_there_is_is_not_built_again(
    tmp_path: Path, buildah: Packages
) -> None:
    program = built(tmp_path)
    image = images.ensure(tmp_path, images.COMPANION, program, buildah)
    image.archive.write_bytes(b"kept")
    assert images.ensure(tmp_path, images.COMPANION, program, buildah) == image
    assert image.archive.read_bytes() == b"kept"


def test_a_build_that_failed_says_why_and_leaves_nothing(
    tmp_path: Path, buildah: Packages
) -> None:
    with pytest.raises(SetupError, match="buildah: No valid name: "):
        images.ensure(tmp_path, "No valid name", built(tmp_path), buildah)
    assert not list((tmp_path / "images").iterdir())


def test_other_archives_have_no_digest_that_we_know(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "old.tar", "w") as archive:
        archive.add(built(tmp_path), "manifest.json")
    assert images.by_digest(tmp_path / "old.tar") == ""
