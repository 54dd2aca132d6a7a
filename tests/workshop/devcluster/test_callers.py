"""What the doctor says of services is what callers meet: who is hidden, and who is not.

Two ways to one listener: by one of them it is called as it is, by the other a machine
of the cluster puts its own address in the caller's place.
"""

import contextlib
import re
import secrets
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leyden.base.daemons import catalogue
from leyden.nodes.runtimes.kubernetes import access
from leyden.nodes.runtimes.kubernetes.api import connect
from leyden.operators.production import cluster_doctor
from leyden_workshop.devcluster.certificates import Subject, authority, issue
from tests.workshop.devcluster import lnd_pod
from tests.workshop.devcluster.clusters import DevCluster, until

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

LND = catalogue.find("lnd")[1].version
LABELS = {"app.kubernetes.io/component": "gateway"}
# lnd says who has called it and did not speak TLS.
_CALLER = re.compile(r"TLS handshake error from ([0-9.]+):")


@pytest.fixture
def namespace(up: DevCluster) -> Iterator[str]:
    name = f"callers-{secrets.token_hex(3)}"
    up.kubectl("create", "namespace", name)
    yield name
    up.kubectl("delete", "namespace", name, "--wait=false")


def service(name: str, policy: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "type": "NodePort",
            "externalTrafficPolicy": policy,
            "selector": LABELS,
            "ports": [{"name": "rest", "port": 8080}],
        },
    }


async def test_the_service_that_the_doctor_names_is_the_one_that_hides_its_callers(
    up: DevCluster, namespace: str, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    by = authority(tmp_path, "harbour", now=now)
    subject = Subject(name="lnd", names=("lnd",))
    shown = issue(by, tmp_path / "lnd.crt", subject, now=now)
    objects = lnd_pod.objects("listener", LND, "machine-2", shown)
    objects[-1]["metadata"]["labels"].update(LABELS)
    ways = {"seen": "Local", "hidden": "Cluster"}
    given = [*objects, *(service(name, policy) for name, policy in ways.items())]
    up.kubectl("apply", "--namespace", namespace, "-f", "-", given=given)
    machine = str(up.addresses.machine(2))

    def is_running() -> bool:
        pod = up.get("pod", "listener", "--namespace", namespace)
        return bool(pod["status"]["phase"] == "Running")

    until("the listener runs", is_running)

    def callers_told() -> list[str]:
        log = up.kubectl("logs", "listener", "--namespace", namespace)
        return _CALLER.findall(log)

    def seen_as(way: str) -> str:
        """Call by a way until the listener has said as whom it sees the caller."""
        spec = up.get("service", way, "--namespace", namespace)["spec"]
        to = (machine, spec["ports"][0]["nodePort"])
        before = len(callers_told())

        def called() -> bool:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(to, timeout=5) as plain,
            ):
                plain.sendall(b"not TLS\n")
                plain.recv(1)
            return len(callers_told()) > before

        until(f"a caller by {way}", called)
        return callers_told()[-1]

    here = str(up.addresses.host)
    assert seen_as("seen") == here
    assert seen_as("hidden") != here
    async with connect(access.read(up.places.kubeconfig, namespace)) as api:
        assert await cluster_doctor.hiding_services(api, namespace) == ["hidden"]
