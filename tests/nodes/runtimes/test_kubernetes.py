"""Nodes as pods, at a stand-in for a cluster: starts that break off, and ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from leyden.errors import CannotStart, ClusterAway, NodeAway, SetupError
from leyden.lnd.trust import trusting_whenever
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.nodes import Cause, Network, Node, Unknown
from leyden.nodes.rules.observations import End, Observation
from leyden.nodes.rules.starts import Start
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.base import LaunchSpec, Usage
from leyden.nodes.runtimes.copies import Content
from leyden.nodes.runtimes.kubernetes import manifests
from leyden.nodes.runtimes.kubernetes.api import MAX_TAIL, KubernetesApi
from leyden.nodes.runtimes.kubernetes.companions import Companion
from leyden.nodes.runtimes.kubernetes.informer import Informer
from leyden.nodes.runtimes.kubernetes.kinds import Machine, Pod
from leyden.nodes.runtimes.kubernetes.launches import Launches
from leyden.nodes.runtimes.kubernetes.move_endpoint import KubernetesMoveEndpoint
from leyden.nodes.runtimes.kubernetes.node_files import KubernetesNodeFiles
from leyden.nodes.runtimes.kubernetes.objects import NodeObjects
from leyden.nodes.runtimes.kubernetes.runtime import KubernetesRuntime
from leyden.nodes.runtimes.kubernetes.template import Template
from leyden.nodes.runtimes.kubernetes.view import ClusterView
from leyden.nodes.runtimes.local.layout import Ground
from leyden.nodes.runtimes.unknown import UnknownNodes
from leyden.values import Struct, replace
from tests.authority import Authority
from tests.nodes.rules.nodes import NOON, a_node
from tests.nodes.runtimes.stand_in_cluster import StandInCluster
from tests.waiting import until

AUTHORITY = Authority()
TEMPLATE = Template(
    grounds={Network.TESTNET: Ground(chain=Chain.SIMNET, backend=Neutrino())},
    images={OFFERED.default: "lnd"},
    storage_class="kept",
)
RUNS: Any = {"running": {}}
ENDED: Any = {"terminated": {"exitCode": 0}}
STOPPED = b"2026-03-01 12:00:00.123 [INF] LTND: Received shutdown request."
NO_IMAGE: Any = {"waiting": {"reason": "ErrImagePull"}}


class RuntimeCase:
    """A runtime at a cluster, and what it told."""

    def __init__(self, cluster: StandInCluster, api: KubernetesApi) -> None:
        self.cluster = cluster
        self.api = api
        self.observations: list[Observation] = []
        self.runtimes: list[KubernetesRuntime] = []

    def runtime(self, *, patience: float = 1.0) -> KubernetesRuntime:
        made = KubernetesRuntime(
            self.api,
            TEMPLATE,
            trusts=trusting_whenever(AUTHORITY.pem),
            patience=patience,
        )
        made.watch(lambda _, seen: self.observations.append(seen))
        self.runtimes.append(made)
        return made

    async def broken_off(self, node: Node) -> Node:
        """Start a node until its process is known; return it as it is stored then."""
        steps = self.runtime().start(node, spec(node))
        async with aclosing(steps):
            async for each in steps:
                if each.process:
                    self.runtimes[-1].close()
                    return replace(
                        node,
                        host=each.host,
                        process=each.process,
                        launched_revision=each.revision,
                    )
        raise AssertionError

    async def launches(self, *, patience: float = 1.0) -> tuple[Launches, ClusterView]:
        view = ClusterView(self.api, lambda _, __: None)
        await view.ready()
        objects = NodeObjects(self.api, TEMPLATE)
        return Launches(objects, view, UnknownNodes("pods"), patience=patience), view

    async def a_pod(self, node: Node) -> Pod:
        pod = await NodeObjects(self.api, TEMPLATE).create_pod(
            node, TEMPLATE.pod(node, shown=b""), claim_uid="uid"
        )
        assert pod is not None
        return pod

    @property
    def pod(self) -> dict[str, Any]:
        pod = self.cluster.pod()
        assert pod is not None
        return pod


def spec(node: Node) -> LaunchSpec:
    chain, key = AUTHORITY.sign(node.api_endpoint)
    return LaunchSpec(
        settings=replace(node.settings, whitelist=()),
        tls=Tls(chain_pem=chain, key_pem=key),
    )


class TerminationMessage(Struct):
    """Companions that reported no more than the end of a log, or the disk."""

    log: bytes = b""
    disk: int | None = None
    height: int = 0

    async def usage(self, _: str) -> Usage:
        return Usage(disk=self.disk, height=self.height)

    async def heights(self) -> dict[str, int]:
        return {a_node().id: self.height}

    async def channel_backup(self, _: str) -> None:
        return None

    async def log_tail(self, _: str) -> bytes:
        return self.log


async def stays(task: asyncio.Task[Any], *, for_s: float = 0.3) -> bool:
    """Return whether a task goes on for some time."""
    return not (await asyncio.wait([task], timeout=for_s))[0]


async def until_known(runtime: KubernetesRuntime, node: Node, *, known: bool) -> None:
    """Wait until it was heard whether a node's machine answers."""
    async with asyncio.timeout(10):
        while (await runtime.observe(node)).known is not known:
            await asyncio.sleep(0.005)


@pytest.fixture
async def case() -> AsyncIterator[RuntimeCase]:
    cluster = StandInCluster()
    async with cluster.api() as api:
        case = RuntimeCase(cluster, api)
        yield case
        for each in case.runtimes:
            each.close()


async def test_a_process_is_known_before_its_lnd_runs_and_can_be_stopped(
    case: RuntimeCase,
) -> None:
    node = await case.broken_off(a_node())
    assert node.process == case.pod["metadata"]["uid"]
    assert "status" not in case.pod, "no machine has it yet"
    runtime = case.runtime()
    await runtime.stop(node)
    assert case.cluster.pod() is None
    assert not (await runtime.observe(node)).alive


async def test_a_pod_whose_process_nobody_saved_can_be_stopped(
    case: RuntimeCase,
) -> None:
    await case.runtime().stop(a_node())  # there is none yet, and nothing to stop
    node = await case.broken_off(a_node())
    await case.runtime().stop(replace(node, process=""))
    assert case.cluster.pod() is None


async def test_of_a_pod_that_does_not_start_the_end_is_seen(case: RuntimeCase) -> None:
    node, runtime, process = a_node(), case.runtime(patience=0.001), ""
    with pytest.raises(CannotStart, match="still creating"):
        async for each in runtime.start(node, spec(node)):
            process = each.process
    observation = await runtime.observe(replace(node, process=process))
    assert process
    assert (observation.process, observation.known, observation.alive) == (
        process,
        True,
        False,
    )


async def test_a_pod_whose_start_broke_off_is_taken_away_if_it_never_runs(
    case: RuntimeCase,
) -> None:
    node = await case.broken_off(a_node())
    assert (await case.runtime(patience=0.001).observe(node)).alive
    await until(lambda: bool(case.observations))
    never_ran = End(cause=Cause.NOT_STARTED, why="its pod was deleted")
    assert case.observations == [
        Observation(process=node.process, alive=False, end=never_ran)
    ]
    assert case.cluster.pod() is None


async def test_while_another_pod_of_the_node_runs_it_is_not_stopped(
    case: RuntimeCase,
) -> None:
    node = await case.broken_off(a_node())
    case.cluster.set(case.pod, **RUNS)
    earlier = replace(node, process="one before")
    stopping = asyncio.create_task(case.runtime().stop(earlier))
    assert await stays(stopping, for_s=0.1)
    case.cluster.set(case.pod, **ENDED)
    await stopping
    assert case.cluster.pod() is None


async def test_an_lnd_whose_machine_is_back_is_told_of_once(case: RuntimeCase) -> None:
    """Who asked for something meanwhile was refused, and waits to be told."""
    node, runtime = await case.broken_off(a_node()), case.runtime()
    case.cluster.set(case.pod, **RUNS)
    await until_known(runtime, node, known=True)
    case.observations.clear()
    case.cluster.set_ready("Unknown")
    await until_known(runtime, node, known=False)
    with pytest.raises(NodeAway):
        await runtime.stop(node)
    why = "machine machine-1 does not respond"
    unknown = Observation(process=node.process, known=False, why=why)
    assert case.observations == [unknown]
    case.cluster.set_ready("True")
    await until(lambda: len(case.observations) > 1)
    case.cluster.set(case.pod, **RUNS)
    case.cluster.set_ready("False")
    case.cluster.set(case.pod, **ENDED)
    await until(lambda: not case.observations[-1].alive)
    by_itself = End(cause=Cause.EXITED, why="exit code 0")
    assert case.observations == [
        unknown,
        Observation(process=node.process),
        Observation(
            process=node.process, alive=False, stopped_by_owner=True, end=by_itself
        ),
    ]


@pytest.mark.parametrize(
    ("reason", "log", "is_requested"),
    [
        ("Evicted", None, False),
        ("Terminated", None, False),
        ("Terminated", b"", False),
        ("Terminated", STOPPED, True),
        ("", None, True),
    ],
)
async def test_what_a_kubelet_ended_was_not_stopped_by_its_owner(
    case: RuntimeCase, reason: str, log: bytes | None, *, is_requested: bool
) -> None:
    """Its machine is short of memory, or shuts down, and the log is gone or silent."""
    node, runtime = await case.broken_off(a_node()), case.runtime()
    case.cluster.set(case.pod, **RUNS)
    await until_known(runtime, node, known=True)
    case.cluster.log = log
    case.cluster.set(case.pod, reason=reason, **ENDED)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    assert case.observations[-1].stopped_by_owner is is_requested


async def test_pod_has_an_event_with_why_its_lnd_ended(case: RuntimeCase) -> None:
    node, runtime = await case.broken_off(a_node()), case.runtime()
    case.cluster.set(case.pod, **RUNS)
    await until_known(runtime, node, known=True)
    at = "2026-03-01T12:00:00Z"
    short = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": at}
    case.cluster.set(case.pod, terminated=short)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    assert case.observations[-1].end == End(cause=Cause.OUT_OF_MEMORY, why="OOMKilled")
    (event,) = (o for (kind, _), o in case.cluster.objects.items() if kind == "events")
    assert event["involvedObject"]["uid"] == node.process
    assert (event["reason"], event["message"], event["lastTimestamp"]) == (
        "OutOfMemory",
        "lnd ended: OOMKilled",
        at,
    )


async def test_log_is_not_the_clusters_fault_when_a_machine_is_lost(
    case: RuntimeCase,
) -> None:
    case.cluster.log_refusal = 500
    homes = KubernetesNodeFiles(case.api, TerminationMessage())
    with pytest.raises(NodeAway, match="machine does not respond") as away:
        await homes.log(a_node(), 9)
    assert "machine" in away.value.message
    case.cluster.log_refusal = 503
    with pytest.raises(ClusterAway):
        await homes.log(a_node(), 9)
    unknown = Unknown(since=NOON, why="machine-1 does not respond")
    with pytest.raises(NodeAway):
        await homes.log(a_node(unknown=unknown), 9)


async def test_who_could_not_stop_an_lnd_is_told_when_the_cluster_answers(
    case: RuntimeCase,
) -> None:
    node, runtime = await case.broken_off(a_node()), case.runtime()
    case.cluster.set(case.pod, **RUNS)
    await until_known(runtime, node, known=True)
    case.observations.clear()
    case.cluster.is_away = True
    with pytest.raises(ClusterAway):
        await runtime.stop(replace(node, process=""))
    assert not runtime._unobserved, "of no process no end is told"
    with pytest.raises(ClusterAway):
        await runtime.stop(node)
    case.cluster.is_away = False
    await until(lambda: bool(case.observations))
    assert case.observations == [Observation(process=node.process)]


async def test_a_node_whose_volume_is_being_copied_keeps_no_other_from_being_told(
    case: RuntimeCase,
) -> None:
    """Both could not be stopped while the cluster did not answer."""
    copied, other = a_node(id="a-copied-oneN"), a_node(id="another-oneN")
    copied = await case.broken_off(copied)
    pod = case.pod
    other, runtime = await case.broken_off(other), case.runtime()
    for each in (copied, other):
        case.cluster.set(case.cluster.objects["pods", manifests.name(each)], **RUNS)
        await until_known(runtime, each, known=True)
    case.observations.clear()
    case.cluster.is_away = True
    for each in (copied, other):
        with pytest.raises(ClusterAway):
            await runtime.stop(each)
    case.cluster.drop_finalizers("pods", pod, pod["metadata"]["finalizers"])
    case.cluster.delete("pods", pod)
    case.cluster.create("pods", manifests.copier(copied, image="copier", rest_port=1))
    case.cluster.is_away = False
    await until(lambda: Observation(process=other.process) in case.observations)


async def test_a_pod_that_others_hold_is_asked_about_now_and_then(
    case: RuntimeCase,
) -> None:
    node = a_node()
    pod = await case.a_pod(node)
    case.pod["metadata"]["finalizers"].append("others/held")
    case.cluster.set(case.pod, **ENDED)
    launches, view = await case.launches()
    removing = asyncio.create_task(launches.remove(node, pod))
    assert await stays(removing)
    assert case.cluster.calls.count("GET pods") <= 4
    case.cluster.drop_finalizers("pods", case.pod, ["others/held"])
    await removing
    view.close()


async def test_what_is_heard_late_is_asked_about_now_and_then(
    case: RuntimeCase,
) -> None:
    node = a_node()
    pod = await case.a_pod(node)
    case.cluster.set(case.pod, **RUNS)
    launches, view = await case.launches()
    case.cluster.is_silent = True
    removing = asyncio.create_task(launches.remove(node, pod))
    assert await stays(removing)
    assert case.cluster.calls.count("GET pods") <= 3
    case.cluster.set(case.pod, **ENDED)
    await removing
    view.close()


async def test_each_hindrance_has_its_own_time(case: RuntimeCase) -> None:
    node = a_node()
    pod = await case.a_pod(node)
    launches, view = await case.launches(patience=0.015)  # 0.3 s for an image
    waiting = asyncio.create_task(launches.until_it_runs(node, pod))
    assert await stays(waiting, for_s=0.35)
    case.cluster.set(case.pod, **NO_IMAGE)
    assert await stays(waiting, for_s=0.1)
    case.cluster.set(case.pod, **RUNS)
    assert (await waiting).uid == pod.uid
    view.close()


async def test_watches_that_end_at_once_are_begun_again_ever_later(
    case: RuntimeCase,
) -> None:
    case.cluster.ends_watches = True
    informer = Informer(case.api, "/api/v1/nodes", Machine, lambda _, __: None)
    running = asyncio.create_task(informer.run())
    at = case.cluster.watched_at
    await until(lambda: len(at) == 3)
    running.cancel()
    assert at[1] - at[0] >= 0.1
    assert at[2] - at[1] >= 0.2


async def test_a_change_that_nobody_expects_does_not_end_a_watch(
    case: RuntimeCase,
) -> None:
    lines: list[str] = []

    def tell(machine: Machine, gone: bool) -> None:  # noqa: ARG001, FBT001
        if machine.metadata.name == "machine-2":
            raise ZeroDivisionError
        lines.append(machine.metadata.name)

    informer = Informer(case.api, "/api/v1/nodes", Machine, tell)
    running = asyncio.create_task(informer.run())
    await until(lambda: lines == ["machine-1"])
    for number in (2, 3):
        case.cluster.create("nodes", {"metadata": {"name": f"machine-{number}"}})
    await until(lambda: lines == ["machine-1", "machine-3"])
    running.cancel()


async def test_a_server_that_is_busy_is_asked_when_it_says_and_for_no_more(
    case: RuntimeCase,
) -> None:
    """Listing everything is what costs it most."""
    case.cluster.is_busy = True
    answer: list[tuple[str, bool]] = []
    informer = Informer(
        case.api,
        "/api/v1/nodes",
        Machine,
        lambda machine, gone: answer.append((machine.metadata.name, gone)),
    )
    running = asyncio.create_task(informer.run())
    at = case.cluster.watched_at
    await until(lambda: len(at) == 2)
    case.cluster.create("nodes", {"metadata": {"name": "machine-2"}})
    case.cluster.is_busy = False
    await until(lambda: ("machine-2", False) in answer)
    running.cancel()
    assert at[1] - at[0] >= 1
    assert informer.lists == 1


async def test_of_a_long_log_the_end_is_read(case: RuntimeCase) -> None:
    case.cluster.log = b"x" * 3 * MAX_TAIL + b"\nthe last\n"
    case.cluster.log += b"of all\n"
    homes = KubernetesNodeFiles(case.api, TerminationMessage())
    assert await homes.log(a_node(), 2) == ["the last", "of all"], "whole lines alone"


async def test_of_a_long_log_no_more_than_the_end_is_kept(case: RuntimeCase) -> None:
    case.cluster.log = b"x" * MAX_TAIL + b"the end"
    stored = await case.api.tail(case.api.path("pods", "one", of="log"), {})
    assert stored == case.cluster.log[-MAX_TAIL:]


async def test_what_an_earlier_lnd_said_is_before_what_this_one_says(
    case: RuntimeCase,
) -> None:
    before = b"one at /home/lnd/.lnd/data\ntwo\nthree\n"
    homes = KubernetesNodeFiles(case.api, TerminationMessage(before))
    assert await homes.log(a_node(), 9) == ["one at ~/.lnd/data", "two", "three"]
    case.cluster.log = b"four\nfive\n"
    assert await homes.log(a_node(), 3) == ["three", "four", "five"]
    case.cluster.log = b"three\nfour\n"  # it has ended, and its pod is still there
    assert await homes.log(a_node(), 9) == [
        "one at ~/.lnd/data",
        "two",
        "three",
        "four",
    ]
    case.cluster.log = b"four\nfive\n"
    assert await homes.log(a_node(), 2) == ["four", "five"]


async def test_a_start_is_counted_and_another_volume_needs_the_operators_word(
    case: RuntimeCase,
) -> None:
    node = a_node()
    await case.broken_off(node)
    case.cluster.delete("pods", case.pod)
    ((_, claim),) = [
        each
        for each in case.cluster.objects.items()
        if each[0][0] == "persistentvolumeclaims"
    ]
    claim["spec"]["volumeName"] = "volume-1"

    async def started(last: Start) -> Start:
        given = replace(spec(node), last_start=last)
        steps = case.runtime().start(replace(node, has_wallet=True), given)
        async with aclosing(steps):
            async for each in steps:
                if each.process:
                    case.runtimes[-1].close()
                    return each.start
        raise AssertionError

    first = await started(Start(number=1, copy=""))
    assert first == Start(number=2, copy="volume-1")
    assert await started(first) == first, "it runs already"
    case.cluster.delete("pods", case.pod)
    with pytest.raises(
        CannotStart, match=f"leyden data-dir accept-copy {node.id}"
    ) as refused:
        await started(Start(number=2, copy="volume-0"))
    assert "volume-" not in refused.value.reason
    assert (await started(Start(number=2, copy=""))).number == 3


async def test_who_slept_deletes_the_volume_it_had_found_and_no_later_one(
    case: RuntimeCase,
) -> None:
    node, objects = a_node(), NodeObjects(case.api, TEMPLATE)
    side = KubernetesMoveEndpoint(
        case.runtime(), objects, TEMPLATE, trusts=trusting_whenever(AUTHORITY.pem)
    )

    async def arrived() -> str:
        await objects.service(node)
        return await objects.prepare(node, spec(node))

    first = await arrived()
    found = await side.leftovers(node)
    await side.delete(node, found)  # by another worker
    later = await arrived()  # by another move
    await side.delete(node, found)
    assert await side.leftovers(node) == [later] != [first]
    kinds = {"persistentvolumeclaims", "secrets", "services"}
    assert kinds <= {kind for kind, _ in case.cluster.objects}
    for claim in (later, ""):  # the second time after a kill
        assert await side.leftovers(node) == [claim]
        await side.delete(node, [claim])
        assert not kinds & {kind for kind, _ in case.cluster.objects}


@asynccontextmanager
async def copier_pod(
    node: Node, folder: Path, calls: list[str], *, holds: str, receives: str
) -> AsyncIterator[int]:
    """Serve as a copier pod does, whose volume has this digest, and then another."""
    digests = {True: holds, False: receives}

    async def respond(request: web.Request) -> web.Response:
        await request.read()
        if request.method != "GET":
            calls.append(request.path)
        return web.json_response(
            {"digest": digests["/archive" not in calls], "size": 1}
        )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", respond)
    AUTHORITY.give(folder, node.api_endpoint)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "tls.cert", folder / "tls.key")
    server = TestServer(app, host="127.0.0.2")
    await server.start_server(ssl=tls)
    yield server.port or 0
    await server.close()


async def nothing() -> AsyncIterator[bytes]:
    """Yield an archive without files."""
    yield bytes(1024)


@pytest.mark.parametrize(
    ("holds", "receives", "called"),
    [
        ("", "sealed", ["/archive", "/complete"]),
        ("sealed", "", ["/complete"]),  # written by a process that was killed
        ("", "damaged", ["/archive"]),
    ],
)
async def test_a_copy_is_complete_once_it_equals_what_was_sealed(
    case: RuntimeCase, tmp_path: Path, holds: str, receives: str, called: list[str]
) -> None:
    node, calls = a_node(), list[str]()
    async with copier_pod(
        node, tmp_path, calls, holds=holds, receives=receives
    ) as port:
        companion = Companion(image="copier", url="", name="", anchors_pem="")
        template = replace(TEMPLATE, companion=companion, rest_port=port)
        trusts, objects = (
            trusting_whenever(AUTHORITY.pem),
            NodeObjects(case.api, template),
        )
        side = KubernetesMoveEndpoint(case.runtime(), objects, template, trusts=trusts)
        sealed = Content(digest="sealed", size=1)
        writing = asyncio.create_task(side.write(node, spec(node), nothing(), sealed))
        await until(lambda: case.cluster.pod() is not None)
        case.cluster.set(case.pod, **RUNS)
        if receives == "damaged":
            with pytest.raises(SetupError, match="differs from the original"):
                await writing
        else:
            assert await writing == case.pod["metadata"]["uid"]
    assert calls == called


async def test_the_controller_of_a_pod_is_its_nodes_claim_when_it_is_created(
    case: RuntimeCase,
) -> None:
    """A drain refuses pods that nobody would start again."""
    node, objects = a_node(), NodeObjects(case.api, TEMPLATE)
    uid = await objects.prepare(node, spec(node))
    assert uid == await objects.prepare(node, spec(node)), "the second time"
    manifest = TEMPLATE.pod(node, shown=b"")
    assert await objects.create_pod(node, manifest, claim_uid=uid)
    claim = case.cluster.objects["persistentvolumeclaims", manifests.name(node)]
    assert case.pod["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": manifests.name(node),
            "uid": claim["metadata"]["uid"],
            "controller": True,
        }
    ]
    assert "ownerReferences" not in claim["metadata"]


async def test_what_a_move_left_is_there_until_its_claim_is_gone(
    case: RuntimeCase,
) -> None:
    node, objects = a_node(), NodeObjects(case.api, TEMPLATE)
    side = KubernetesMoveEndpoint(
        case.runtime(), objects, TEMPLATE, trusts=trusting_whenever(AUTHORITY.pem)
    )
    await objects.service(node)
    await objects.prepare(node, spec(node))
    claim = case.cluster.objects["persistentvolumeclaims", manifests.name(node)]
    claim["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
    found = await side.leftovers(node)
    deleting = asyncio.ensure_future(side.delete(node, found))
    assert await stays(deleting)
    case.cluster.drop_finalizers(
        "persistentvolumeclaims", claim, ["kubernetes.io/pvc-protection"]
    )
    await deleting
