"""The table of all guides, as the navigation shows them."""

from typing import Final

from leyden.base import guides
from leyden.values import Struct

HOME: Final = "README"
REFERENCE: Final = "api"  # docs/api.md is shown in the reference, and nowhere else

_GROUPS: Final = {
    "Use the API": (
        "api-quickstart",
        REFERENCE,
        "errors",
        "events",
        "webhooks",
        "channels",
        "direct-channels",
        "remote-signing",
        "python",
        "cli",
    ),
    "Set up a platform": (
        "quickstart",
        "concepts",
        "operating",
        "install",
        "processes",
        "gateway",
        "certificates",
        "treasury",
        "economics",
        "lsps1",
        "email",
        "cluster",
        "going-live",
    ),
    "Operate a platform": (
        "monitoring",
        "quotas",
        "backups",
        "security",
        "faults",
        "capacity",
        "settings",
        "test-networks",
    ),
}


class NavigationEntry(Struct, frozen=True):
    """A page in the navigation."""

    name: str
    title: str
    url: str


def url(name: str) -> str:
    """Return the URL of a guide."""
    return "/docs" if name == HOME else f"/docs/{name}"


def title(name: str) -> str:
    """Return a guide's title: its first line."""
    if name == REFERENCE:
        return "API reference"
    return guides.read(name).partition("\n")[0].removeprefix("# ").strip()


def navigation() -> dict[str, list[NavigationEntry]]:
    """Return the guides of each group, in order."""
    return {
        group: [NavigationEntry(each, title(each), url(each)) for each in names]
        for group, names in _GROUPS.items()
    }
