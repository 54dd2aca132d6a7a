"""A real API server takes what the chart renders to."""

from pathlib import Path

import pytest

from tests.workshop.devcluster.clusters import DevCluster

MANIFEST = Path(__file__).parents[3] / "deploy/kubernetes/leyden.yaml"

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


def test_the_manifest_is_taken_whole_and_without_a_warning(up: DevCluster) -> None:
    for name in ("leyden", "leyden-nodes"):
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name},
        }
        up.kubectl("apply", "-f", "-", given=[namespace])
    strictly = ("--dry-run=server", "--validate=strict", "--warnings-as-errors")
    answer = up.kubectl("apply", *strictly, "-f", str(MANIFEST))
    assert "deployment.apps/leyden-gateway" in answer
    assert "networkpolicy.networking.k8s.io/leyden-nodes" in answer
    assert len(answer.splitlines()) == MANIFEST.read_text().count("\nkind: ")
