"""The library that a platform serves is whole, and brings nothing else along."""

import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from leyden.base.daemons.build import default_cache
from leyden.manual import wheel

ROOT = Path(__file__).parents[2]

_IMPORTED = """
import pkgutil, sys
sys.path[:0] = [{folder!r}, {packages!r}]
import leyden.client
assert leyden.client.__file__.startswith({folder!r})
for each in pkgutil.iter_modules(leyden.client.__path__):
    __import__("leyden.client." + each.name)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


def test_every_module_can_be_imported_from_it(tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(wheel.wheel())).extractall(tmp_path)
    packages = str(Path(msgspec.__file__).parents[1])
    code = _IMPORTED.format(folder=str(tmp_path), packages=packages)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not {"aiohttp", "click", "psycopg", "starlette"} & set(done.stdout.split())


def test_its_record_is_right() -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel.wheel()))
    (record,) = (name for name in archive.namelist() if name.endswith("/RECORD"))
    rows = list(csv.reader(io.TextIOWrapper(archive.open(record))))
    assert [name for name, _, _ in rows] == archive.namelist()
    for name, digest, size in rows[:-1]:
        data = archive.read(name)
        made = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
        assert (digest, size) == (f"sha256={made.rstrip('=')}", str(len(data)))


def test_it_says_what_it_needs() -> None:
    archive = zipfile.ZipFile(io.BytesIO(wheel.wheel()))
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    needs = [
        line.partition(": ")[2]
        for line in archive.read(name).decode().splitlines()
        if line.startswith("Requires-Dist: ")
    ]
    assert [need.partition("<")[0].partition(">")[0] for need in needs] == [
        "cryptography",
        "msgspec",
    ]


def test_it_is_the_same_each_time() -> None:
    first = wheel.wheel()
    wheel.wheel.cache_clear()
    assert wheel.wheel() == first


@pytest.mark.long
def test_the_wheel_of_leyden_itself_brings_the_guides_along(tmp_path: Path) -> None:
    cached = default_cache(os.environ) / "uv" / "bin" / "uv"
    uv = shutil.which("uv") or (str(cached) if cached.exists() else None)
    if uv is None:
        pytest.skip("needs uv")
    command = [uv, "build", "-q", "--wheel", f"-o{tmp_path}", str(ROOT)]
    subprocess.run(command, check=True)
    (built,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(built).namelist())
    guides = {name for name in held if name.startswith("leyden/docs/")}
    assert guides == {"leyden/docs/README.md"} | {
        f"leyden/docs/{folder}/{page.name}"
        for folder in ("customers", "operators")
        for page in (ROOT / "docs" / folder).iterdir()
    }
    assert "leyden/manual/examples.json" in held
