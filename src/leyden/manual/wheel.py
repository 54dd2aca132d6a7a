"""The wheel of the installed `leyden`: its commands, library and service.

A customer installs it from the platform, and so always gets the platform's version.
"""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from leyden import __version__

NAME: Final = f"leyden-{__version__}-py3-none-any.whl"
_INFO: Final = f"leyden-{__version__}.dist-info"
# What Python compiled, and what a clone has beside guides that are served.
_LEFT_OUT: Final = frozenset(("__pycache__", "contributors", "decisions", "pictures"))
_WHEEL: Final = """\
Wheel-Version: 1.0
Generator: leyden
Root-Is-Purelib: true
Tag: py3-none-any
"""


@cache
def wheel() -> bytes:
    """Return the wheel: the same bytes each time."""
    held = {name: file.read_bytes() for name, file in _found("leyden", files("leyden"))}
    for each in distribution("leyden").files or ():
        if each.name in {"METADATA", "entry_points.txt"} or "licenses" in each.parts:
            name = "/".join(each.parts[1:])
            held[f"{_INFO}/{name}"] = Path(each.locate()).read_bytes()
    held[f"{_INFO}/WHEEL"] = _WHEEL.encode()
    record = [
        f"{name},sha256={_digest(data)},{len(data)}" for name, data in held.items()
    ]
    record += [f"{_INFO}/RECORD,,", ""]
    held[f"{_INFO}/RECORD"] = "\n".join(record).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in held.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _found(name: str, folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder, with their names in the wheel."""
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.name in _LEFT_OUT:
            continue
        if each.is_dir():
            yield from _found(f"{name}/{each.name}", each)
        else:
            yield f"{name}/{each.name}", each


def _digest(data: bytes) -> str:
    digest = hashlib.sha256(data).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
