"""What nodes in a cluster use, where it knows; nothing where it does not."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from leyden.nodes.rules.nodes import Node
from leyden.nodes.runtimes.base import STOPPED, Usage
from leyden.nodes.runtimes.kubernetes import manifests, resource_metrics
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.node_files import KubernetesNodeFiles
from leyden.nodes.runtimes.kubernetes.resource_metrics import PodUsage, ResourceMetrics
from leyden.values import replace
from tests.nodes.rules.nodes import a_node
from tests.nodes.runtimes.stand_in_cluster import NAMESPACE, StandInCluster
from tests.nodes.runtimes.test_kubernetes import TerminationMessage

RUNS = replace(a_node(), process="uid-1")
OTHER = replace(a_node(id="another"), process="uid-2")
QUESTION = "GET metrics"


def measured(node: Node, *, cpu: str, memory: str) -> dict[str, Any]:
    """Return what metrics-server says of a pod: a container is a line of it."""
    companions = {"name": "companion", "usage": {"cpu": "7m", "memory": "9Mi"}}
    lnd = {"name": "lnd", "usage": {"cpu": cpu, "memory": memory}}
    return {
        "metadata": {"name": manifests.name(node), "namespace": NAMESPACE},
        "timestamp": "2026-03-01T12:00:00Z",
        "window": "15.02s",
        "containers": [companions, lnd],
    }


@pytest.fixture
def cluster() -> StandInCluster:
    return StandInCluster()


@pytest.fixture
async def api(cluster: StandInCluster) -> AsyncIterator[KubernetesApi]:
    async with cluster.api() as api:
        yield api


async def test_one_question_answers_for_all_nodes_and_their_pages(
    cluster: StandInCluster, api: KubernetesApi
) -> None:
    cluster.metrics = [
        measured(RUNS, cpu="12500000n", memory="94208Ki"),
        measured(OTHER, cpu="0", memory="1Gi"),
    ]
    homes = KubernetesNodeFiles(api, TerminationMessage(disk=812, height=9))
    found = await homes.usages([RUNS, OTHER])
    assert found == {
        RUNS.id: Usage(memory=94_208 << 10, cpu_cores=0.0125, height=9),
        OTHER.id: Usage(memory=1 << 30, cpu_cores=0.0),
    }
    assert await homes.usage(RUNS) == replace(found[RUNS.id], disk=812)
    assert cluster.calls == [QUESTION]


async def test_a_node_without_a_process_uses_nothing_and_one_that_is_new_is_unknown(
    cluster: StandInCluster, api: KubernetesApi
) -> None:
    cluster.metrics = []
    homes = KubernetesNodeFiles(api, TerminationMessage())
    stopped = replace(OTHER, process="")
    assert await homes.usage(stopped) == STOPPED
    assert cluster.calls == [], "who asks about it asks no cluster"
    assert await homes.usages([RUNS, stopped]) == {
        RUNS.id: Usage(),
        stopped.id: STOPPED,
    }


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (404, "the cluster has no resource metrics: install metrics-server"),
        (403, "we may not list pods.metrics.k8s.io in lnds: apply deploy/kubernetes/"),
        (503, "resource metrics API does not respond: http://.* responded with 503"),
        (400, "responded with 400"),
    ],
)
async def test_without_metrics_server_or_the_right_the_rest_is_known(
    cluster: StandInCluster,
    api: KubernetesApi,
    caplog: pytest.LogCaptureFixture,
    status: int,
    why: str,
) -> None:
    cluster.metrics = status
    homes = KubernetesNodeFiles(api, TerminationMessage(disk=812, height=9))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert await homes.usage(RUNS) == Usage(disk=812, height=9)
            assert await homes.usages([RUNS]) == {RUNS.id: Usage(height=9)}
    assert cluster.calls == [QUESTION], "a failure is kept as an answer is"
    (record,) = caplog.records
    assert record.message == "memory and CPU usage of nodes is unknown"
    found, said = await resource_metrics.fetch(api)
    assert found == {}
    with pytest.raises(ValueError, match=why):  # which shows both where they differ
        raise ValueError(said)


async def test_an_answer_is_asked_for_again_once_it_is_old(
    cluster: StandInCluster, api: KubernetesApi
) -> None:
    now = 5.0
    metrics = ResourceMetrics(api, clock=lambda: now)
    pod = manifests.name(RUNS)
    cluster.metrics = [measured(RUNS, cpu="1", memory="1Mi")]
    await metrics.read(newer_than_s=15)
    assert metrics.of(pod) == PodUsage(memory=1 << 20, cpu_cores=1.0)
    cluster.metrics = [measured(RUNS, cpu="2", memory="what it is")]
    now += 14
    await metrics.read(newer_than_s=15)
    assert metrics.of(pod).cpu_cores == 1.0
    now += 1
    await metrics.read(newer_than_s=60)
    assert metrics.of(pod).cpu_cores == 1.0
    await metrics.read(newer_than_s=15)
    assert metrics.of(pod) == PodUsage(memory=None, cpu_cores=2.0)
    cluster.metrics = 503
    now += 15
    await metrics.read(newer_than_s=15)
    assert metrics.of(pod) == PodUsage(), "what was known is old"
    assert cluster.calls == [QUESTION] * 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("12345678n", 0.012345678),
        ("250u", 0.00025),
        ("1500m", 1.5),
        ("2", 2),
        ("1.5", 1.5),
        (".5", 0.5),
        ("94208Ki", 94_208 << 10),
        ("3Mi", 3 << 20),
        ("1Gi", 1 << 30),
        ("129e6", 129_000_000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("5k", 5000),
        ("128974848", 128_974_848),
    ],
)
def test_a_quantity_has_the_units_of_kubernetes(text: str, value: float) -> None:
    assert resource_metrics.parse_quantity(text) == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["", "-1", "1 Mi", "Mi", "1Mb", "1ki", "nan", "1e", "\u0663"]
)
def test_what_is_not_a_quantity_is_not_known(text: str) -> None:
    assert resource_metrics.parse_quantity(text) is None
