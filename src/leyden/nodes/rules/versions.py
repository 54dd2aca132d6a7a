"""The lnd versions on offer, and when an update is announced.

The list is short on purpose: each version was tested (built, started, and
updated to). Other versions are rejected; those known to lose money with a
message that says so.
"""

import re
from collections.abc import Sequence
from typing import Self

from leyden.errors import Malformed, NotAllowed
from leyden.values import Struct

_VERSION = re.compile(r"v(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})-beta")


class Version(Struct, frozen=True, order=True):
    """A version of lnd; later versions compare greater."""

    major: int
    minor: int
    patch: int

    @property
    def line(self) -> tuple[int, int]:
        """The minor version: 0.20 for 0.20.2."""
        return self.major, self.minor

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse a version that we wrote ourselves."""
        return cls(*_numbers(text, "version"))

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}-beta"


class Release(Struct, frozen=True, kw_only=True):
    """A version on offer, and what clients lose by updating to it."""

    version: Version
    drops: tuple[str, ...] = ()  # what older versions have and this one lacks
    says: str = ""


class Catalogue(Struct, frozen=True, kw_only=True):
    """The versions on offer, oldest first, and the default."""

    releases: tuple[Release, ...]
    default: Version

    def __post_init__(self) -> None:
        versions = self.versions
        if list(versions) != sorted(set(versions)):
            raise ValueError("a catalogue lists each version once, oldest first")
        if self.default not in versions:
            raise ValueError("the default version must be on offer")
        if any(version <= LAST_UNSAFE for version in versions):
            raise ValueError("an unsafe version must not be on offer")

    @property
    def versions(self) -> tuple[Version, ...]:
        """The available lnd versions, oldest first."""
        return tuple(release.version for release in self.releases)


# Up to this version a channel peer can steal funds by stalling a replacement
# transaction; the vulnerability is published.
LAST_UNSAFE = Version(0, 18, 5)

OFFERED = Catalogue(
    releases=(
        Release(
            version=Version(0, 20, 1),
            says="Previous.",
        ),
        Release(
            version=Version(0, 20, 2),
            says="Recommended.",
        ),
        Release(
            version=Version(0, 21, 2),
            drops=(
                "POST /v1/channels/transactions: pay through POST /v2/router/send",
                "POST /v1/channels/transactions/route: use POST /v2/router/route/send",
                "gRPC SendPayment, SendPaymentSync: use routerrpc.SendPaymentV2",
                "gRPC SendToRoute, SendToRouteSync: use routerrpc.SendToRouteV2",
                "the field outgoing_chan_id: use outgoing_chan_ids",
                "Tor onion services of version 2",
            ),
            says="Latest.",
        ),
    ),
    default=Version(0, 20, 2),
)


def parse_version(text: object, *, field: str = "version") -> Version:
    """Parse `v0.20.2-beta`; nothing that could be a path or option passes."""
    if not isinstance(text, str):
        raise Malformed(f"{field}: must be a string")
    return Version(*_numbers(text, field))


def choose(
    text: object = None, catalogue: Catalogue = OFFERED, *, field: str = "version"
) -> Version:
    """Return the version of a new node: the requested one or the default."""
    if text is None:
        return catalogue.default
    version = parse_version(text, field=field)
    if version <= LAST_UNSAFE:
        raise Malformed(
            f"{field}: lnd {LAST_UNSAFE} and older let a channel peer steal funds, so "
            f"we don't offer them; choose one of: {_listed(catalogue.versions)}"
        )
    if version not in catalogue.versions:
        offered = _listed(catalogue.versions)
        raise Malformed(f"{field}: is not available; choose one of: {offered}")
    return version


def newest_for(current: Version, catalogue: Catalogue = OFFERED) -> Version | None:
    """Return the version to update to; None if the node is up to date.

    Only the node's own minor version and the default one count: another one may
    drop calls that the owner uses, so it must be requested.
    """
    lines = {current.line, catalogue.default.line}
    newer = [v for v in catalogue.versions if v > current and v.line in lines]
    return max(newer, default=None)


def update_available(current: Version, catalogue: Catalogue = OFFERED) -> bool:
    """Return whether a newer version is recommended for a node."""
    return newest_for(current, catalogue) is not None


def choose_update(
    current: Version,
    text: object = None,
    catalogue: Catalogue = OFFERED,
    *,
    field: str = "version",
) -> Version:
    """Return the version to update to: newer, and the requested one if any.

    lnd migrates its databases upwards and cannot read newer ones.
    """
    wanted = (
        newest_for(current, catalogue)
        if text is None
        else choose(text, catalogue, field=field)
    )
    if wanted is None or wanted == current:
        raise NotAllowed("node is already up to date")
    if wanted < current:
        raise NotAllowed("version: lnd can't be downgraded")
    return wanted


def dropped(
    before: Version, after: Version, catalogue: Catalogue = OFFERED
) -> tuple[str, ...]:
    """List what clients lose between two versions, to confirm an update."""
    return tuple(
        lost
        for release in catalogue.releases
        if before < release.version <= after
        for lost in release.drops
    )


def _numbers(text: str, field: str) -> tuple[int, int, int]:
    match = _VERSION.fullmatch(text) if text.isascii() else None
    if match is None:
        raise Malformed(f"{field}: must look like v0.20.2-beta")
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def _listed(versions: Sequence[Version]) -> str:
    return ", ".join(map(str, versions))
