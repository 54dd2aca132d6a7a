"""Programs for clusters are built by who has one."""

from leyden_workshop.compiler import catalogue
from leyden_workshop.devcluster import binaries


def test_nobody_who_has_no_cluster_builds_one() -> None:
    everybody = {program.name for tools in catalogue.SETS for program in tools.programs}
    ours = {program.name for tools in binaries.SETS for program in tools.programs}
    assert not everybody & ours
    assert {*binaries.WITH_PODS, *binaries.ASKED_FOR} == ours
