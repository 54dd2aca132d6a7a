"""What happens to nodes in pods when the cluster does not do what it should.

Each test ends with as many lnds as there are to be: one, or none.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.errors import CannotStart, Conflict, NodeAway
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.values import replace
from tests.metrics import unknown_nodes
from tests.nodes.contracts.pods import NAMESPACE, PodRuntimeCase, pods_of
from tests.nodes.contracts.runtimes import start
from tests.nodes.rules.nodes import a_node
from tests.waiting import until
from tests.workshop.devcluster.api_proxy import Watches, proxied
from tests.workshop.devcluster.clusters import DevCluster, kill

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("no_unknown_nodes"),
]


@pytest.fixture
async def case(up: DevCluster) -> AsyncIterator[PodRuntimeCase]:
    async with pods_of(up) as case:
        yield case


@pytest.fixture
def node() -> Node:
    return a_node()


def has_ended(case: PodRuntimeCase) -> bool:
    return case.observations[-1:] != [] and not case.observations[-1].alive


async def test_on_a_machine_that_is_lost_for_a_while_an_lnd_stays_the_only_one(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    name = manifests.name(node)
    machine = (await case.get("pod", name))["spec"]["nodeName"]
    kubelet = case.cluster.kubelet(int(machine.removeprefix("machine-")))
    os.kill(kubelet, signal.SIGSTOP)
    try:
        async with asyncio.timeout(120):  # the control plane waits for 50 s
            while (await case.runtime.observe(node)).known:
                await asyncio.sleep(0.5)
        # What people do then; by itself it would be a second lnd.
        for words in (("--wait=false",), ("--force", "--grace-period=0")):
            with contextlib.suppress(AssertionError):
                await case.kubectl("delete", "pod", name, *words, "--timeout=3s")
        taint = ("taint", "node", machine, "--overwrite")
        key = "node.kubernetes.io/out-of-service"
        await case.kubectl(*taint, f"{key}=nodeshutdown:NoExecute")
        await asyncio.sleep(25)  # the controller that forgets pods comes every 20 s
        assert not (await case.runtime.observe(node)).known
        with pytest.raises(NodeAway, match=f"machine {machine} does not respond"):
            await start(case, replace(node, process=""))
        assert len(case.lnds(node)) == 1
        assert unknown_nodes() == 1
        assert not [each for each in case.observations if not each.alive]
    finally:
        await case.kubectl(*taint, f"{key}-")
        os.kill(kubelet, signal.SIGCONT)
    # Back again, the kubelet does what it was told, and says that it did.
    await until(lambda: has_ended(case))
    assert not case.observations[-1].stopped_by_owner
    assert unknown_nodes() == 0
    again = await start(case, replace(node, process=""))
    assert again.process != node.process
    assert len(case.lnds(node)) == 1


async def test_an_eviction_ends_an_lnd_gracefully_and_is_no_stop_of_its_owner(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    machine = (await case.get("pod", manifests.name(node)))["spec"]["nodeName"]
    await case.kubectl(
        *("drain", machine, "--ignore-daemonsets", "--delete-emptydir-data"),
        "--timeout=60s",
    )
    try:
        await until(lambda: has_ended(case))
        assert not case.observations[-1].stopped_by_owner
        assert case.lnds(node) == []
    finally:
        await case.kubectl("uncordon", machine)
    assert (await start(case, replace(node, process=""))).process != node.process
    assert len(case.lnds(node)) == 1


async def test_a_pod_that_crashed_before_does_not_hold_up_who_deletes_it(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    await case.crash(node)
    await until(lambda: has_ended(case))
    name = manifests.name(node)
    assert await case.get("pod", name), "it stays, with its log"
    await case.kubectl("delete", "pod", name, "--timeout=30s")
    assert not await case.kubectl("get", "pod", name, "--ignore-not-found")


async def test_an_image_that_cannot_be_had_is_told_and_leaves_no_pod(
    case: PodRuntimeCase, node: Node
) -> None:
    image = f"localhost/leyden/lnd@sha256:{'0' * 64}"
    case.template = replace(case.template, images={OFFERED.default: image})
    case.patience = 0.3
    case.begin_anew()
    with pytest.raises(CannotStart, match=r"ErrImagePull|ImagePullBackOff") as refused:
        await start(case, node)
    assert "image" in refused.value.reason
    assert "sha256" not in refused.value.reason
    assert (await case.get("pods"))["items"] == []


async def test_a_volume_that_is_never_there_is_told_and_leaves_no_pod(
    case: PodRuntimeCase, node: Node
) -> None:
    case.template = replace(case.template, storage_class="none")
    case.patience = 0.05
    case.begin_anew()
    with pytest.raises(CannotStart, match=r"unbound|not found") as refused:
        await start(case, node)
    assert "volume" in refused.value.reason
    assert (await case.get("pods"))["items"] == []


async def test_a_volume_that_does_not_attach_is_told_and_has_the_node_once_it_does(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    volume = await case.volume(node)
    await case.runtime.stop(node)
    away = volume.rename(volume.with_name(f"{volume.name}-away"))
    case.patience = 0.1
    case.begin_anew()
    with pytest.raises(CannotStart, match="check that its volume exists") as refused:
        await start(case, replace(node, process="", has_wallet=True))
    assert "does not start" in refused.value.reason
    assert (await case.get("pods"))["items"] == []
    away.rename(volume)
    assert (await start(case, replace(node, process="", has_wallet=True))).process
    assert len(case.lnds(node)) == 1
    assert await case.volume(node) == volume


async def test_a_quota_that_is_used_up_is_told(
    case: PodRuntimeCase, node: Node
) -> None:
    await case.apply(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "few"},
            "spec": {"hard": {"pods": "0"}},
        }
    )
    try:
        async with asyncio.timeout(30):
            while "hard" not in (await case.get("quota", "few")).get("status", {}):
                await asyncio.sleep(0.1)
        with pytest.raises(CannotStart, match="exceeded quota: few") as refused:
            await start(case, node)
        assert "quota" in refused.value.reason
    finally:
        await case.kubectl("delete", "quota", "few")
    assert (await start(case, node)).process


async def test_objects_that_were_deleted_or_edited_by_hand_are_as_before(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    name = manifests.name(node)
    await case.kubectl("delete", "service", name)
    change = json.dumps({"data": {"lnd.conf": "", "more": "aGVsbG8="}})
    await case.kubectl("patch", "secret", name, "-p", change)
    await case.runtime.stop(node)
    node = await start(case, replace(node, process=""))
    assert (await case.get("service", name))["spec"]["clusterIP"] == node.host
    secret = (await case.get("secret", name))["data"]
    assert "more" not in secret
    assert secret["lnd.conf"]
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )

    # A pod of somebody else, in the place of the node's.
    await case.runtime.stop(node)
    foreign = {
        **case.template.pod(node, shown=b""),
        "metadata": {"name": name},
    }
    foreign["spec"] = {**foreign["spec"], "nodeSelector": {"nowhere": "true"}}
    await case.apply(foreign)
    with pytest.raises(CannotStart, match="not created by us, or was edited"):
        await start(case, replace(node, process=""))


async def test_a_volume_claim_that_was_deleted_by_hand_is_missed_not_replaced(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    name = manifests.name(node)
    volume = (await case.get("pvc", name))["spec"]["volumeName"]
    await case.kubectl("delete", "pvc", name, "--wait=false")
    await case.runtime.stop(node)
    left = replace(node, process="", has_wallet=True)
    async with asyncio.timeout(30):
        while await case.kubectl("get", "pvc", name, "--ignore-not-found"):
            with pytest.raises(CannotStart, match="volume claim"):
                await start(case, left)
    with pytest.raises(CannotStart, match=f"volume claim {name} does not exist"):
        await start(case, left)
    answer = await case.get("pv", volume)
    assert answer["status"]["phase"] == "Released", "what was in it is still there"


async def test_the_api_server_is_killed_while_nodes_start_and_stop(
    case: PodRuntimeCase, node: Node
) -> None:
    case.begin_anew()
    starting = asyncio.create_task(start(case, node))
    await asyncio.sleep(0.2)
    kill(case.cluster, "kube-apiserver")
    await asyncio.wait([starting])
    await asyncio.to_thread(case.cluster.run, "up")
    node = await start(case, node)
    assert len(case.lnds(node)) == 1
    stopping = asyncio.create_task(case.runtime.stop(node))
    await asyncio.sleep(0.2)
    kill(case.cluster, "kube-apiserver")
    await asyncio.wait([stopping])
    await asyncio.to_thread(case.cluster.run, "up")
    await case.runtime.stop(node)
    assert case.lnds(node) == []
    assert not (await case.runtime.observe(node)).alive


@pytest.mark.parametrize("program", ["kubelet", "containerd"])
async def test_what_runs_pods_is_killed_while_nodes_start_and_stop(
    case: PodRuntimeCase, node: Node, program: str
) -> None:
    async def killed() -> None:
        await asyncio.sleep(0.3)
        kill(case.cluster, program)
        await asyncio.to_thread(case.cluster.run, "up")

    starting = asyncio.create_task(start(case, node))
    await killed()
    await asyncio.wait([starting])
    node = await start(case, node)
    assert len(case.lnds(node)) == 1
    stopping = asyncio.create_task(case.runtime.stop(node))
    await killed()
    await asyncio.wait([stopping])
    await case.runtime.stop(node)
    assert case.lnds(node) == []
    assert not (await case.runtime.observe(node)).alive


async def test_while_the_api_server_is_away_nothing_is_known_until_it_is_back(
    case: PodRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    kill(case.cluster, "kube-apiserver")
    case.begin_anew()  # which finds nobody to ask
    case.observations.clear()
    assert not (await case.runtime.observe(node)).known
    assert unknown_nodes() == 1
    await asyncio.to_thread(case.cluster.run, "up")
    await until(
        lambda: case.observations != [] and case.observations[-1].state is not None
    )
    assert case.observations[-1].process == node.process
    assert unknown_nodes() == 0
    assert len(case.lnds(node)) == 1


async def test_two_platforms_that_disagree_start_one(
    case: PodRuntimeCase, node: Node
) -> None:
    other = case.made()
    runtimes = (case.runtime, other)

    async def started(which: int) -> str:
        case.runtime = runtimes[which]
        return (await start(case, node)).process

    found = await asyncio.gather(started(0), started(1))
    assert len({*found}) == 1
    assert len(case.lnds(node)) == 1
    with pytest.raises(Conflict):
        await other.remove(node)
    other.close()
    # What was heard may be late: that it is gone is not believed without asking.
    assert isinstance(runtimes[0], KubernetesRuntime)
    runtimes[0]._view._pods.objects.clear()
    assert (await runtimes[0].observe(replace(node, process=found[0]))).alive


@pytest.mark.parametrize("becomes", [Watches.CUT, Watches.TOO_OLD])
async def test_an_end_that_could_not_be_watched_is_told_once(
    up: DevCluster, node: Node, tmp_path: Path, becomes: Watches
) -> None:
    async with (
        proxied(up, tmp_path) as proxy,
        pods_of(up, proxy.access(NAMESPACE)) as case,
    ):
        node = await start(case, node)
        await until(
            lambda: (
                case.observations[-1:] != [] and case.observations[-1].state is not None
            )
        )
        case.observations.clear()
        proxy.watches = becomes
        await case.crash(node)
        await case.when(manifests.name(node), lambda pod: "terminated" in str(pod))
        if becomes is Watches.CUT:
            await asyncio.sleep(1)
            assert not has_ended(case), "nobody could hear of it"
            proxy.watches = Watches.SERVED
        await until(lambda: has_ended(case))
        proxy.watches = Watches.SERVED
        again = await start(case, replace(node, process=""))
        assert again.process != node.process
        assert len(case.lnds(node)) == 1
        ends = [each for each in case.observations if not each.alive]
        assert [(each.process, each.stopped_by_owner) for each in ends] == [
            (node.process, False)
        ]
