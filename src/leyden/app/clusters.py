"""Wiring nodes of a Kubernetes cluster: its settings, and the way to it."""

import asyncio
import importlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final, Protocol
from urllib.parse import urlsplit

from leyden.api.companions import Tokens
from leyden.app.dispatcher import words
from leyden.app.identity import Here
from leyden.app.ownership import has_nodes
from leyden.certificates.authority import Authority
from leyden.domain.nodes import Network, Type
from leyden.domain.versions import OFFERED, Catalogue, Version, parse_version
from leyden.errors import Malformed, SetupError
from leyden.runtimes.base import Homes, Reports, Runtime
from leyden.runtimes.layout import Ground
from leyden.runtimes.sides import Side
from leyden.settings import Settings

_BY_DIGEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:_-]*@sha256:[0-9a-f]{64}")


class Cluster(Protocol):
    """A cluster that was joined, and the namespace of nodes in it."""

    here: Here
    tokens: Tokens

    def runtime(
        self,
        given: Settings,
        grounds: Mapping[Network, Ground],
        authority: Authority,
        reported: Reports,
    ) -> tuple[Runtime, Homes, Side]:
        """Return what runs nodes there, what reads what they leave, what moves them.

        `reported` has what nodes' companions have reported.
        """
        ...

    async def mark(self, installation_id: str) -> None:
        """Mark the namespace as this installation's; SetupError for another one's."""
        ...


@asynccontextmanager
async def joined(given: Settings) -> AsyncIterator[Cluster | None]:
    """Yield the cluster that the settings name, checked; None where nodes are here."""
    if given.runtime == "local" or not has_nodes(given):
        yield None
        return
    check(given)
    # In a thread, and only here: who runs nodes on this machine needs nothing of it.
    module = await asyncio.to_thread(importlib.import_module, "leyden.app.pods")
    async with module.joined(given) as cluster:
        yield cluster


def disks(given: Settings) -> Mapping[Type, int]:
    """Return the sizes of volumes in GiB."""
    return {
        Type.STANDARD: given.standard_disk_gib,
        Type.PROFESSIONAL: given.professional_disk_gib,
    }


def check(given: Settings) -> None:
    """Raise SetupError for settings that nodes in a cluster cannot have."""
    for name in ("kubernetes_namespace", "kubernetes_storage_class"):
        if not getattr(given, name):
            raise SetupError(f"{name}: must be set, since runtime is {given.runtime}")
    if not given.companion_image and (why := _companion_needed_because(given)):
        raise SetupError(f"companion_image: must be set, since {why}")
    check_companion(given)
    if OFFERED.default not in images(given):
        raise SetupError(
            f"kubernetes_images: must name an image of {OFFERED.default}, which nodes "
            "are started with by default: "
            f"{OFFERED.default}=REPOSITORY@sha256:DIGEST"
        )


def _companion_needed_because(given: Settings) -> str:
    """Return why nodes cannot do without their companion; "" if they can."""
    if given.runtime == "both":
        return "runtime is both: its program copies nodes into the cluster"
    if given.mainnet_backend:
        return (
            "mainnet_backend is: without a companion, no channel backup leaves a "
            "node's volume, and plain macaroons stay on it"
        )
    return ""


def check_companion(given: Settings) -> None:
    """Raise SetupError for a companion that cannot report."""
    if not given.companion_image:
        return
    if not _BY_DIGEST.fullmatch(given.companion_image):
        raise SetupError(
            f'companion_image: "{given.companion_image}" must name an image by its '
            "digest: REPOSITORY@sha256:64 hexadecimal digits"
        )
    url = urlsplit(given.companion_url)
    if url.scheme != "https" or not url.hostname or url.path not in {"", "/"}:
        raise SetupError(
            "companion_url: must be https://HOST:PORT where nodes' pods reach this "
            "platform, since companion_image is set"
        )


def offered(given: Settings) -> Catalogue:
    """Return the versions that nodes can be started with: in a cluster, with images."""
    if given.runtime == "local":
        return OFFERED
    found = images(given)
    releases = tuple(each for each in OFFERED.releases if each.version in found)
    return Catalogue(releases=releases, default=OFFERED.default)


def images(given: Settings) -> Mapping[Version, str]:
    """Return the image of each version, named by what it holds."""
    return dict(_each_image(given.kubernetes_images))


def _each_image(text: str) -> Iterator[tuple[Version, str]]:
    for each in words(text):
        version, _, image = each.partition("=")
        try:
            parsed = parse_version(version, field="kubernetes_images")
        except Malformed as error:
            raise SetupError(error.message) from None
        if not _BY_DIGEST.fullmatch(image):
            raise SetupError(
                f'kubernetes_images: {version}: "{image}" must name an image by its '
                "digest: REPOSITORY@sha256:64 hexadecimal digits"
            )
        yield parsed, image
