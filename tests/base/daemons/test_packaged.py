"""Built programs as a wheel: the same bytes each time, and used where they fit."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.base.daemons import catalogue, packaged
from leyden.base.daemons.build import program_path
from leyden_workshop.compiler import wheels
from leyden_workshop.compiler.wheels import Built


def built(folder: Path, *names: str) -> list[Built]:
    folder.mkdir()
    found = []
    for name in names:
        tools, program = catalogue.find(name)
        path = folder / name
        path.write_bytes(f"the program {name}".encode() * 1000)
        found.append(Built(tools, program, path))
    return found


def test_the_same_programs_make_the_same_wheel(tmp_path: Path) -> None:
    one = wheels.write(tmp_path / "a", built(tmp_path / "one", "lnd", "btcd"), "ISC")
    other = wheels.write(
        tmp_path / "b", built(tmp_path / "other", "btcd", "lnd"), "ISC"
    )
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()
    assert one.name.startswith("leyden_daemons-")
    assert "py3-none-manylinux" in one.name


def test_a_wheel_lists_what_is_in_it_and_its_programs_run(tmp_path: Path) -> None:
    path = wheels.write(tmp_path / "a", built(tmp_path / "one", "lnd"), "ISC")
    tools, program = catalogue.find("lnd")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        [record] = [name for name in names if name.endswith("RECORD")]
        lines = archive.read(record).decode().splitlines()
        member = archive.getinfo(
            f"leyden_daemons/{packaged.packaged_path(tools, program)}"
        )
        [notices] = [name for name in names if "/licenses/" in name]
        assert archive.read(notices) == b"ISC"
    assert {line.split(",")[0] for line in lines} == names
    assert member.external_attr >> 16 == 0o100755


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package with an lnd, where Python finds it."""
    path = wheels.write(tmp_path / "a", built(tmp_path / "one", "lnd"), "ISC")
    site = tmp_path / "site"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(site)
    monkeypatch.syspath_prepend(str(site))
    packaged.folder.cache_clear()
    yield site
    packaged.folder.cache_clear()


def test_an_installed_program_is_used_and_others_are_built(
    installed: Path, tmp_path: Path
) -> None:
    tools, lnd = catalogue.find("lnd")
    found = program_path(tmp_path / "cache", tools, lnd)
    assert found == installed / "leyden_daemons" / packaged.packaged_path(tools, lnd)
    tools, btcd = catalogue.find("btcd")
    assert program_path(tmp_path / "cache", tools, btcd).parts[-3:-1] == (
        tools.key,
        "bin",
    )
    assert tmp_path / "cache" in program_path(tmp_path / "cache", tools, btcd).parents
    older = catalogue.find("lnd", "0.20.1")
    assert tmp_path / "cache" in program_path(tmp_path / "cache", *older).parents, (
        "other sources, another program"
    )
