"""Services of gateways keep callers' addresses, or are named."""

from pathlib import Path

import msgspec
import pytest
import yaml

from leyden.nodes.runtimes.kubernetes.kinds import Service
from leyden.operators.production.cluster_doctor import hiding, own_namespace

MANIFEST = Path(__file__).parents[2] / "deploy/kubernetes/leyden.yaml"


def service(**spec: object) -> Service:
    complete = {
        "metadata": {"name": "harbour"},
        "spec": {"selector": {"app.kubernetes.io/component": "gateway"}, **spec},
    }
    return msgspec.convert(complete, Service)


@pytest.mark.parametrize(
    ("spec", "hides"),
    [
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Cluster"}, True),
        ({"type": "NodePort", "externalTrafficPolicy": "Cluster"}, True),
        ({"type": "LoadBalancer"}, True),
        ({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, False),
        ({"type": "ClusterIP"}, False),
        ({"type": "NodePort", "selector": {"app": "another"}}, False),
    ],
)
def test_a_service_that_forwards_from_any_machine_hides_callers(
    spec: dict[str, object], *, hides: bool
) -> None:
    assert hiding([service(**spec)]) == (["harbour"] if hides else [])


def test_the_charts_own_service_hides_nobody() -> None:
    objects = [each for each in yaml.safe_load_all(MANIFEST.read_text()) if each]
    services = [
        msgspec.convert(each, Service) for each in objects if each["kind"] == "Service"
    ]
    assert len(services) == 4
    assert hiding(services) == []


def test_elsewhere_than_in_a_pod_there_is_no_namespace(tmp_path: Path) -> None:
    assert own_namespace(tmp_path / "namespace") == ""
    (tmp_path / "namespace").write_text("leyden\n")
    assert own_namespace(tmp_path / "namespace") == "leyden"
