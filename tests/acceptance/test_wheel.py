"""The wheel alone, in an empty environment outside of the clone."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from leyden.daemons import catalogue
from leyden.daemons.build import default_cache
from leyden.devcluster import binaries
from tests.ports import free_ports
from tests.programs import built

ROOT = Path(__file__).parents[2]
WITH_UP = ("lnd", "lncli", "btcd", "btcctl", "poold", "auctioneer")

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


def uv(*words: object) -> None:
    known = default_cache(os.environ) / "uv/bin/uv"
    found = shutil.which("uv") or (known if known.exists() else None)
    if found is None:
        pytest.skip("there is no uv; ./leyden installs one")
    subprocess.run([found, *map(str, words)], check=True, timeout=120)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    [found] = folder.glob("*.whl")
    return Path(found)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    uv("venv", "--quiet", "--no-project", "--python", sys.executable, folder / "venv")
    locked = folder / "locked.txt"  # the versions of the lock: no other are kept here
    uv(
        *("export", "--quiet", "--frozen", "--no-dev", "--no-emit-project"),
        *("--no-hashes", "--project", ROOT, "--output-file", locked),
    )
    python = folder / "venv/bin/python"
    uv("pip", "install", "--quiet", "--python", python, "-c", locked, wheel)
    return folder


class Stranger:
    """Somebody with a home of his own, who has installed a wheel."""

    def __init__(self, venv: Path, home: Path) -> None:
        self.venv = venv
        self.home = home
        api, rest, grpc = free_ports(3)
        self._environment: Mapping[str, str] = {
            "HOME": str(home),
            "PATH": f"{venv}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LEYDEN_API_PORT": str(api),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_GATEWAY_REST_PORT": str(rest),
            "LEYDEN_GATEWAY_GRPC_PORT": str(grpc),
            "LEYDEN_PEER_PORTS": "none",
        }

    def types(self, *words: str, within_s: int = 60) -> str:
        done = subprocess.run(
            [self.venv / "bin/leyden", *words],
            cwd=self.home,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def stranger(environment: Path, memory_path: Path) -> Stranger:
    return Stranger(environment / "venv", memory_path)


def test_a_wheel_has_what_runs_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert not any(
            each.external_attr >> 16 & 0o120000 == 0o120000
            for each in archive.infolist()
        )
    assert {
        "leyden/docs/quickstart.md",
        "leyden/docs/decisions/README.md",
        "leyden/devcluster/companion/main.go",
        "leyden/daemons/auctioneer/main.go",
        "leyden/gateway/connection_limits.wasm",
        "leyden/storage/migrations/env.py",
    } <= names
    assert not [each for each in names if "_test.go" in each or "docs/pictures" in each]
    assert {each.partition("/")[0].partition("-")[0] for each in names} == {"leyden"}


def test_it_is_the_same_program_outside_of_the_clone(stranger: Stranger) -> None:
    """The auctioneer and the companion are other folders there, of equal sources."""
    assert stranger.types("--version").startswith("leyden")
    script = (
        "import leyden; from leyden.daemons import catalogue;"
        "from leyden.devcluster import binaries;"
        "print(leyden.__file__, *(s.key for s in catalogue.SETS + binaries.SETS))"
    )
    venv = stranger.venv
    told = subprocess.run(
        [venv / "bin/python", "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert str(venv) in told[0]
    assert told[1:] == [each.key for each in (*catalogue.SETS, *binaries.SETS)]


@pytest.mark.long
def test_wheels_need_neither_go_nor_minutes(
    environment: Path, stranger: Stranger, tmp_path: Path
) -> None:
    """`up`, and a first node, from wheels alone: nothing is built, and nothing kept."""
    built(*WITH_UP)
    made: list[Path] = []
    for each in ("one", "other"):
        subprocess.run(
            [
                *(Path(sys.executable).with_name("leyden"), "daemons", "wheel"),
                *(*WITH_UP, "--output", str(tmp_path / each)),
            ],
            check=True,
            capture_output=True,
        )
        made += (tmp_path / each).glob("*.whl")
    assert made[0].read_bytes() == made[1].read_bytes()
    uv(
        "pip",
        "install",
        "--quiet",
        "--python",
        environment / "venv/bin/python",
        made[0],
    )
    try:
        stranger.types("up", "--detach", within_s=120)
        shown = stranger.types("nodes", "create", "first light", "--wait")
        assert "waiting_init" in shown
    finally:
        stranger.types("down", "--nodes")
    assert not (stranger.home / ".cache/leyden").exists(), "nothing was built"
