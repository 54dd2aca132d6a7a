"""The catalogue of programs and their versions.

A tool set is one Go module: the folder of the same name here, whose go.mod
and go.sum pin every dependency to the released versions. A program is found
by what it is built from: the pins, the tags and the stamps.
"""

import hashlib
import platform
from pathlib import Path

from leyden.errors import SetupError
from leyden.values import Struct, field

_HERE = Path(__file__).parent
_LND = "github.com/lightningnetwork/lnd"
_BTCD = "github.com/btcsuite/btcd"
_POOL = "github.com/lightninglabs/pool"
# What lnd is released with: without walletrpc, signrpc ... no poold can use it.
_LND_TAGS = (
    *("autopilotrpc", "signrpc", "walletrpc", "chainrpc", "invoicesrpc"),
    *("watchtowerrpc", "neutrinorpc", "monitoring", "peersrpc"),
    *("kvdb_postgres", "kvdb_etcd", "kvdb_sqlite"),
)
# Raised when the way of building changes in a way that the files do not tell.
_RECIPE = "1"


class Program(Struct, frozen=True):
    """One program in one version."""

    name: str
    version: str
    package: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class ToolSet(Struct, frozen=True, kw_only=True):
    """Programs built from one Go module."""

    name: str
    programs: tuple[Program, ...]
    folder: Path
    tags: tuple[str, ...] = ()
    stamps: dict[str, str] = field(default_factory=dict)  # variables set by the linker
    # How long two idle processors build it, after the sets before it in the list.
    seconds: int = 60

    @property
    def key(self) -> str:
        """The build's cache key; changes with pins, tags and architecture."""
        parts = [_RECIPE, platform.system(), platform.machine(), *self.tags]
        parts += [f"{name}={value}" for name, value in sorted(self.stamps.items())]
        digest = hashlib.sha256("\0".join(parts).encode())
        for file in sorted(self.folder.rglob("*")):
            if _is_built_from(file):
                digest.update(b"\0" + file.name.encode() + b"\0" + file.read_bytes())
        return f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def go(self) -> tuple[int, ...]:
        """The oldest Go version that builds the set, from its go.mod."""
        for line in (self.folder / "go.mod").read_text().splitlines():
            if line.startswith("go "):
                return tuple(int(part) for part in line.split()[1].split("."))
        raise SetupError(f"{self.folder}/go.mod names no version of Go")


def _is_built_from(file: Path) -> bool:
    return file.suffix in {".go", ".mod", ".sum"} and not file.stem.endswith("_test")


def _lnd(number: str, *more: Program, seconds: int) -> ToolSet:
    version = f"{number}-beta"
    return ToolSet(
        name=f"lnd-{number}",
        folder=_HERE / f"lnd-{number}",
        programs=(
            *more,
            Program("lnd", version, f"{_LND}/cmd/lnd"),
            Program("lncli", version, f"{_LND}/cmd/lncli"),
        ),
        tags=_LND_TAGS,
        stamps={
            f"{_LND}/build.Commit": f"v{version}",
            f"{_LND}/build.RawTags": ",".join(_LND_TAGS),
        },
        seconds=seconds,
    )


# In the order of preference: without a version, the first of a name is meant.
SETS = (
    _lnd(
        "0.20.2",
        Program("btcd", "0.24.2-beta", _BTCD),
        Program("btcctl", "0.24.2-beta", f"{_BTCD}/cmd/btcctl"),
        seconds=330,
    ),
    ToolSet(
        name="pool-0.7.1",
        folder=_HERE / "pool-0.7.1",
        programs=(
            Program("poold", "0.7.1-beta", f"{_POOL}/cmd/poold"),
            Program("pool", "0.7.1-beta", f"{_POOL}/cmd/pool"),
        ),
        stamps={f"{_POOL}.Commit": "v0.7.1-beta"},
        seconds=120,
    ),
    _lnd("0.20.1", seconds=240),
    _lnd("0.21.2", seconds=300),
    ToolSet(
        name="restic-0.18.1",
        folder=_HERE / "restic-0.18.1",
        programs=(Program("restic", "0.18.1", "github.com/restic/restic/cmd/restic"),),
        tags=("disable_grpc_modules",),  # as released, but it never updates itself
        seconds=100,
    ),
    ToolSet(
        name="age-1.2.1",
        folder=_HERE / "age-1.2.1",
        programs=(
            Program("age", "1.2.1", "filippo.io/age/cmd/age"),
            Program("age-keygen", "1.2.1", "filippo.io/age/cmd/age-keygen"),
        ),
        stamps={"main.Version": "v1.2.1"},
        seconds=10,
    ),
)


def find(
    name: str, version: str | None = None, *, sets: tuple[ToolSet, ...] = SETS
) -> tuple[ToolSet, Program]:
    """Return a program and its tool set.

    For lnd, `0.20.2`, `v0.20.2-beta` and None all match.
    """
    for each in sets:
        for program in each.programs:
            if program.name == name and (
                version is None or plain(version) == plain(program.version)
            ):
                return each, program
    known = ", ".join(str(program) for each in sets for program in each.programs)
    wanted = f"{name} {version or ''}".strip()
    raise SetupError(f"there is no {wanted} to be had; there are {known}")


def plain(version: str) -> str:
    """Return the bare version number: 0.20.2 for v0.20.2-beta."""
    return version.removeprefix("v").removesuffix("-beta")
