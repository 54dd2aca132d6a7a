"""The recovery key: all that a bare machine needs to restore, in one text.

It is a file as age reads it: the identity, and comments with the password of the store,
its place, and the installation that it belongs to. It lies elsewhere: on another
machine, in a password manager, on paper.
"""

import re
from pathlib import Path
from typing import Final

from leyden.backups.store.age import IDENTITY
from leyden.errors import SetupError
from leyden.values import Struct, hiding

_FIELD: Final = re.compile(r"#\s*(store|password|installation):\s*(\S.*?)\s*")
_LIMIT: Final = 1 << 16


class RecoveryKey(Struct, frozen=True, kw_only=True):
    """What a recovery key says."""

    store: str
    password: str
    installation: str
    identity: str  # "" where the operator has an identity of their own

    __repr__ = hiding("password", "identity")

    def text(self) -> str:
        """Return the content of the file."""
        return (
            "# Leyden's recovery key: opens all backups of this installation.\n"
            "# Keep it away from this machine and from the store; delete it here.\n"
            f"# installation: {self.installation}\n"
            f"# store: {self.store}\n"
            f"# password: {self.password}\n"
            f"{self.identity or '# (add the line of your own age identity)'}\n"
        )


def read(path: Path) -> RecoveryKey:
    """Read a recovery key; raise SetupError if something is missing in it."""
    try:
        with path.open("rb") as file:
            lines = file.read(_LIMIT).decode(errors="replace").splitlines()
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}") from None
    found = [_FIELD.fullmatch(line.strip()) for line in lines]
    fields = {each[1]: each[2] for each in found if each is not None}
    identity = next(
        (line.strip() for line in lines if IDENTITY.fullmatch(line.strip())), ""
    )
    if missing := {"store", "password", "installation"} - fields.keys():
        raise SetupError(
            f"{path}: is not a recovery key: it lacks {', '.join(sorted(missing))}; "
            "`leyden backup init` wrote one"
        )
    if not identity:
        raise SetupError(
            f"{path}: it lacks the identity, a line that begins with AGE-SECRET-KEY-1"
        )
    return RecoveryKey(identity=identity, **fields)
