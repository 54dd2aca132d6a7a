"""A stand-in for Go: a script that makes a file, counts, waits or fails as told."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from leyden.base.daemons.catalogue import Program, ToolSet

_GO = """#!/bin/sh
cd {folder}
case $1 in
env) cat version; exit ;;
list) exit ;;
esac
echo "$@" >> builds
while [ "$1" != -o ]; do shift; done
echo half > "$2"
sh -c 'echo $$ > pid; while [ -e hold ]; do sleep 0.02; done'
if [ -e failure ]; then cat failure >&2; exit 1; fi
printf '#!/bin/sh\\necho %s version 1.2.3\\n' "$(basename "$2")" > "$2"
"""


@dataclass(frozen=True)
class StandIn:
    """The script's folder; what lies in it decides what the script does."""

    folder: Path

    def set(self, name: str, text: str = "") -> None:
        (self.folder / name).write_text(text)

    def unset(self, name: str) -> None:
        (self.folder / name).unlink()

    @property
    def pid(self) -> int | None:
        file = self.folder / "pid"
        text = file.read_text().strip() if file.exists() else ""
        return int(text) if text else None

    @property
    def builds(self) -> list[str]:
        file = self.folder / "builds"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.folder}{os.pathsep}/usr/bin:/bin", "HOME": "/nowhere"}


@pytest.fixture
def go(tmp_path: Path) -> StandIn:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    script = folder / "go"
    script.write_text(_GO.format(folder=folder))
    script.chmod(0o755)
    stand_in = StandIn(folder)
    stand_in.set("version", "go1.26.3\n")
    return stand_in


@pytest.fixture
def tools(tmp_path: Path) -> ToolSet:
    folder = tmp_path / "harbour"
    folder.mkdir()
    (folder / "go.mod").write_text("module example.org/harbour\n\ngo 1.24.2\n")
    (folder / "go.sum").write_text("example.org/light v1.0.0 h1:abc=\n")
    return ToolSet(
        name="harbour-1.2.3",
        folder=folder,
        programs=(
            Program("harbourd", "1.2.3", "example.org/harbour/cmd/harbourd"),
            Program("harbour", "1.2.3", "example.org/harbour/cmd/harbour"),
        ),
        tags=("lightrpc", "foghornrpc"),
        stamps={"example.org/harbour.Commit": "v1.2.3"},
    )


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"
