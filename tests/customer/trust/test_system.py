"""The system's store, where Debian, Fedora, Arch and openSUSE keep it."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.customer.trust.base import Did
from leyden.customer.trust.root import Root, read
from leyden.customer.trust.system import SystemStore
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.certificates.constraints import scope

KINDS = [
    ("etc/pki/ca-trust/source/anchors", "pem", "update-ca-trust", "extract"),
    ("usr/local/share/ca-certificates", "crt", "update-ca-certificates", ""),
    ("etc/ca-certificates/trust-source/anchors", "crt", "trust", "extract-compat"),
    ("usr/share/pki/trust/anchors", "pem", "update-ca-certificates", ""),
]
NAMES = scope(["nodes.test"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    open_or_create(tmp_path / "authority", now=datetime.now(UTC), scope=NAMES)
    return tmp_path / "authority" / "root.pem"


@pytest.fixture
def root(source: Path) -> Root:
    return read(source.read_bytes())


def tool(folder: Path, name: str, *, code: int = 0) -> Path:
    """Put a program in the way of the system's, which says how it was called."""
    folder.mkdir(exist_ok=True)
    said = folder / "said"
    (folder / name).write_text(
        f'#!/bin/sh\necho "$0 $*" >>{said}\numask >>{said}.umask\n'
        f'echo "it failed" >&2\nexit {code}\n'
    )
    (folder / name).chmod(0o755)
    return said


@pytest.mark.parametrize(("folder", "ending", "program", "word"), KINDS)
def test_a_root_is_put_where_each_system_looks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: Path,
    root: Root,
    folder: str,
    ending: str,
    program: str,
    word: str,
) -> None:
    said = tool(tmp_path / "programs", program)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:/usr/bin:/bin")
    (tmp_path / "base" / folder).mkdir(parents=True)
    store = SystemStore(source, base=tmp_path / "base")
    path = tmp_path / "base" / folder / f"leyden-nodes.test.{ending}"
    assert [store.add(root).did for _ in range(2)] == [Did.TRUSTED, Did.ALREADY]
    assert path.read_bytes() == root.pem
    assert path.stat().st_mode & 0o777 == 0o644
    path.write_text("something else")
    assert store.remove(root).did is Did.ABSENT
    assert store.add(root).did is Did.REPLACED
    assert [store.remove(root).did for _ in range(2)] == [Did.REMOVED, Did.ABSENT]
    assert not path.exists()
    called = f"{tmp_path / 'programs' / program} {word}"
    assert said.read_text().splitlines() == [called] * 3


def test_what_the_system_takes_in_is_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path, root: Root
) -> None:
    """Our commands write for their owner alone; the system's store is for everybody."""
    folder, _, program, _ = KINDS[1]
    said = tool(tmp_path / "programs", program)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:/usr/bin:/bin")
    (tmp_path / "base" / folder).mkdir(parents=True)
    before = os.umask(0o077)
    try:
        SystemStore(source, base=tmp_path / "base").add(root)
    finally:
        os.umask(before)
    assert said.with_name("said.umask").read_text() == "0022\n"


def test_what_the_system_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Path, root: Root
) -> None:
    folder, _, program, _ = KINDS[1]
    tool(tmp_path / "programs", program, code=3)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}:/usr/bin:/bin")
    (tmp_path / "base" / folder).mkdir(parents=True)
    store = SystemStore(source, base=tmp_path / "base")
    outcome = store.add(root)
    assert (outcome.did, outcome.why) == (Did.FAILED, "it failed")
    assert store.add(root).did is not Did.ALREADY


def test_a_system_that_we_do_not_know_is_said(
    tmp_path: Path, source: Path, root: Root
) -> None:
    store = SystemStore(source, base=tmp_path)
    assert store.add(root).did is Did.FAILED
    assert store.remove(root).did is Did.ABSENT
