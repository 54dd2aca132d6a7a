"""What can be had, and that the modules pin exactly that."""

import subprocess
from pathlib import Path

import pytest

from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.operator_binaries import own
from leyden.errors import SetupError
from leyden.nodes.rules.versions import OFFERED
from leyden_workshop.compiler.catalogue import SETS, find
from tests.programs import built

EVERY = [program for tools in SETS for program in tools.programs]
ids = [str(program).replace(" ", "-") for program in EVERY]


@pytest.mark.parametrize("version", [None, "0.20.2", "v0.20.2", "v0.20.2-beta"])
def test_a_version_may_be_spelled_as_people_do(version: str | None) -> None:
    tools, program = find("lnd", version)
    assert (tools.name, program.version) == ("lnd-0.20.2", "0.20.2-beta")


def test_what_there_is_not_is_refused_with_what_there_is() -> None:
    with pytest.raises(SetupError, match=r"no lnd 0\.18\.5 .* lnd 0\.21\.2-beta"):
        find("lnd", "0.18.5")


def test_every_lnd_on_offer_can_be_had() -> None:
    for version in OFFERED.versions:
        assert find("lnd", str(version))[1].version == str(version).removeprefix("v")
    assert find("lnd")[1].version == str(OFFERED.default).removeprefix("v")


OTHERS = [tools for tools in SETS if tools.name != "auctioneer"]


@pytest.mark.parametrize("tools", OTHERS, ids=lambda tools: tools.name)
def test_the_module_of_a_set_pins_its_version_by_checksum(tools: ToolSet) -> None:
    module = (tools.folder / "go.mod").read_text()
    sums = (tools.folder / "go.sum").read_text()
    program = tools.programs[-1]
    source = program.package.partition("/cmd/")[0]
    assert f"\t{source} v{program.version}\n" in module
    assert f"{source} v{program.version} h1:" in sums
    if "lightning" in source:
        assert "google.golang.org/protobuf => github.com/lightninglabs/" in module


def test_our_own_auctioneer_is_built_against_the_poold_of_the_catalogue() -> None:
    tools, program = find("auctioneer")
    module = (tools.folder / "go.mod").read_text()
    assert f"github.com/lightninglabs/pool v{find('poold')[1].version}\n" in module
    said = f'const version = "{program.version}"'
    assert said in (tools.folder / "options.go").read_text()


def test_a_set_has_another_key_once_its_code_is_another(tmp_path: Path) -> None:
    (tmp_path / "lamp.go").write_text("package lamp")
    tools = ToolSet(name="lamp", programs=(), folder=tmp_path)
    before = tools.key
    (tmp_path / "lamp_test.go").write_text("package lamp")
    (tmp_path / "README.md").write_text("It shines.")
    assert tools.key == before
    (tmp_path / "lamp.go").write_text("package lamp // brighter")
    assert tools.key != before


async def test_a_program_of_the_operator_is_known_by_its_version(
    tmp_path: Path,
) -> None:
    lnd = _says(tmp_path / "lnd", "lnd version 0.20.1-beta commit=v0.20.1-beta")
    found = await own([str(lnd)])
    assert found == {find("lnd", "0.20.1")[1]: lnd}
    on_path = await own(["lnd"], environment={"PATH": str(tmp_path)})
    assert on_path == found


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ("lnd version 0.18.5-beta commit=v0.18.5", "there is no lnd 0.18.5-beta"),
        ("hello", "does not tell its version"),
        ("", "does not tell its version"),
    ],
)
async def test_a_program_of_another_version_is_refused(
    tmp_path: Path, says: str, text: str
) -> None:
    with pytest.raises(SetupError, match=text):
        await own([str(_says(tmp_path / "lnd", says))])


async def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no program"):
        await own([str(tmp_path / "lnd")])


@pytest.mark.real
@pytest.mark.parametrize("program", EVERY, ids=ids)
def test_a_built_program_says_its_version(program: Program) -> None:
    (path,) = built(str(program)).values()
    word = "version" if program.name == "restic" else "--version"
    said = subprocess.run([path, word], capture_output=True, check=True)
    # btcctl tells a version of its own, which nobody raised with btcd's.
    answer = {
        "btcctl": "btcctl version ",
        "restic": f"restic {program.version} ",
        "age": f"v{program.version}\n",
        "age-keygen": f"v{program.version}\n",
    }.get(program.name, f"{program.name} version {program.version}")
    assert said.stdout.decode().startswith(answer)


def _says(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{line}'\n")
    path.chmod(0o755)
    return path
