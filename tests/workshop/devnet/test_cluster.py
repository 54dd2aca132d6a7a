"""What `up --runtime kubernetes` decides and writes down, before any cluster runs."""

import ipaddress
from pathlib import Path

import pytest
from cryptography import x509

from leyden.base.settings import Settings
from leyden.base.settings.private_chain import running_settings
from leyden.errors import SetupError
from leyden_workshop.devnet import access, cluster
from leyden_workshop.devnet.layout import DaemonPorts, access_for
from leyden_workshop.devnet.wiring import wired

PORTS = DaemonPorts(
    btcd=1801, treasury_peer=1802, treasury_grpc=1803, treasury_rest=1804
)
IN_PODS = access.ClusterAccess(
    host="10.213.0.254",
    kubeconfig="/home/cluster/kubeconfig",
    namespace="leyden-nodes",
    storage_class="local-retained",
    images=f"v0.20.2-beta=localhost/leyden/lnd@sha256:{'0' * 64}",
    companion_image=f"localhost/leyden/companion@sha256:{'0' * 64}",
    companion_url="https://10.213.0.254:8010",
)


def made(home: Path, pods: access.ClusterAccess | None) -> access.ChainAccess:
    access.folder(home).mkdir(parents=True)
    found = access_for(home, "simnet", PORTS, cluster=pods)
    access.save(home, found)
    return found


def test_a_new_home_runs_nodes_where_it_is_told_to(tmp_path: Path) -> None:
    assert cluster.check(tmp_path, "") == "local"
    assert cluster.check(tmp_path, "kubernetes") == "kubernetes"


@pytest.mark.parametrize(
    ("pods", "before", "other"),
    [(None, "local", "kubernetes"), (IN_PODS, "kubernetes", "local")],
)
def test_an_old_home_runs_them_where_it_did(
    tmp_path: Path, pods: access.ClusterAccess | None, before: str, other: str
) -> None:
    made(tmp_path, pods)
    assert cluster.check(tmp_path, "") == cluster.check(tmp_path, before) == before
    with pytest.raises(SetupError, match=f"run with --runtime {before}; choose"):
        cluster.check(tmp_path, other)


def test_every_command_of_the_home_has_the_settings_of_its_cluster(
    tmp_path: Path,
) -> None:
    asked_for = Settings(home=str(tmp_path))
    wired(asked_for, made(tmp_path, IN_PODS))
    given = running_settings(asked_for)
    assert given.runtime == "kubernetes"
    assert given.has_private_chain
    assert given.kubernetes_images == IN_PODS.images
    assert given.companion_host == "10.213.0.254"
    assert given.testnet_rpc_host == "10.213.0.254:1801"
    certificate = Path(given.testnet_rpc_certificate).read_bytes()
    names = x509.load_pem_x509_certificate(certificate).extensions
    shown = names.get_extension_for_class(x509.SubjectAlternativeName).value
    assert shown.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("10.213.0.254"),
    ]


def test_pods_reach_the_chain_and_its_lnds_and_nobody_else_does(tmp_path: Path) -> None:
    here, apart = made(tmp_path / "a", None), made(tmp_path / "b", IN_PODS)
    assert here.btcd.address == "127.0.0.1:1801"
    assert here.lnds["treasury"].peer == "127.0.0.1:1802"
    assert apart.btcd.address == "10.213.0.254:1801"
    assert apart.lnds["treasury"].peer == "10.213.0.254:1802"
    for each in (here, apart):
        assert each.lnds["treasury"].rest == "127.0.0.1:1804"
