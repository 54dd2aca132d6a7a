"""Certificates of a cluster: who vouches for whom, and what stays."""

import json
import stat
from datetime import datetime
from pathlib import Path

from cryptography import x509

from leyden_workshop.devcluster.certificates import Pair
from leyden_workshop.devcluster.credentials import Credentials, ensure
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout

TWO = Cluster(machines=2, block=240)


def read(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def made(folder: Path, now: datetime, cluster: Cluster = TWO) -> Credentials:
    return ensure(ClusterLayout(folder), cluster, now=now)


def test_etcd_trusts_nobody_whom_the_api_trusts(tmp_path: Path, now: datetime) -> None:
    found = made(tmp_path, now)
    ours, of_etcd = read(found.authority), read(found.etcd_authority)
    for name in ("admin", "machine-1", "proxy", "api", "kubelet-client"):
        read(found.pair(name)).verify_directly_issued_by(ours)
    for name in ("etcd", "etcd-client"):
        read(found.pair(name)).verify_directly_issued_by(of_etcd)
    assert ours.subject != of_etcd.subject


def test_a_machine_is_a_node_to_the_api(tmp_path: Path, now: datetime) -> None:
    subject = read(made(tmp_path, now).pair("machine-2")).subject.rfc4514_string()
    assert subject == "CN=system:node:machine-2,O=system:nodes"


def test_keys_are_for_nobody_else(tmp_path: Path, now: datetime) -> None:
    made(tmp_path, now)
    written = [*tmp_path.rglob("*.key"), *tmp_path.rglob("*kubeconfig")]
    assert written
    assert {stat.S_IMODE(each.stat().st_mode) for each in written} == {0o600}


def test_another_time_only_what_the_server_shows_is_new(
    tmp_path: Path, now: datetime
) -> None:
    before = made(tmp_path, now)
    stored = {
        name: before.pair(name).certificate.read_bytes()
        for name in ("authority", "admin", "machine-1", "etcd", "api")
    }
    accounts = before.accounts.read_bytes()
    after = made(tmp_path, now, Cluster(machines=3, block=240))
    for name, content in stored.items():
        same = after.pair(name).certificate.read_bytes() == content
        assert same == (name != "api")
    assert after.accounts.read_bytes() == accounts
    assert after.pair("machine-3").exists


def test_the_kubeconfig_has_all_that_kubectl_needs(
    tmp_path: Path, now: datetime
) -> None:
    made(tmp_path, now)
    written = json.loads(ClusterLayout(tmp_path).kubeconfig.read_text())
    [cluster] = written["clusters"]
    assert cluster["cluster"]["server"] == "https://10.240.0.1:6443"
    assert {*written["users"][0]["user"]} == {
        "client-certificate-data",
        "client-key-data",
    }
