"""Groups for machines, in both versions of the kernel's trees."""

from pathlib import Path

import pytest

from leyden_workshop.devcluster import cgroups

CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """Version 1: a tree for each controller."""
    for name in (*CONTROLLERS, "systemd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").touch()
    (tmp_path / "cpuset" / "cpuset.cpus").write_text("0-1\n")
    return tmp_path


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    """Version 2: one tree."""
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "cgroup.controllers").write_text("cpu cpuset memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    return tmp_path


def test_a_machine_has_a_group_in_every_tree(split: Path) -> None:
    assert cgroups.prepare("harbour", "machine-1", split) == "/harbour/machine-1"
    for name in (*CONTROLLERS, "systemd"):
        assert (split / name / "harbour" / "machine-1").is_dir()


def test_missing_controllers_are_named(split: Path, unified: Path) -> None:
    (unified / "cgroup.controllers").write_text("cpu pids\n")
    assert "control groups for cpuset, memory in" in cgroups.trouble(unified)
    (unified / "cgroup.controllers").unlink()
    assert not cgroups.trouble(split)
    (split / "memory" / "cgroup.procs").unlink()
    assert "control groups for memory in" in cgroups.trouble(split)


async def test_all_groups_of_a_cluster_go_and_no_others(split: Path) -> None:
    cgroups.prepare("harbour", "machine-1", split)
    cgroups.prepare("lighthouse", "machine-1", split)
    below = split / "memory" / "harbour" / "machine-1" / "kubepods" / "pod1"
    below.mkdir(parents=True)
    await cgroups.remove("harbour", split)
    assert cgroups.left("harbour", split) == []
    assert len(cgroups.left("lighthouse", split)) == 5
