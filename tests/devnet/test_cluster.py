"""What `up --runtime kubernetes` decides and writes down, before any cluster runs."""

import ipaddress
from pathlib import Path

import pytest
from cryptography import x509

from leyden.devnet import access, cluster
from leyden.devnet.btcd import Btcd
from leyden.devnet.journal import Journal
from leyden.devnet.places import Ports, access_for
from leyden.devnet.wiring import running_settings
from leyden.errors import SetupError
from leyden.settings import Settings

PORTS = Ports(btcd=1801, treasury_peer=1802, treasury_grpc=1803, treasury_rest=1804)
IN_PODS = access.Cluster(
    host="10.213.0.254",
    kubeconfig="/home/cluster/kubeconfig",
    namespace="leyden-nodes",
    storage_class="local-retained",
    images=f"v0.20.2-beta=localhost/leyden/lnd@sha256:{'0' * 64}",
    companion_image=f"localhost/leyden/companion@sha256:{'0' * 64}",
    companion_url="https://10.213.0.254:8010",
)


def made(home: Path, pods: access.Cluster | None) -> access.Access:
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
    tmp_path: Path, pods: access.Cluster | None, before: str, other: str
) -> None:
    made(tmp_path, pods)
    assert cluster.check(tmp_path, "") == cluster.check(tmp_path, before) == before
    with pytest.raises(SetupError, match=f"run with --runtime {before}; choose"):
        cluster.check(tmp_path, other)


def test_every_command_of_the_home_has_the_settings_of_its_cluster(
    tmp_path: Path,
) -> None:
    made(tmp_path, IN_PODS)
    given = running_settings(Settings(home=str(tmp_path)))
    assert given.runtime == "kubernetes"
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


def test_btcd_listens_for_pods_where_there_are_any(tmp_path: Path) -> None:
    def listens(pods: access.Cluster | None) -> list[str]:
        home = tmp_path / str(pods is None)
        btcd = Btcd(
            program=Path("/cache/btcd"),
            folder=home / "btcd",
            chain="simnet",
            access=made(home, pods).btcd,
            mining_address="SNowhere",
            journal=Journal(home / "journal"),
        )
        written = Path(btcd.argv()[1].partition("=")[2]).read_text()
        return [line for line in written.splitlines() if line.startswith("rpclisten")]

    assert listens(None) == ["rpclisten=127.0.0.1:1801"]
    assert listens(IN_PODS) == [
        "rpclisten=127.0.0.1:1801",
        "rpclisten=10.213.0.254:1801",
    ]
