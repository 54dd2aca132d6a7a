"""What a cluster is to be, and what it cannot become."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.errors import SetupError
from leyden_workshop.devcluster import decisions
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout


@pytest.fixture
def layout(tmp_path: Path) -> ClusterLayout:
    return ClusterLayout(tmp_path)


async def started(folder: Path) -> processes.ProcessIdentity:
    folder.mkdir()
    return await processes.spawn(
        [sys.executable, "-c", "import time; time.sleep(1000)"],
        log=folder / "log",
        claim=folder / "claim",
    )


@pytest.fixture
async def two_machines(layout: ClusterLayout) -> AsyncIterator[ClusterLayout]:
    """A cluster of two, both of which run."""
    layout.write(Cluster(machines=2, block=240))
    running = [await started(layout.machine(number)) for number in (1, 2)]
    yield layout
    await asyncio.gather(*(processes.stop(each, grace_s=1) for each in running))


def test_the_first_time_it_is_one_machine_with_free_addresses(
    layout: ClusterLayout,
) -> None:
    usual = decisions.with_pods(layout, None, taken=[])
    assert usual.machines == 1
    assert usual.addresses is not None
    other = decisions.with_pods(layout, None, taken=[usual.addresses.network])
    assert other.block not in {None, usual.block}


def test_it_stays_as_it_was_unless_told_otherwise(layout: ClusterLayout) -> None:
    made = decisions.with_pods(layout, 2, taken=[])
    layout.write(made)
    assert decisions.with_pods(layout, None, taken=[]) == made
    assert decisions.with_pods(layout, 3, taken=[]).machines == 3
    assert decisions.with_pods(layout, 3, taken=[]).block == made.block


def test_a_cluster_with_pods_does_not_become_one_without(layout: ClusterLayout) -> None:
    layout.write(Cluster(machines=1, block=240))
    with pytest.raises(SetupError, match="this cluster was created with pods"):
        decisions.refuse_change(layout, None, pods=False)
    layout.write(Cluster(machines=0))
    with pytest.raises(SetupError, match="this cluster was created with --api-only"):
        decisions.refuse_change(layout, 1, pods=True)


async def test_machines_that_run_are_not_forgotten(two_machines: ClusterLayout) -> None:
    decisions.refuse_change(two_machines, 2, pods=True)
    decisions.refuse_change(two_machines, None, pods=True)
    with pytest.raises(SetupError, match=r"--machines 1: 2 are running"):
        decisions.refuse_change(two_machines, 1, pods=True)


def test_there_can_be_fewer_once_none_runs(layout: ClusterLayout) -> None:
    layout.write(Cluster(machines=2, block=240))
    decisions.refuse_change(layout, 1, pods=True)


def test_addresses_that_are_routed_elsewhere_are_refused(layout: ClusterLayout) -> None:
    layout.write(Cluster(machines=1, block=240))
    with pytest.raises(SetupError, match=r"10\.240\.0\.0/16, which this cluster uses"):
        decisions.with_pods(layout, None, taken=[IPv4Network("10.240.3.0/24")])


def test_ports_stay_as_they_were_while_they_are_free(layout: ClusterLayout) -> None:
    made = decisions.without_pods(layout)
    layout.write(made)
    assert decisions.without_pods(layout) == made
    with socket.socket() as other:
        other.bind(("127.0.0.1", made.ports.api))
        other.listen()
        assert decisions.without_pods(layout).ports.api != made.ports.api


def test_what_was_written_by_another_hand_is_named(layout: ClusterLayout) -> None:
    (layout.folder / "cluster.json").write_text('{"machines": "many"}')
    with pytest.raises(SetupError, match=r"cluster\.json: the content is damaged"):
        layout.read()


def test_two_clusters_have_two_names(tmp_path: Path) -> None:
    one, other = ClusterLayout(tmp_path / "one"), ClusterLayout(tmp_path / "other")
    assert one.name != other.name
    assert one.link_address != other.link_address
    assert len(os.fsencode(one.name)) < 40
