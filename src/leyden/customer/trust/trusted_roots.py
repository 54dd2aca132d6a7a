"""The roots that were trusted on this machine, so that exactly these can be removed.

DATA/leyden/trusted/leyden-DOMAIN.pem
"""

from pathlib import Path

from leyden.base.files import write_whole
from leyden.customer.trust.root import Root, read
from leyden.errors import SetupError

_MODE = 0o644


class Remembered:
    """A folder of roots, one of a name at a time."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "leyden" / "trusted"

    def keep(self, root: Root) -> Path:
        """Remember a root, in the place of one of the same name; return its file."""
        path = self._folder / f"{root.file_name}.pem"
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, root.pem, mode=_MODE)
        return path

    def forget(self, root: Root) -> None:
        """Forget a root; nothing happens where it is not remembered."""
        (self._folder / f"{root.file_name}.pem").unlink(missing_ok=True)

    def all_(self) -> list[Root]:
        """List them by their names; a file that is no root of ours is left alone."""
        found = []
        for path in sorted(self._folder.glob("leyden-*.pem")):
            try:
                found.append(read(path.read_bytes()))
            except SetupError:
                continue
        return found
