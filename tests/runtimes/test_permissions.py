"""The manifest of roles is the table that is checked at the start."""

from pathlib import Path

import yaml

from leyden.runtimes.kubernetes import permissions

FILE = Path(__file__).parents[2] / "deploy/kubernetes/rbac.yaml"


def test_the_manifest_grants_what_is_checked_and_no_more() -> None:
    found = list(yaml.safe_load_all(FILE.read_text()))
    assert found == list(permissions.manifests("leyden-nodes", "leyden"))


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
