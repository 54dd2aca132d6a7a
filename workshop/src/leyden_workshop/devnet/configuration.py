"""Daemons' configuration files; credentials never go into arguments.

A file's name includes a digest of its content, so the command line of a
running daemon shows whether its configuration is current.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from leyden.base.files import write_private


def configured(folder: Path, lines: Iterable[tuple[str, str | int]]) -> Path:
    """Write an owner-only configuration file; delete previous ones."""
    text = "[Application Options]\n" + "".join(f"{k}={v}\n" for k, v in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = folder / f"{digest}.conf"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        write_private(path, text)
    for other in folder.glob("*.conf"):
        if other != path:
            other.unlink(missing_ok=True)
    return path
