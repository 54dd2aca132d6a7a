"""Which guides a platform serves, and how the navigation shows them."""

import re
from collections.abc import Collection
from typing import Final

from leyden.base import guides
from leyden.errors import NotFound
from leyden.values import Struct

HOME: Final = "README"
REFERENCE: Final = "api"  # shown as the API reference, and nowhere else
_LINK: Final = re.compile(r"\]\(([\w-]+)\.md\)")


class NavigationEntry(Struct, frozen=True):
    """A page in the navigation."""

    name: str
    title: str
    url: str


def is_served(name: str, published: Collection[str]) -> bool:
    """Return whether a guide is for customers, or its operator publishes it."""
    try:
        return guides.find(name).startswith(guides.CUSTOMERS) or name in published
    except NotFound:
        return False


def url(name: str) -> str:
    """Return the URL of a guide."""
    return "/docs" if name == HOME else f"/docs/{name}"


def title(name: str) -> str:
    """Return a guide's title: its first line."""
    if name == REFERENCE:
        return "API reference"
    return guides.read(name).partition("\n")[0].removeprefix("# ").strip()


def navigation(published: Collection[str] = ()) -> dict[str, list[NavigationEntry]]:
    """Return the guides of each group, in order: as the customers' index has them."""
    chapters = guides.chapters(guides.read(HOME), level=2)
    groups = {heading: _LINK.findall(text) for heading, text in chapters.items()}
    if published:
        groups["From your operator"] = list(published)
    return {
        group: [NavigationEntry(each, title(each), url(each)) for each in names]
        for group, names in groups.items()
    }
