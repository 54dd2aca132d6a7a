"""A cluster of two machines on this one: an lnd in a pod, kills, and what is left."""

import contextlib
import functools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.base.daemons import catalogue
from leyden.base.daemons.build import default_cache
from leyden.base.processes import ProcessIdentity, alive, identify
from leyden_workshop.devcluster import cgroups, images, namespaces, packages
from leyden_workshop.devcluster.certificates import Pair, Subject, authority, issue
from tests.programs import needs
from tests.reaper import descendants
from tests.workshop.devcluster import lnd_pod
from tests.workshop.devcluster.clusters import DevCluster, program, until, within

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

LND = catalogue.find("lnd")[1].version
STATE = """
import ssl, sys, urllib.request
trusting = ssl.create_default_context(cafile=sys.argv[2])
trusting.check_hostname = False
address = f"https://{sys.argv[1]}:8080/v1/state"
print(urllib.request.urlopen(address, context=trusting, timeout=5).read().decode())
"""
TUNABLES = (
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic"),
    *("kernel/panic_on_oops", "kernel/keys/root_maxkeys"),
    *("net/ipv4/ip_forward", "net/netfilter/nf_conntrack_max"),
)
# Where kubelets, containerd and network plugins write unless they are kept from it.
ELSEWHERE = (
    *("/etc/cni", "/etc/kubernetes", "/opt/cni", "/run/containerd", "/run/netns"),
    *("/usr/libexec/kubernetes", "/var/lib/cni", "/var/lib/containerd"),
    *("/var/lib/kubelet", "/var/log/containers", "/var/log/pods"),
)


@dataclass(frozen=True)
class Light:
    """An lnd on the second machine, and the authority of its certificate."""

    cluster: DevCluster
    name: str
    authority: Path

    def state(self, machine: int | None = None) -> str:
        """Ask lnd at its service's address; on a machine, or on this host."""
        found = self.cluster.get("service", self.name)["spec"]["clusterIP"]
        words = (STATE, found, str(self.authority))
        if machine is None:
            return self.cluster.here(*words)
        return self.cluster.on_machine(machine, *words)

    def lnds(self) -> set[ProcessIdentity]:
        """Return its processes; those of pods that are on their way out are others."""
        uid = self.cluster.get("pod", self.name)["metadata"]["uid"]
        found = set()
        for each in within(self.cluster):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                mounts = Path(f"/proc/{each.pid}/mountinfo").read_text()
                if Path(each.exe).name == "lnd" and uid in mounts:
                    found.add(each)
        assert found
        return found


@pytest.fixture
def shown(tmp_path: Path) -> Pair:
    """A certificate for lnds; its authority lies beside it."""
    now = datetime.now(UTC)
    by = authority(tmp_path, "harbour", now=now)
    return issue(by, tmp_path / "lnd.crt", Subject(name="lnd", names=("lnd",)), now=now)


@pytest.fixture
def light(up: DevCluster, shown: Pair) -> Iterator[Light]:
    given = lnd_pod.objects("light", LND, "machine-2", shown)
    up.kubectl("apply", "-f", "-", given=given)
    yield Light(up, "light", shown.certificate.with_name("harbour.crt"))
    if up.status()["api"] != "ready":
        up.run("up")
    remove(up, "light")


def remove(cluster: DevCluster, name: str) -> None:
    for kind in ("pod", "service", "secret", "pvc"):
        cluster.kubectl("delete", kind, name, "--ignore-not-found", "--grace-period=1")


def bound(cluster: DevCluster, claim: str) -> object:
    return cluster.get("pvc", claim)["spec"].get("volumeName")


def of_the_host() -> dict[str, str]:
    """What a kubelet would change of the whole host."""
    found = {
        name: Path("/proc/sys", name).read_text()
        for name in TUNABLES
        if Path("/proc/sys", name).exists()
    }
    return {**found, "there": str([each for each in ELSEWHERE if Path(each).exists()])}


BEFORE = of_the_host()


def test_an_lnd_in_a_pod_answers_at_its_service_from_the_other_machine(
    up: DevCluster, light: Light
) -> None:
    expected = {"state": "NON_EXISTING"}
    for machine in (1, 2, None):
        until(f"an answer on {machine}", functools.partial(light.state, machine))
        assert json.loads(light.state(machine)) == expected
    assert "Waiting for wallet encryption password" in up.kubectl("logs", light.name)
    [found] = [each for each in up.status()["pods"] if each["name"] == light.name]
    assert (found["status"], found["machine"]) == ("Running", "machine-2")
    claim = up.get("pvc", light.name)
    volume = claim["spec"]["volumeName"]
    folder = up.places.machine(2) / "var/lib/volumes" / volume
    assert {each.name for each in folder.iterdir()} >= {"data", "logs"}
    assert not (folder / "tls.cert").exists()  # it shows ours, and made none
    assert {(each.stat().st_uid, each.stat().st_gid) for each in folder.iterdir()} == {
        (1000, 1000)
    }


def test_up_brings_back_a_machine_when_its_node_was_deleted(up: DevCluster) -> None:
    """Its kubelet runs, and would do so only at its own start."""
    before = up.kubelet(2)
    labels = up.get("node", "machine-2")["metadata"]["labels"]
    up.kubectl("delete", "node", "machine-2")
    up.run("up")
    assert up.kubelet(2) == before
    machines = {each["name"]: each["status"] for each in up.status()["machines"]}
    assert machines["machine-2"] == "ready"
    found = up.get("node", "machine-2")["metadata"]["labels"]
    assert found["kubernetes.io/hostname"] == labels["kubernetes.io/hostname"]


def test_a_volume_goes_with_its_claim_unless_it_is_retained(
    up: DevCluster, shown: Pair
) -> None:
    folders = {}
    for name in ("local", "local-retained"):
        given = lnd_pod.objects(name, LND, "machine-1", shown, storage_class=name)
        up.kubectl("apply", "-f", "-", given=given)
        until(f"{name} bound", functools.partial(bound, up, name))
        volume = up.get("pvc", name)["spec"]["volumeName"]
        folders[name] = up.places.machine(1) / "var/lib/volumes" / volume
        until(f"lnd in {name}", (folders[name] / "logs").exists)
        remove(up, name)
    until("the end of the volume", lambda: not folders["local"].exists())
    stored = folders["local-retained"]
    assert (stored / "logs").exists()
    assert up.get("pv", stored.name)["status"]["phase"] == "Released"
    up.kubectl("delete", "pv", stored.name)
    assert (stored / "logs").exists()


def test_up_once_more_changes_nothing(up: DevCluster) -> None:
    before = {each.pid for each in within(up) if "kube" in each.exe}
    assert "machine-2 is ready" in up.run("up")
    assert before <= {each.pid for each in within(up)}


@pytest.mark.long
def test_each_part_that_is_killed_runs_again(up: DevCluster, light: Light) -> None:
    until("an answer before", lambda: light.state(1))
    names = {
        *("kubelet", "containerd", "kube-proxy", "etcd"),
        *("kube-apiserver", "kube-scheduler", "kube-controller-manager"),
    }
    killed = [each for each in within(up) if Path(each.exe).name in names]
    assert {Path(each.exe).name for each in killed} == names
    lnds = light.lnds()
    for each in killed:
        os.kill(each.pid, signal.SIGKILL)
    until(
        "all of them again",
        lambda: (
            len([each for each in within(up) if Path(each.exe).name in names])
            >= len(killed)
        ),
    )
    up.run("up")
    assert all(map(alive, lnds))
    until("an answer afterwards", lambda: light.state(1))


@pytest.mark.long
def test_a_control_plane_that_is_gone_is_made_again_around_its_machines(
    up: DevCluster, light: Light
) -> None:
    until("an answer before", lambda: light.state(1))
    lnds = light.lnds()
    running = namespaces.running(up.places.control_plane)
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    until("its end", lambda: not alive(running))
    up.run("up")
    assert up.status()["api"] == "ready"
    assert all(map(alive, lnds))
    assert up.get("pod", light.name)["status"]["phase"] == "Running"
    until("an answer afterwards", lambda: light.state(1))


@pytest.mark.long
def test_a_machine_that_was_switched_off_comes_back_with_its_volumes(
    up: DevCluster, light: Light
) -> None:
    until("an answer before", lambda: light.state(1))
    volume = up.get("pvc", light.name)["spec"]["volumeName"]
    running = namespaces.running(up.places.machine(2))
    assert running is not None
    inside = {identify(pid) for pid in descendants(running.pid)} - {None}
    os.kill(running.pid, signal.SIGKILL)
    until(
        "the end of all in it", lambda: not any(alive(each) for each in inside if each)
    )
    up.run("up")
    pod = up.get("pod", light.name)
    assert pod["spec"]["restartPolicy"] == "Never"
    until("its end", lambda: up.get("pod", light.name)["status"]["phase"] == "Failed")
    folder = up.places.machine(2) / "var/lib/volumes" / volume
    assert (folder / "data").exists()
    up.kubectl("delete", "pod", light.name, "--grace-period=1")
    up.kubectl("create", "-f", "-", given=[lnd_pod.pod(light.name, LND, "machine-2")])
    until("an answer afterwards", lambda: light.state(1))


def test_an_image_is_loaded_into_each_machine(up: DevCluster, tmp_path: Path) -> None:
    name = "localhost/leyden/buoy:1"
    packaged = packages.packages_in(default_cache(os.environ))
    archive = images.ensure(tmp_path, name, program("companion"), packaged).archive
    assert "machine-1, machine-2" in up.run("load", str(archive))
    for number in (1, 2):
        found = up.ctr(number, "images", "list", "--quiet").split()
        assert {name, images.by_digest(archive)} <= {*found}


@pytest.mark.parametrize(
    "kills_at",
    [
        "machine-1",
        "control-plane",
        "machine-2",
    ],
)
@pytest.mark.long
def test_an_up_that_was_killed_on_its_way_is_gone_on_with(
    cluster: DevCluster, kills_at: str
) -> None:
    cluster.run("down")
    folder = cluster.places.folder / kills_at
    command = cluster.begin("up")
    until("its first processes", lambda: namespaces.running(folder))
    command.kill()
    command.wait()
    if kills_at == "machine-1":  # down mends it as well
        cluster.run("down")
        assert within(cluster) == set()
    cluster.run("up")
    found = cluster.status()
    assert found["api"] == "ready"
    assert [each["status"] for each in found["machines"]] == ["ready", "ready"]


@needs("nft", "ip")
def test_down_leaves_nothing_outside_of_its_folder(
    up: DevCluster, light: Light
) -> None:
    until("an answer", lambda: light.state(1))
    block = up.places.read()
    assert block is not None
    link = Path(f"/sys/class/net/leyden-{block.block}")
    assert link.exists()
    running = within(up)
    assert len(running) > 12
    assert of_the_host() == BEFORE
    up.run("down")
    assert [each for each in running if alive(each)] == []
    assert not link.exists()
    assert cgroups.left(up.places.name) == []
    assert str(up.places.folder) not in Path("/proc/self/mountinfo").read_text()
    assert f"10.{block.block}." not in routes()
    assert "kube-proxy" not in tables()
    assert of_the_host() == BEFORE
    assert up.status()["api"] == "not running"


def routes() -> str:
    done = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True)
    return done.stdout


def tables() -> str:
    done = subprocess.run(
        ["nft", "list", "tables"], capture_output=True, text=True, check=True
    )
    return done.stdout
