"""The control groups that this machine has to give to tests.

Where version 1 has the controllers of memory, processor and threads, version 2 is
mounted beside it for the rest: the kernel's own tree, whose groups can be created,
limited and entered.
"""

from pathlib import Path
from typing import Final

from leyden.nodes.runtimes.local.cgroups import LIMITS, MOUNT, Cgroups, Limits

_BESIDE: Final = MOUNT / "unified"
_HUGE_PAGES: Final[Limits] = {
    "hugetlb": ("hugetlb.2MB.max", lambda share: share.memory)
}
_PLACES: Final[tuple[tuple[Path, Limits], ...]] = (
    (MOUNT, LIMITS),
    (_BESIDE, _HUGE_PAGES),
    (_BESIDE, {}),
)


def groups(home: Path) -> Cgroups | None:
    """Return groups that the kernel makes here, held to whatever it can limit."""
    made = (Cgroups(home, mount=mount, limits=limits) for mount, limits in _PLACES)
    return next((each for each in made if not each.unavailable_reason()), None)
