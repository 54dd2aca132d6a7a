"""An API without machines, made by somebody who may do nothing special."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from leyden.nodes.runtimes.kubernetes import trials
from leyden_workshop.devcluster import binaries, namespaces
from leyden_workshop.devcluster.layout import ClusterLayout
from tests import cluster_roles
from tests.nodes.runtimes.test_manifests import (
    IN_A_POOL,
    NODE,
    TEMPLATE,
    WITH_COMPANION,
)
from tests.programs import built, require
from tests.workshop.devcluster.clusters import DevCluster, until

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

# Whoever runs the tests, the cluster is made without any right of root's.
POWERLESS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


@contextmanager
def made_in(folder: Path) -> Iterator[DevCluster]:
    built(*binaries.API_ONLY)
    require("setpriv")
    made = DevCluster(folder, before=POWERLESS)
    try:
        made.run("up", "--api-only")
        yield made
    finally:
        made.run("down")


@pytest.fixture(scope="module")
def api_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCluster]:
    with made_in(tmp_path_factory.mktemp("api-only")) as made:
        yield made


def test_it_takes_objects_and_goes_on_after_a_kill_of_everything(
    api_only: DevCluster,
) -> None:
    assert api_only.status()["machines"] == []
    api_only.kubectl("create", "namespace", "nodes")
    api_only.kubectl("-n", "nodes", "create", "configmap", "tide", "--from-literal=a=b")
    until(
        "the controllers' account",
        lambda: api_only.get("-n", "nodes", "serviceaccounts")["items"],
    )
    before = api_only.status()["server"]
    assert "stopped" in api_only.run("down")
    assert namespaces.running(api_only.places.control_plane) is None
    assert api_only.status()["api"] == "not running"
    assert "not running" in api_only.run("down")
    api_only.run("up", "--api-only")
    assert api_only.status()["server"] == before
    assert api_only.get("-n", "nodes", "configmap", "tide")["data"] == {"a": "b"}


def test_nobody_gets_in_without_a_certificate(api_only: DevCluster) -> None:
    text = """
import ssl, sys, urllib.error, urllib.request
trusting = ssl.create_default_context(cafile=sys.argv[2])
try:
    urllib.request.urlopen(sys.argv[1] + "/api/v1/secrets", context=trusting)
except urllib.error.HTTPError as error:
    print(error.code)
"""
    authority = str(api_only.places.authority / "authority.crt")
    server = api_only.status()["server"]
    assert api_only.here(text, server, authority) == "403"


def test_pods_of_nodes_are_admitted_where_others_are_refused(
    api_only: DevCluster,
) -> None:
    """The namespace of nodes has the strictest of standards for pods."""
    namespace, _ = islice(cluster_roles.manifests("restricted", "leyden"), 2)
    api_only.kubectl("apply", "-f", "-", given=[namespace])
    until(
        "the controllers' account",
        lambda: api_only.get("-n", "restricted", "serviceaccounts")["items"],
    )

    def admitted(pod: Mapping[str, Any]) -> str:
        tried = ("create", "--dry-run=server", "-f", "-")
        return api_only.kubectl("-n", "restricted", *tried, given=[pod])

    node = TEMPLATE.pod(NODE, shown=b"")
    for pod in (
        node,
        WITH_COMPANION.pod(NODE, shown=b""),
        IN_A_POOL.pod(NODE, shown=b""),
        IN_A_POOL.copier(NODE),
        trials.manifest("companion@sha256:2", ["192.0.2.1:443"]),
    ):
        assert "created" in admitted(pod)
    folder = {"name": "root", "hostPath": {"path": "/"}}
    spec = {**node["spec"], "volumes": [*node["spec"]["volumes"], folder]}
    with pytest.raises(AssertionError, match='violates PodSecurity "restricted'):
        admitted({**node, "spec": spec})


def test_our_account_changes_the_reclaim_policy_of_nodes_volumes_and_nothing_else(
    api_only: DevCluster,
) -> None:
    """Volumes belong to no namespace, so no role says which ones."""
    given = [*cluster_roles.manifests("fenced", "leyden")]
    api_only.kubectl("apply", "-f", "-", given=given)
    volumes = [volume("of-a-node", "fenced"), volume("of-others", "default")]
    api_only.kubectl("apply", "-f", "-", given=volumes)
    as_us = ("--as", "system:serviceaccount:leyden:leyden")

    def patched(name: str, change: str, *who: str) -> str:
        words = ("patch", "pv", name, "--type=merge", "-p", change, *who)
        try:
            return api_only.kubectl(*words)
        except AssertionError as error:
            return str(error)

    delete = '{"spec": {"persistentVolumeReclaimPolicy": "Delete"}}'
    # A policy is in force a moment after it was created.
    until(
        "the policy",
        lambda: (
            "only volumes that are claimed in fenced"
            in patched("of-others", '{"metadata": {"labels": {"a": "b"}}}', *as_us)
        ),
    )
    assert "only volumes that are claimed" in patched("of-others", delete, *as_us)
    for change in (
        '{"metadata": {"labels": {"a": "b"}}}',
        '{"metadata": {"annotations": {"a": "b"}}}',
        '{"metadata": {"finalizers": ["a.example/b"]}}',
        '{"spec": {"claimRef": null}}',
        '{"spec": {"claimRef": {"namespace": "default"}}}',
        '{"spec": {"capacity": {"storage": "2Gi"}}}',
        '{"spec": {"storageClassName": "another"}}',
        '{"spec": {"mountOptions": ["ro"]}}',
    ):
        answer = patched("of-a-node", change, *as_us)
        assert "only persistentVolumeReclaimPolicy" in answer, change
    assert "patched" in patched("of-a-node", delete, *as_us)
    found = api_only.get("pv", "of-a-node")["spec"]
    assert found["persistentVolumeReclaimPolicy"] == "Delete"
    labelled = '{"metadata": {"labels": {"a": "b"}}}'
    assert "patched" in patched("of-others", labelled), "others may, as before"


def volume(name: str, namespace: str) -> dict[str, Any]:
    """Return a volume that is claimed in a namespace."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOncePod"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "retained",
            "claimRef": {"namespace": namespace, "name": name},
            "csi": {"driver": "a.example", "volumeHandle": name},
        },
    }


@pytest.mark.long
def test_down_ends_a_cluster_whose_record_is_damaged(tmp_path: Path) -> None:
    with made_in(tmp_path) as damaged:
        (damaged.places.folder / "cluster.json").write_text("{")
        assert "the content is damaged" in damaged.refusal("up", "--api-only")
        assert "stopped" in damaged.run("down")
        assert namespaces.running(damaged.places.control_plane) is None


def test_a_machine_that_cannot_have_pods_is_told_what_it_lacks(tmp_path: Path) -> None:
    built(*binaries.WITH_PODS)
    require("setpriv")
    refused = DevCluster(tmp_path, before=POWERLESS).refusal("up")
    assert "this machine can't run a cluster with pods; it lacks:" in refused
    named = ("control groups that can be written", "namespaces for mounts, processes")
    assert any(each in refused for each in named)
    assert not ClusterLayout.of(tmp_path).control_plane.exists()
