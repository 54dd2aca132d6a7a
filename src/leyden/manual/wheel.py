"""The Python library as a wheel of its own, made from the platform's own code.

A customer installs it from the platform, and so always gets the library of its version.
It is `leyden.client` with what that needs, and none of the platform's dependencies.
"""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import requires
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from leyden import __version__

_DISTRIBUTION: Final = "leyden_client"
NAME: Final = f"{_DISTRIBUTION}-{__version__}-py3-none-any.whl"
_FOLDERS: Final = ("client", "schemas")
_FILES: Final = (
    "__init__.py",
    "errors.py",
    "values.py",
    "py.typed",
    "lnd/__init__.py",
    "lnd/rest.py",
    "lnd/trust.py",
)
_NEEDS: Final = ("cryptography", "msgspec")
_WHEEL: Final = """\
Wheel-Version: 1.0
Generator: leyden
Root-Is-Purelib: true
Tag: py3-none-any
"""


@cache
def wheel() -> bytes:
    """Return the wheel: the same bytes each time."""
    info = f"{_DISTRIBUTION}-{__version__}.dist-info"
    held = {f"leyden/{name}": file.read_bytes() for name, file in _modules()}
    held[f"{info}/METADATA"] = _metadata().encode()
    held[f"{info}/WHEEL"] = _WHEEL.encode()
    record = [
        f"{name},sha256={_digest(data)},{len(data)}" for name, data in held.items()
    ]
    record += [f"{info}/RECORD,,", ""]
    held[f"{info}/RECORD"] = "\n".join(record).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in held.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _modules() -> Iterator[tuple[str, Traversable]]:
    root = files("leyden")
    for name in _FILES:
        yield name, root / name
    for folder in _FOLDERS:
        for file in sorted((root / folder).iterdir(), key=lambda each: each.name):
            if file.name.endswith(".py"):
                yield f"{folder}/{file.name}", file


def _metadata() -> str:
    wanted = [
        each
        for each in requires("leyden") or ()
        if each.startswith(_NEEDS) and ";" not in each
    ]
    lines = [
        "Metadata-Version: 2.4",
        "Name: leyden-client",
        f"Version: {__version__}",
        "Summary: The Python library of Leyden's API",
        "License-Expression: Apache-2.0",
        "Requires-Python: >=3.11",
        *(f"Requires-Dist: {each}" for each in wanted),
    ]
    return "\n".join([*lines, ""])


def _digest(data: bytes) -> str:
    digest = hashlib.sha256(data).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
