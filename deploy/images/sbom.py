"""The SBOM of an image, as CycloneDX 1.6: name, version and URL of each package.

It is made of what is there: of the packages that were extracted, of the metadata of the
Python packages in the layer, of what each Go program says of itself.
"""

import email
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from deploy.images import buildinfo
from deploy.images.tars import Entry

from leyden.values import Struct

# Names of documents that follow from what is in them.
_NAMESPACE: Final = uuid.UUID("5b8c1c0e-6d1c-4a0e-9a53-0d1f3f6a7c11")


class Part(Struct, frozen=True, order=True):
    """One package in an image."""

    url: str  # purl: pkg:deb/debian/libc6@2.36-9
    name: str
    version: str


def debian(versions: Mapping[str, str], *, architecture: str) -> Iterator[Part]:
    """Return the packages of a listing."""
    for name, version in versions.items():
        escaped = quote(version, safe="")
        url = f"pkg:deb/debian/{quote(name)}@{escaped}?arch={architecture}"
        yield Part(f"{url}&distro=debian-12", name, version)


def python(entries: Mapping[str, Entry]) -> Iterator[Part]:
    """Return the Python packages in a layer, by their metadata."""
    for name, entry in entries.items():
        if name.endswith(".dist-info/METADATA") and entry.content is not None:
            told = email.message_from_bytes(entry.content)
            package, version = str(told["Name"]).lower(), str(told["Version"])
            yield Part(f"pkg:pypi/{package}@{quote(version)}", package, version)


def go(program: bytes) -> Iterator[Part]:
    """Return the modules of a Go program."""
    for path, version in buildinfo.modules(program):
        url = f"pkg:golang/{path}"
        yield Part(f"{url}@{quote(version)}" if version else url, path, version)


def document(image: str, parts: Iterable[Part]) -> bytes:
    """Return the document; equal parts make equal bytes."""
    components = [
        {
            "type": "library",
            "bom-ref": each.url,
            "name": each.name,
            "version": each.version,
            "purl": each.url,
        }
        for each in sorted(set(parts))
    ]
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": image}},
        "components": components,
    }
    known_as = uuid.uuid5(_NAMESPACE, json.dumps(content))
    content["serialNumber"] = f"urn:uuid:{known_as}"
    return json.dumps(content, indent=1).encode() + b"\n"
