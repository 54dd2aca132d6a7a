"""A simulated cluster: a real API server and its controllers, and machines of kwok.

kwok plays the kubelets of machines that are not there: pods that are bound to one of
them run a moment later, as far as anybody can read. There are no containers, so there
are thousands of pods on two processors.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil

from leyden.base.daemons import catalogue
from leyden.base.daemons.build import default_cache, program_path
from leyden_workshop.devcluster import binaries
from leyden_workshop.devcluster.layout import ClusterLayout

MACHINES: Final = 20
STORAGE_CLASS: Final = "local-retained"
_LEYDEN: Final = Path(sys.executable).parent / "leyden"
_SIMULATED: Final = "kwok.x-k8s.io/node"
_MACHINE_HAS: Final = {"cpu": "1000", "memory": "4000Gi", "pods": "1000"}
_STORED: Final = (
    *("/api/v1/pods", "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"),
    *("/api/v1/secrets", "/api/v1/services", "/api/v1/endpoints", "/api/v1/events"),
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/networking.k8s.io/v1/ipaddresses",
)
_PATIENCE_S: Final = 900.0


def program(name: str) -> Path:
    """Return where a program is."""
    return program_path(
        default_cache(os.environ), *catalogue.find(name, sets=binaries.SETS)
    )


class SimulatedCluster:
    """An API server that runs, and what is asked of it by hand."""

    def __init__(self, layout: ClusterLayout, kwok: int) -> None:
        self.kubeconfig = layout.kubeconfig
        self._layout = layout
        self._kwok = kwok

    def kubectl(self, *words: str, given: object = None) -> str:
        """Run kubectl as the administrator."""
        return subprocess.run(
            (program("kubectl"), "--kubeconfig", self.kubeconfig, *words),
            input=None if given is None else json.dumps(given),
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def create_namespace(self, name: str) -> None:
        """Create a namespace; return once pods can be created there."""
        self.kubectl("create", "namespace", name)
        account = ("get", "serviceaccounts", "-n", name, "-o", "name")
        _until(lambda: "default" in self.kubectl(*account))

    def wait_until_running(self, namespace: str) -> None:
        """Wait until no pod of a namespace waits for its machine any more."""
        pods = f"/api/v1/namespaces/{namespace}/pods"
        query = "limit=1&fieldSelector=status.phase%3DPending"

        def all_run() -> bool:
            found = json.loads(self.kubectl("get", f"--raw={pods}?{query}"))
            return not found["items"]

        _until(all_run, every_s=2)

    def objects(self) -> Mapping[str, int]:
        """Count what the API server stores of nodes, by kind."""
        found = {}
        for path in _STORED:
            page = json.loads(self.kubectl("get", f"--raw={path}?limit=1"))
            left = page["metadata"].get("remainingItemCount", 0)
            found[path.rpartition("/")[2]] = left + len(page["items"])
        return found

    def stored_bytes(self) -> int:
        """Return the size of etcd's database."""
        return max(
            file.stat().st_size
            for file in (self._layout.control_plane / "etcd").rglob("db")
        )

    def processes(self) -> Mapping[str, psutil.Process]:
        """Return the programs of the control plane, and kwok, by name."""
        found = {"kwok": psutil.Process(self._kwok)}
        for process in psutil.process_iter(["cmdline"]):
            words = " ".join(process.info["cmdline"] or ())
            name = Path(words.partition(" ")[0]).name
            if name.startswith(("etcd", "kube-")) and str(self._layout.folder) in words:
                found[name] = process
        return found


@contextmanager
def simulated_cluster(home: Path) -> Iterator[SimulatedCluster]:
    """Have a cluster of simulated machines for the block; it leaves no process."""
    _leyden("up", "--api-only", "--home", str(home))
    try:
        layout = ClusterLayout.of(home)
        words = (
            program("kwok"),
            f"--kubeconfig={layout.kubeconfig}",
            "--enable-crds=",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={_SIMULATED}=simulated",
            "--node-lease-duration-seconds=40",
        )
        with (
            (home / "kwok.log").open("ab") as log,
            subprocess.Popen(words, stdout=log, stderr=log) as kwok,
        ):
            try:
                cluster = SimulatedCluster(layout, kwok.pid)
                for number in range(MACHINES):
                    cluster.kubectl("create", "-f", "-", given=_machine(number))
                yield cluster
            finally:
                kwok.kill()
    finally:
        _leyden("down", "--home", str(home))


def machine_name(number: int) -> str:
    """Return the name of a simulated machine."""
    return f"simulated-{number}"


def _machine(number: int) -> dict[str, Any]:
    name = machine_name(number)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {_SIMULATED: "simulated"},
            "labels": {"kubernetes.io/hostname": name},
        },
        "status": {"allocatable": _MACHINE_HAS, "capacity": _MACHINE_HAS},
    }


def _leyden(*words: str) -> None:
    done = subprocess.run(
        (_LEYDEN, "dev", "cluster", *words), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def _until(holds: Any, *, every_s: float = 0.2) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(subprocess.CalledProcessError):
            if holds():
                return
        time.sleep(every_s)
    raise TimeoutError("the cluster did not come so far")
