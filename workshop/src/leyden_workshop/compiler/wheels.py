"""The wheel of built programs, for machines without Go.

It follows from the programs alone: the same ones make the same bytes.
"""

import base64
import hashlib
import io
import platform
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from leyden import __version__
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.packaged import PACKAGE, packaged_path
from leyden.base.files import draft
from leyden.errors import SetupError
from leyden.values import Struct

_INFO: Final = f"{PACKAGE}-{__version__}.dist-info"
# Static programs: any libc does, and any Python.
_PLATFORMS: Final = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
_NOTICES: Final = "THIRD-PARTY.txt"
_INIT: Final = '"""Programs that Leyden runs, built from the sources that it pins."""\n'
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
_EXECUTABLE: Final = 0o100755
_PLAIN: Final = 0o100644


class Built(Struct, frozen=True):
    """A program that is built, and where."""

    tools: ToolSet
    program: Program
    path: Path


def write(into: Path, programs: Sequence[Built], notices: str) -> Path:
    """Write the wheel of these programs, with their licences; return its path."""
    if platform.system() != "Linux":
        raise SetupError("wheel: programs are packed on Linux, where nodes run")
    machine = platform.machine()
    tags = ".".join(f"{each}_{machine}" for each in _PLATFORMS)
    path = into / f"{PACKAGE}-{__version__}-py3-none-{tags}.whl"
    content: list[tuple[str, bytes, int]] = []
    content.append((f"{PACKAGE}/__init__.py", _INIT.encode(), _PLAIN))
    for each in sorted(
        programs, key=lambda each: packaged_path(each.tools, each.program)
    ):
        name = f"{PACKAGE}/{packaged_path(each.tools, each.program)}"
        content.append((name, each.path.read_bytes(), _EXECUTABLE))
    content += [
        (f"{_INFO}/METADATA", _metadata(programs).encode(), _PLAIN),
        (f"{_INFO}/licenses/{_NOTICES}", notices.encode(), _PLAIN),
        (f"{_INFO}/WHEEL", "".join(_wheel(machine)).encode(), _PLAIN),
    ]
    record = "".join(_record(content))
    content.append((f"{_INFO}/RECORD", record.encode(), _PLAIN))
    into.mkdir(parents=True, exist_ok=True)
    with draft(path, mode=0o644) as file:
        file.write(_zipped(content))
    return path


def _metadata(programs: Sequence[Built]) -> str:
    names = sorted(f"- {each.program}" for each in programs)
    return "\n".join(
        [
            "Metadata-Version: 2.4",
            f"Name: {PACKAGE.replace('_', '-')}",
            f"Version: {__version__}",
            "Summary: Programs that Leyden runs, built from pinned sources",
            f"License-File: {_NOTICES}",
            f"Requires-Dist: leyden-workshop=={__version__}",
            "",
            *names,
            "",
        ]
    )


def _wheel(machine: str) -> Iterator[str]:
    yield f"Wheel-Version: 1.0\nGenerator: leyden {__version__}\n"
    yield "Root-Is-Purelib: false\n"
    for each in _PLATFORMS:
        yield f"Tag: py3-none-{each}_{machine}\n"


def _record(content: Sequence[tuple[str, bytes, int]]) -> Iterator[str]:
    for name, each, _ in content:
        digest = base64.urlsafe_b64encode(hashlib.sha256(each).digest())
        yield f"{name},sha256={digest.decode().rstrip('=')},{len(each)}\n"
    yield f"{_INFO}/RECORD,,\n"


def _zipped(content: Sequence[tuple[str, bytes, int]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each, mode in content:
            member = zipfile.ZipInfo(name, date_time=_LONG_AGO)
            member.external_attr = mode << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, each)
    return packed.getvalue()
