"""Build the images of pods from one static program each, without Docker.

An image is an archive for `ctr images import` and `docker load`: a layer, a
configuration and a manifest, in the OCI format and, for Docker, in its own. Builds are
reproducible: an image has the same digest on each machine, and can be named by it:
`localhost/leyden/lnd@sha256:...`.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from leyden.files import draft
from leyden.values import Struct

# Not a real registry; containerd keeps names with this prefix unchanged.
_REGISTRY: Final = "localhost/leyden"
PAUSE: Final = f"{_REGISTRY}/pause:1"
COMPANION: Final = f"{_REGISTRY}/companion:1"
_MADE: Final = "1970-01-01T00:00:00Z"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
USER: Final = 1000
# Increase this when the way images are built changes.
_RECIPE: Final = "2"
_OCI: Final = "application/vnd.oci.image"
_BLOBS: Final = "blobs/sha256"


class Image(Struct, frozen=True):
    """An image, and its archive in the cache."""

    name: str
    archive: Path

    @property
    def digest(self) -> str:
        """The part of the archive's name that identifies its content."""
        return self.archive.stem


def lnd(version: str) -> str:
    """Return the name of the image of a version of lnd."""
    return f"{_REGISTRY}/lnd:v{version}"


def ensure_lnd(cache: Path, binary: Path, version: str, *, machine: str) -> Image:
    """Return the image of an lnd, built once; it runs as user 1000 in /home/lnd."""
    return _ensure(
        cache,
        lnd(version),
        binary,
        machine=machine,
        home="home/lnd",
        config={"User": f"{USER}:{USER}", "WorkingDir": "/home/lnd"},
    )


def ensure_pause(cache: Path, binary: Path, *, machine: str) -> Image:
    """Return the image of each pod's first process (pause)."""
    return _ensure(
        cache, PAUSE, binary, machine=machine, config={"User": "65535:65535"}
    )


def ensure_companion(cache: Path, binary: Path, *, machine: str) -> Image:
    """Return the image of the companion, which runs as the same user as lnd."""
    return _ensure(
        cache, COMPANION, binary, machine=machine, config={"User": f"{USER}:{USER}"}
    )


def _ensure(
    cache: Path,
    name: str,
    binary: Path,
    *,
    machine: str,
    config: Mapping[str, str],
    home: str = "",
) -> Image:
    # A program from other sources is in another folder of the cache.
    built = f"{_RECIPE} {binary} {binary.stat().st_size}"
    digest = hashlib.sha256(built.encode()).hexdigest()[:12]
    archive = cache / "images" / f"{binary.name}-{digest}.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        entry = f"/bin/{binary.name}"
        whole = {
            **config,
            "Entrypoint": [entry],
            "Env": [f"HOME=/{home}", "PATH=/bin"],
        }
        layer = _layer(binary, entry.lstrip("/"), home=home)
        with draft(archive, mode=0o644) as file:
            file.write(pack(name, [layer], whole, machine=machine))
    return Image(name, archive)


def pack(
    name: str, layers: Sequence[bytes], config: Mapping[str, Any], *, machine: str
) -> bytes:
    """Return the archive of an image; equal layers are stored once."""
    digests = [hashlib.sha256(layer).hexdigest() for layer in layers]
    configuration = _json(
        {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "created": _MADE,
            "config": config,
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{each}" for each in digests],
            },
            "history": [{"created": _MADE} for _ in layers],
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _descriptor("config.v1+json", configuration),
            "layers": [_descriptor("layer.v1.tar", layer) for layer in layers],
        }
    )
    found = _descriptor("manifest.v1+json", manifest)
    repository = name.rpartition(":")[0]
    names = (name, f"{repository}@{found['digest']}")
    index = {
        "schemaVersion": 2,
        "manifests": [
            {**found, "annotations": {"io.containerd.image.name": each}}
            for each in names
        ],
    }
    docker = [
        {
            "Config": _blob(configuration),
            "RepoTags": [name],
            "Layers": [_blob(layer) for layer in layers],
        }
    ]
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}), mode=0o644)
        for each in dict.fromkeys((manifest, configuration, *layers)):
            _add(archive, _blob(each), each, mode=0o644)
        _add(archive, "index.json", _json(index), mode=0o644)
        _add(archive, "manifest.json", _json(docker), mode=0o644)
    return whole.getvalue()


def by_digest(archive: Path) -> str:
    """Return the name of an archive's image, with its digest."""
    with tarfile.open(archive) as whole:
        content = whole.extractfile("index.json")
        index = json.loads(content.read()) if content else {"manifests": []}
    names = (each["annotations"].values() for each in index["manifests"])
    return next(str(each) for some in names for each in some if "@sha256:" in each)


def _descriptor(kind: str, content: bytes) -> dict[str, Any]:
    return {
        "mediaType": f"{_OCI}.{kind}",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "size": len(content),
    }


def _blob(content: bytes) -> str:
    return f"{_BLOBS}/{hashlib.sha256(content).hexdigest()}"


def _layer(binary: Path, place: str, *, home: str) -> bytes:
    folders: Sequence[str] = ("bin", "etc", "tmp", *_folders_to(home))
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for each in folders:
            folder = tarfile.TarInfo(each)
            folder.type = tarfile.DIRTYPE
            folder.mode = 0o1777 if each == "tmp" else 0o755
            if home and each == home:
                folder.uid = folder.gid = USER
            archive.addfile(folder)
        if home:
            known = f"root:x:0:0::/:\nlnd:x:{USER}:{USER}::/{home}:\n"
            _add(archive, "etc/passwd", known.encode(), mode=0o644)
        _add(archive, place, binary.read_bytes(), mode=0o755)
    return whole.getvalue()


def _folders_to(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def _add(archive: tarfile.TarFile, name: str, content: bytes, *, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = mode
    archive.addfile(entry, io.BytesIO(content))


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
