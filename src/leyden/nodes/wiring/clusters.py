"""Wiring of nodes in a Kubernetes cluster, from its settings."""

import asyncio
import importlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from leyden.base.settings import Settings, words
from leyden.errors import Malformed, SetupError
from leyden.nodes.api.companions import TokenReviewer
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.rules.nodes import Network, NodeType
from leyden.nodes.rules.versions import OFFERED, Catalogue, Version, parse_version
from leyden.nodes.runtimes.base import NodeFiles, Reports, Runtime
from leyden.nodes.runtimes.local.layout import Ground
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.nodes.wiring.identity import Here
from leyden.nodes.wiring.ownership import has_nodes

_KEY: Final = r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?"
_LABEL: Final = re.compile(f"({_KEY})=({_VALUE})")
_TAINT: Final = re.compile(
    f"({_KEY})(?:=({_VALUE}))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?"
)
_BY_DIGEST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9./:_-]*@sha256:[0-9a-f]{64}")


class JoinedCluster(Protocol):
    """A cluster that was joined, and the namespace of nodes in it."""

    here: Here
    tokens: TokenReviewer

    def runtime(
        self,
        settings: Settings,
        grounds: Mapping[Network, Ground],
        authority: Authority,
        reported: Reports,
    ) -> tuple[Runtime, NodeFiles, MoveEndpoint]:
        """Return the runtime, the homes and the side of nodes there.

        `reported` has what nodes' companions have reported.
        """
        ...

    async def mark(self, installation_id: str) -> None:
        """Mark the namespace as this installation's; raise SetupError for another's."""
        ...


@asynccontextmanager
async def joined(
    settings: Settings, *, serves_only: bool = False
) -> AsyncIterator[JoinedCluster | None]:
    """Yield the configured cluster, checked; None if there is none.

    A process that only serves the API needs few rights there.
    """
    if not settings.runs_in_cluster or not has_nodes(settings):
        yield None
        return
    check(settings)
    # In a thread, and only here: who runs nodes on this machine needs nothing of it.
    module = await asyncio.to_thread(
        importlib.import_module, "leyden.nodes.wiring.pods"
    )
    async with module.joined(settings, serves_only=serves_only) as cluster:
        yield cluster


def disks(settings: Settings) -> Mapping[NodeType, int]:
    """Return the sizes of volumes in GiB."""
    return {
        NodeType.STANDARD: settings.standard_disk_gib,
        NodeType.PROFESSIONAL: settings.professional_disk_gib,
    }


def check(settings: Settings) -> None:
    """Raise SetupError for settings that nodes in a cluster cannot have."""
    for name in ("kubernetes_namespace", "kubernetes_storage_class"):
        if not getattr(settings, name):
            raise SetupError(
                f"{name}: must be set, since runtime is {settings.runtime}"
            )
    if not settings.companion_image and (why := _companion_needed_because(settings)):
        raise SetupError(f"companion_image: must be set, since {why}")
    check_companion(settings)
    scheduling(settings)
    if OFFERED.default not in images(settings):
        raise SetupError(
            f"kubernetes_images: must name an image of {OFFERED.default}, which nodes "
            "are started with by default: "
            f"{OFFERED.default}=REPOSITORY@sha256:DIGEST"
        )


def _companion_needed_because(settings: Settings) -> str:
    """Return why nodes need a companion; "" if they don't."""
    if settings.runs_here:
        return "runtime is both: its program copies nodes into the cluster"
    if settings.mainnet_backend:
        return (
            "mainnet_backend is: without a companion, no channel backup leaves a "
            "node's volume, and plain macaroons stay on it"
        )
    return ""


def check_companion(settings: Settings) -> None:
    """Raise SetupError for a companion that cannot report."""
    if not settings.companion_image:
        return
    if not _BY_DIGEST.fullmatch(settings.companion_image):
        raise SetupError(
            f'companion_image: "{settings.companion_image}" must name an image by its '
            "digest: REPOSITORY@sha256:64 hexadecimal digits"
        )
    url = urlsplit(settings.companion_url)
    if url.scheme != "https" or not url.hostname or url.path not in {"", "/"}:
        raise SetupError(
            "companion_url: must be https://HOST:PORT where nodes' pods reach this "
            "platform, since companion_image is set"
        )


def scheduling(settings: Settings) -> dict[str, Any]:
    """Return the fields of a pod's spec that say on which machines nodes run."""
    selector: dict[str, str] = {}
    tolerations: list[dict[str, str]] = []
    for each in words(settings.kubernetes_node_selector):
        if (found := _LABEL.fullmatch(each)) is None:
            raise SetupError(
                f'kubernetes_node_selector: "{each}" is not a label: KEY=VALUE'
            )
        selector[found[1]] = found[2]
    for each in words(settings.kubernetes_tolerations):
        if (found := _TAINT.fullmatch(each)) is None:
            raise SetupError(
                f'kubernetes_tolerations: "{each}" is not a taint: KEY, KEY=VALUE, '
                "KEY:EFFECT or KEY=VALUE:EFFECT, with the effect NoSchedule, "
                "PreferNoSchedule or NoExecute"
            )
        key, value, effect = found.groups()
        matching = {"operator": "Exists"} if value is None else {"value": value}
        tolerations.append(
            {"key": key, **matching, **({"effect": effect} if effect else {})}
        )
    return {"nodeSelector": selector, "tolerations": tolerations}


def offered(settings: Settings) -> Catalogue:
    """Return the versions that nodes can be started with, which have images."""
    if not settings.runs_in_cluster:
        return OFFERED
    found = images(settings)
    releases = tuple(each for each in OFFERED.releases if each.version in found)
    return Catalogue(releases=releases, default=OFFERED.default)


def images(settings: Settings) -> Mapping[Version, str]:
    """Return the image of each version, by digest."""
    return dict(_each_image(settings.kubernetes_images))


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
