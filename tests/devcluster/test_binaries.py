"""Every program for clusters is pinned by its module's checksums."""

import pytest

from leyden.daemons.catalogue import ToolSet
from leyden_workshop.compiler import catalogue
from leyden_workshop.devcluster import binaries

STRANGERS = [
    tools for tools in binaries.SETS if tools.name not in {"pause", "companion"}
]


@pytest.mark.parametrize("tools", STRANGERS, ids=lambda tools: tools.name)
def test_the_module_of_a_set_pins_its_version_by_checksum(tools: ToolSet) -> None:
    module = (tools.folder / "go.mod").read_text()
    sums = (tools.folder / "go.sum").read_text()
    for program in tools.programs:
        source = program.package.partition("/cmd/")[0]
        assert f"require {source} v{program.version}\n" in module
        assert f"{source} v{program.version} h1:" in sums
        assert f'"{program.package}"' in (tools.folder / "tools.go").read_text()


def test_kubernetes_is_made_of_parts_of_one_release() -> None:
    module = (binaries.KUBERNETES.folder / "go.mod").read_text()
    _, _, released = module.partition("replace (")
    lines = released.partition(")")[0].split("\n")
    replaced = {line.split()[3] for line in lines if line.strip()}
    assert replaced == {"v0" + binaries.VERSION.removeprefix("1")}


def test_nobody_who_has_no_cluster_builds_one() -> None:
    everybody = {program.name for tools in catalogue.SETS for program in tools.programs}
    ours = {program.name for tools in binaries.SETS for program in tools.programs}
    assert not everybody & ours
    assert {*binaries.WITH_PODS, *binaries.ASKED_FOR} == ours
