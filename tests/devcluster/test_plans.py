"""What is done on a machine, as data: nothing of the host is left to its programs."""

from datetime import datetime
from pathlib import Path

import pytest

from leyden_workshop.devcluster import binaries, control_plane, machine
from leyden_workshop.devcluster.configurations import write
from leyden_workshop.devcluster.credentials import ensure
from leyden_workshop.devcluster.images import Image
from leyden_workshop.devcluster.packages import Packages
from leyden_workshop.devcluster.parts import Parts
from leyden_workshop.devcluster.places import Cluster, Places
from leyden_workshop.devcluster.plans import Plan, Program, Step

PARTS = Parts(
    cache=Path("/cache"),
    packages=Packages(Path("/cache/debian")),
    binaries={name: Path("/cache/bin", name) for name in binaries.WITH_PODS},
    images=[Image("localhost/leyden/pause:1", Path("/cache/images/pause-12ab.tar"))],
)
TWO = Cluster(machines=2, block=240)


@pytest.fixture
def places(tmp_path: Path, now: datetime) -> Places:
    found = Places(tmp_path / "cluster")
    ensure(found, TWO, now=now)
    return found


def programs(plan: Plan) -> list[Program]:
    return [each for each in plan.todo if isinstance(each, Program)]


def before(plan: Plan, name: str) -> str:
    """Return the steps that are done before a program starts."""
    words = []
    for each in plan.todo:
        if isinstance(each, Step):
            words.append(" ".join(each.argv))
        elif each.name == name:
            return "\n".join(words)
    raise AssertionError(name)


def test_a_kubelet_finds_set_what_it_would_set_for_the_whole_host(
    places: Places,
) -> None:
    done = before(machine.plan(places, TWO, 1, PARTS), "kubelet")
    for name in (
        *("vm/overcommit_memory 1", "vm/panic_on_oom 0"),
        *("kernel/panic 10", "kernel/panic_on_oops 1"),
        *("kernel/keys/root_maxkeys 1000000", "kernel/keys/root_maxbytes 25000000"),
    ):
        assert f"sh {name}" in done


def test_a_machine_is_in_a_root_of_its_own_before_anything_runs(
    places: Places,
) -> None:
    plan = machine.plan(places, TWO, 2, PARTS)
    done = before(plan, "containerd")
    assert "pivot_root" in done
    assert f"{places.machine(2)}/var" in done
    assert f"{places.machine(1)}" not in done
    assert f"{places.authority}" not in done


def test_images_are_there_before_the_kubelet(places: Places) -> None:
    plan = machine.plan(places, TWO, 1, PARTS)
    assert "/cache/images/pause-12ab.tar" in before(plan, "kubelet")
    assert "/cache/images/pause-12ab.tar" not in before(plan, "containerd")


def test_a_kube_proxy_never_finds_rules_of_one_before(places: Places) -> None:
    """It would empty their maps, and no service would answer."""
    found = {each.name: each for each in programs(machine.plan(places, TWO, 1, PARTS))}
    [shell, _, script, _, proxy, *_] = found["kube-proxy"].argv
    assert (shell, proxy) == ("/bin/sh", "/cache/bin/kube-proxy")
    assert "nft delete table ip kube-proxy" in script


def test_a_kubelet_asks_the_api_who_may_ask_it(places: Places) -> None:
    write(
        places,
        TWO,
        1,
        packages=PARTS.packages,
        snapshotter="overlayfs",
        group="/harbour/machine-1",
    )
    written = (places.machine(1) / "etc/kubernetes/kubelet.yaml").read_text()
    assert '"anonymous": {\n      "enabled": false' in written
    assert '"mode": "Webhook"' in written
    assert '"cgroupRoot": "/harbour/machine-1"' in written


def test_without_pods_nothing_needs_root_or_is_heard_elsewhere(
    places: Places,
) -> None:
    alone = Cluster(machines=0)
    own = ensure(places, alone, now=datetime.fromisoformat("2026-03-01T12:00Z"))
    plan = control_plane.plan(places, alone, own, PARTS)
    assert [each for each in plan.todo if isinstance(each, Step)] == []
    found = {each.name: list(each.argv) for each in programs(plan)}
    assert {*found} == {
        *("etcd", "kube-apiserver"),
        *("kube-controller-manager", "kube-scheduler"),
    }
    assert "--bind-address=127.0.0.1" in found["kube-apiserver"]
    for name in ("kube-controller-manager", "kube-scheduler"):
        assert "--secure-port=0" in found[name]
    listening = [word for word in found["etcd"] if "listen" in word]
    assert all("https://127.0.0.1:" in word for word in listening)


def test_nobody_talks_to_etcd_without_a_certificate(places: Places) -> None:
    own = ensure(places, TWO, now=datetime.fromisoformat("2026-03-01T12:00Z"))
    [etcd] = [
        each
        for each in programs(control_plane.plan(places, TWO, own, PARTS))
        if each.name == "etcd"
    ]
    assert {"--client-cert-auth", "--peer-client-cert-auth"} <= {*etcd.argv}
