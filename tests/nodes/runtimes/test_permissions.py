"""The manifest of roles is the table that is checked at the start."""

from pathlib import Path

import pytest
import yaml

from leyden.errors import SetupError
from leyden.nodes.runtimes.kubernetes import installation, permissions
from tests import cluster_roles
from tests.nodes.runtimes.stand_in_cluster import StandInCluster

FILE = Path(__file__).parents[3] / "deploy/kubernetes/rbac.yaml"


def test_the_manifest_grants_what_is_checked_and_no_more() -> None:
    found = list(yaml.safe_load_all(FILE.read_text()))
    assert found == list(cluster_roles.manifests("leyden-nodes", "leyden"))


def test_nobody_may_read_secrets_or_run_programs_in_pods() -> None:
    granted = {
        (each.kind, verb)
        for each in (*permissions.OF_THE_NAMESPACE, *permissions.OF_THE_CLUSTER)
        for verb in each.verbs
    }
    assert {verb for kind, verb in granted if kind == "secrets"} == {
        *("create", "update", "delete")
    }
    assert not {kind for kind, _ in granted} & {"pods/exec", "pods/attach", "*"}
    assert "*" not in {verb for _, verb in granted}


async def test_who_only_serves_the_api_checks_whose_namespace_it_is() -> None:
    cluster = StandInCluster()
    async with cluster.api() as api:
        await installation.mark(api, "harbour", serves_only=True)
        assert not [each for each in cluster.calls if not each.startswith("GET ")]
        await installation.mark(api, "harbour")
        await installation.mark(api, "harbour", serves_only=True)
        with pytest.raises(SetupError, match="belongs to another Leyden installation"):
            await installation.mark(api, "lighthouse", serves_only=True)
