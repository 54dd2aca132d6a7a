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
from tests.nodes.contracts.pods import NAMESPACE, PodHands, pods_of
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
async def hands(up: DevCluster) -> AsyncIterator[PodHands]:
    async with pods_of(up) as hands:
        yield hands


@pytest.fixture
def node() -> Node:
    return a_node()


def has_ended(hands: PodHands) -> bool:
    return hands.told[-1:] != [] and not hands.told[-1].alive


async def test_on_a_machine_that_is_lost_for_a_while_an_lnd_stays_the_only_one(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    name = manifests.name(node)
    machine = (await hands.get("pod", name))["spec"]["nodeName"]
    kubelet = hands.cluster.kubelet(int(machine.removeprefix("machine-")))
    os.kill(kubelet, signal.SIGSTOP)
    try:
        async with asyncio.timeout(120):  # the control plane waits for 50 s
            while (await hands.runtime.observe(node)).known:
                await asyncio.sleep(0.5)
        # What people do then; by itself it would be a second lnd.
        for words in (("--wait=false",), ("--force", "--grace-period=0")):
            with contextlib.suppress(AssertionError):
                await hands.kubectl("delete", "pod", name, *words, "--timeout=3s")
        taint = ("taint", "node", machine, "--overwrite")
        key = "node.kubernetes.io/out-of-service"
        await hands.kubectl(*taint, f"{key}=nodeshutdown:NoExecute")
        await asyncio.sleep(25)  # the controller that forgets pods comes every 20 s
        assert not (await hands.runtime.observe(node)).known
        with pytest.raises(NodeAway, match=f"machine {machine} does not respond"):
            await start(hands, replace(node, process=""))
        assert len(hands.lnds(node)) == 1
        assert unknown_nodes() == 1
        assert not [each for each in hands.told if not each.alive]
    finally:
        await hands.kubectl(*taint, f"{key}-")
        os.kill(kubelet, signal.SIGCONT)
    # Back again, the kubelet does what it was told, and says that it did.
    await until(lambda: has_ended(hands))
    assert not hands.told[-1].asked
    assert unknown_nodes() == 0
    again = await start(hands, replace(node, process=""))
    assert again.process != node.process
    assert len(hands.lnds(node)) == 1


async def test_an_eviction_ends_an_lnd_gracefully_and_is_no_stop_of_its_owner(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    machine = (await hands.get("pod", manifests.name(node)))["spec"]["nodeName"]
    await hands.kubectl(
        *("drain", machine, "--ignore-daemonsets", "--delete-emptydir-data"),
        "--timeout=60s",
    )
    try:
        await until(lambda: has_ended(hands))
        assert not hands.told[-1].asked
        assert hands.lnds(node) == []
    finally:
        await hands.kubectl("uncordon", machine)
    assert (await start(hands, replace(node, process=""))).process != node.process
    assert len(hands.lnds(node)) == 1


async def test_a_pod_that_crashed_before_does_not_hold_up_who_deletes_it(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    await hands.crash(node)
    await until(lambda: has_ended(hands))
    name = manifests.name(node)
    assert await hands.get("pod", name), "it stays, with its log"
    await hands.kubectl("delete", "pod", name, "--timeout=30s")
    assert not await hands.kubectl("get", "pod", name, "--ignore-not-found")


async def test_an_image_that_cannot_be_had_is_told_and_leaves_no_pod(
    hands: PodHands, node: Node
) -> None:
    image = f"localhost/leyden/lnd@sha256:{'0' * 64}"
    hands.template = replace(hands.template, images={OFFERED.default: image})
    hands.patience = 0.3
    hands.begin_anew()
    with pytest.raises(CannotStart, match=r"ErrImagePull|ImagePullBackOff") as refused:
        await start(hands, node)
    assert "image" in refused.value.reason
    assert "sha256" not in refused.value.reason
    assert (await hands.get("pods"))["items"] == []


async def test_a_volume_that_is_never_there_is_told_and_leaves_no_pod(
    hands: PodHands, node: Node
) -> None:
    hands.template = replace(hands.template, storage_class="none")
    hands.patience = 0.05
    hands.begin_anew()
    with pytest.raises(CannotStart, match=r"unbound|not found") as refused:
        await start(hands, node)
    assert "volume" in refused.value.reason
    assert (await hands.get("pods"))["items"] == []


async def test_a_volume_that_does_not_attach_is_told_and_has_the_node_once_it_does(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    volume = await hands.volume(node)
    await hands.runtime.stop(node)
    away = volume.rename(volume.with_name(f"{volume.name}-away"))
    hands.patience = 0.1
    hands.begin_anew()
    with pytest.raises(CannotStart, match="check that its volume exists") as refused:
        await start(hands, replace(node, process="", has_wallet=True))
    assert "does not start" in refused.value.reason
    assert (await hands.get("pods"))["items"] == []
    away.rename(volume)
    assert (await start(hands, replace(node, process="", has_wallet=True))).process
    assert len(hands.lnds(node)) == 1
    assert await hands.volume(node) == volume


async def test_a_quota_that_is_used_up_is_told(hands: PodHands, node: Node) -> None:
    await hands.apply(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "few"},
            "spec": {"hard": {"pods": "0"}},
        }
    )
    try:
        async with asyncio.timeout(30):
            while "hard" not in (await hands.get("quota", "few")).get("status", {}):
                await asyncio.sleep(0.1)
        with pytest.raises(CannotStart, match="exceeded quota: few") as refused:
            await start(hands, node)
        assert "quota" in refused.value.reason
    finally:
        await hands.kubectl("delete", "quota", "few")
    assert (await start(hands, node)).process


async def test_objects_that_were_deleted_or_edited_by_hand_are_as_before(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    name = manifests.name(node)
    await hands.kubectl("delete", "service", name)
    change = json.dumps({"data": {"lnd.conf": "", "more": "aGVsbG8="}})
    await hands.kubectl("patch", "secret", name, "-p", change)
    await hands.runtime.stop(node)
    node = await start(hands, replace(node, process=""))
    assert (await hands.get("service", name))["spec"]["clusterIP"] == node.host
    secret = (await hands.get("secret", name))["data"]
    assert "more" not in secret
    assert secret["lnd.conf"]
    await until(lambda: hands.told[-1:] != [] and hands.told[-1].state is not None)

    # A pod of somebody else, in the place of the node's.
    await hands.runtime.stop(node)
    foreign = {
        **hands.template.pod(node, shown=b""),
        "metadata": {"name": name},
    }
    foreign["spec"] = {**foreign["spec"], "nodeSelector": {"nowhere": "true"}}
    await hands.apply(foreign)
    with pytest.raises(CannotStart, match="not created by us, or was edited"):
        await start(hands, replace(node, process=""))


async def test_a_volume_claim_that_was_deleted_by_hand_is_missed_not_replaced(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    name = manifests.name(node)
    volume = (await hands.get("pvc", name))["spec"]["volumeName"]
    await hands.kubectl("delete", "pvc", name, "--wait=false")
    await hands.runtime.stop(node)
    left = replace(node, process="", has_wallet=True)
    async with asyncio.timeout(30):
        while await hands.kubectl("get", "pvc", name, "--ignore-not-found"):
            with pytest.raises(CannotStart, match="volume claim"):
                await start(hands, left)
    with pytest.raises(CannotStart, match=f"volume claim {name} does not exist"):
        await start(hands, left)
    kept = await hands.get("pv", volume)
    assert kept["status"]["phase"] == "Released", "what was in it is still there"


async def test_the_api_server_is_killed_while_nodes_start_and_stop(
    hands: PodHands, node: Node
) -> None:
    hands.begin_anew()
    starting = asyncio.create_task(start(hands, node))
    await asyncio.sleep(0.2)
    kill(hands.cluster, "kube-apiserver")
    await asyncio.wait([starting])
    await asyncio.to_thread(hands.cluster.run, "up")
    node = await start(hands, node)
    assert len(hands.lnds(node)) == 1
    stopping = asyncio.create_task(hands.runtime.stop(node))
    await asyncio.sleep(0.2)
    kill(hands.cluster, "kube-apiserver")
    await asyncio.wait([stopping])
    await asyncio.to_thread(hands.cluster.run, "up")
    await hands.runtime.stop(node)
    assert hands.lnds(node) == []
    assert not (await hands.runtime.observe(node)).alive


@pytest.mark.parametrize("program", ["kubelet", "containerd"])
async def test_what_runs_pods_is_killed_while_nodes_start_and_stop(
    hands: PodHands, node: Node, program: str
) -> None:
    async def killed() -> None:
        await asyncio.sleep(0.3)
        kill(hands.cluster, program)
        await asyncio.to_thread(hands.cluster.run, "up")

    starting = asyncio.create_task(start(hands, node))
    await killed()
    await asyncio.wait([starting])
    node = await start(hands, node)
    assert len(hands.lnds(node)) == 1
    stopping = asyncio.create_task(hands.runtime.stop(node))
    await killed()
    await asyncio.wait([stopping])
    await hands.runtime.stop(node)
    assert hands.lnds(node) == []
    assert not (await hands.runtime.observe(node)).alive


async def test_while_the_api_server_is_away_nothing_is_known_until_it_is_back(
    hands: PodHands, node: Node
) -> None:
    node = await start(hands, node)
    kill(hands.cluster, "kube-apiserver")
    hands.begin_anew()  # which finds nobody to ask
    hands.told.clear()
    assert not (await hands.runtime.observe(node)).known
    assert unknown_nodes() == 1
    await asyncio.to_thread(hands.cluster.run, "up")
    await until(lambda: hands.told != [] and hands.told[-1].state is not None)
    assert hands.told[-1].process == node.process
    assert unknown_nodes() == 0
    assert len(hands.lnds(node)) == 1


async def test_two_platforms_that_disagree_start_one(
    hands: PodHands, node: Node
) -> None:
    other = hands.made()
    runtimes = (hands.runtime, other)

    async def started(which: int) -> str:
        hands.runtime = runtimes[which]
        return (await start(hands, node)).process

    found = await asyncio.gather(started(0), started(1))
    assert len({*found}) == 1
    assert len(hands.lnds(node)) == 1
    with pytest.raises(Conflict):
        await other.remove(node)
    other.close()
    # What was heard may be late: that it is gone is not believed without asking.
    assert isinstance(runtimes[0], KubernetesRuntime)
    runtimes[0]._view._pods.there.clear()
    assert (await runtimes[0].observe(replace(node, process=found[0]))).alive


@pytest.mark.parametrize("becomes", [Watches.CUT, Watches.TOO_OLD])
async def test_an_end_that_could_not_be_watched_is_told_once(
    up: DevCluster, node: Node, tmp_path: Path, becomes: Watches
) -> None:
    async with (
        proxied(up, tmp_path) as proxy,
        pods_of(up, proxy.access(NAMESPACE)) as hands,
    ):
        node = await start(hands, node)
        await until(lambda: hands.told[-1:] != [] and hands.told[-1].state is not None)
        hands.told.clear()
        proxy.watches = becomes
        await hands.crash(node)
        await hands.when(manifests.name(node), lambda pod: "terminated" in str(pod))
        if becomes is Watches.CUT:
            await asyncio.sleep(1)
            assert not has_ended(hands), "nobody could hear of it"
            proxy.watches = Watches.SERVED
        await until(lambda: has_ended(hands))
        proxy.watches = Watches.SERVED
        again = await start(hands, replace(node, process=""))
        assert again.process != node.process
        assert len(hands.lnds(node)) == 1
        ends = [each for each in hands.told if not each.alive]
        assert [(each.process, each.asked) for each in ends] == [(node.process, False)]
