"""The package that a platform serves is whole, and its library needs little."""

import base64
import csv
import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec

from leyden.manual import wheel

ROOT = Path(__file__).parents[2]

_IMPORTED = """
import pkgutil, sys
sys.path[:0] = [{folder!r}, {packages!r}]
import leyden.client
assert leyden.client.__file__.startswith({folder!r})
names = {{each.name for each in pkgutil.iter_modules(leyden.client.__path__)}}
for each in names - {asynchronous}:
    __import__("leyden.client." + each)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
for each in {asynchronous}:
    __import__("leyden.client." + each)
"""


def test_every_module_of_the_library_can_be_imported_from_it(tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(wheel.wheel())).extractall(tmp_path)
    packages = str(Path(msgspec.__file__).parents[1])
    code = _IMPORTED.format(
        folder=str(tmp_path), packages=packages, asynchronous={"aio", "async_wire"}
    )
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


def test_it_is_the_same_each_time() -> None:
    first = wheel.wheel()
    wheel.wheel.cache_clear()
    assert wheel.wheel() == first


def test_it_is_the_one_that_is_released(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run([*command, "-d", tmp_path], cwd=ROOT, check=True)
    (built,) = tmp_path.glob("*.whl")
    assert built.name == wheel.NAME
    released, served = (
        zipfile.ZipFile(built),
        zipfile.ZipFile(io.BytesIO(wheel.wheel())),
    )
    assert set(released.namelist()) == set(served.namelist())
    for name in released.namelist():
        if not name.endswith(("/WHEEL", "/RECORD")):
            assert served.read(name) == released.read(name), name
    guides = {name for name in released.namelist() if name.startswith("leyden/docs/")}
    assert guides == {"leyden/docs/README.md"} | {
        f"leyden/docs/{folder}/{page.name}"
        for folder in ("customers", "operators")
        for page in (ROOT / "docs" / folder).iterdir()
    }
