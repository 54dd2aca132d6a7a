"""The objects of a node, as a cluster is asked for them."""

import base64
import json
import re

import pytest

from leyden.errors import CannotStart
from leyden.nodes.lnd import conf
from leyden.nodes.lnd.chains import Bitcoind, Chain
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.nodes import Network, NodeType
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.kubernetes.companions import Companion
from leyden.nodes.runtimes.kubernetes.installation import is_supported
from leyden.nodes.runtimes.kubernetes.kinds import ClusterRelease
from leyden.nodes.runtimes.kubernetes.template import Template
from leyden.nodes.runtimes.local.layout import Ground
from leyden.values import replace
from tests.nodes.rules.nodes import a_node, some_settings

PASSWORD = "a password of the backend"
BACKEND = Bitcoind(host="192.0.2.1:8332", user="leyden", password=PASSWORD)
TEMPLATE = Template(
    grounds={Network.TESTNET: Ground(chain=Chain.REGTEST, backend=BACKEND)},
    images={OFFERED.default: "lnd@sha256:1"},
    storage_class="retained",
    cors_origins=("https://dashboard.example",),
)
WITH_COMPANION = replace(
    TEMPLATE,
    companion=Companion(
        image="companion@sha256:2",
        url="https://leyden.example:8010",
        name="companion.nodes.example",
        anchors_pem="",
    ),
)
IN_A_POOL = replace(
    WITH_COMPANION,
    scheduling={
        "nodeSelector": {"pool": "nodes"},
        "tolerations": [
            {"key": "dedicated", "value": "nodes", "effect": "NoSchedule"},
            {"key": "gpu", "operator": "Exists"},
        ],
    },
)
SPEC = LaunchSpec(
    settings=some_settings(), tls=Tls(chain_pem=b"chain", key_pem=b"a key")
)
NODE = a_node()


def test_a_pod_is_nobody_special_and_is_started_again_by_nobody_else() -> None:
    pod = TEMPLATE.pod(NODE, shown=b"")
    spec, [lnd] = pod["spec"], pod["spec"]["containers"]
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert spec["terminationGracePeriodSeconds"] == 600
    assert "nodeName" not in spec, "it would go round the scheduler, who keeps volumes"
    annotations = pod["metadata"]["annotations"]
    assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    inside = spec["securityContext"]
    assert inside["runAsNonRoot"] is True
    assert inside["seccompProfile"] == {"type": "RuntimeDefault"}
    assert lnd["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert lnd["image"] == "lnd@sha256:1"


def test_without_a_companion_there_is_none() -> None:
    spec = TEMPLATE.pod(NODE, shown=b"")["spec"]
    assert "initContainers" not in spec
    assert {each["name"] for each in spec["volumes"]} == {"home", "config"}


def test_a_companion_has_its_pods_token_and_nothing_that_is_secret_of_lnd() -> None:
    spec = WITH_COMPANION.pod(NODE, shown=b"")["spec"]
    [companion], [lnd] = spec["initContainers"], spec["containers"]
    # The kubelet starts it again, and ends it after lnd.
    assert companion["restartPolicy"] == "Always"
    assert companion["securityContext"] == lnd["securityContext"]
    assert {each["name"] for each in companion["volumeMounts"]} == {"home", "companion"}
    assert {each["name"] for each in lnd["volumeMounts"]} == {"home", "config"}
    assert "env" not in companion
    [volume] = [each for each in spec["volumes"] if each["name"] == "companion"]
    token, config = volume["projected"]["sources"]
    assert token["serviceAccountToken"]["audience"] == "leyden"
    assert config == {"configMap": {"name": "leyden-companion"}}
    # It reads where lnd writes.
    folder = "/home/lnd/.lnd/data/chain/bitcoin/regtest"
    assert f"-backup={folder}/channel.backup" in companion["args"]
    assert "-log=/home/lnd/.lnd/logs/bitcoin/regtest/lnd.log" in companion["args"]
    assert f"-node={NODE.id}" in companion["args"]


def test_a_lost_machine_is_tolerated_without_an_end_and_the_pod_is_held() -> None:
    pod = TEMPLATE.pod(NODE, shown=b"")
    assert pod["metadata"]["finalizers"] == ["leyden/held"]
    tolerated = {each["key"]: each for each in pod["spec"]["tolerations"]}
    assert {*tolerated} == {
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/not-ready",
    }
    assert not [each for each in tolerated.values() if "tolerationSeconds" in each]


def test_a_volume_claim_belongs_to_nothing_else() -> None:
    claim = TEMPLATE.claim(NODE)
    assert "ownerReferences" not in claim["metadata"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert claim["spec"]["storageClassName"] == "retained"


def test_secrets_are_in_the_secret_alone() -> None:
    secret = TEMPLATE.secret(NODE, SPEC)
    data = {name: base64.b64decode(text) for name, text in secret["data"].items()}
    assert PASSWORD.encode() in data["lnd.conf"]
    assert (data["tls.cert"], data["tls.key"]) == (b"chain", b"a key")
    others = json.dumps(
        [TEMPLATE.pod(NODE, shown=b""), TEMPLATE.claim(NODE), TEMPLATE.service(NODE)]
    )
    assert PASSWORD not in others
    assert "a key" not in others


def test_lnd_finds_its_certificate_beside_its_configuration() -> None:
    secret = TEMPLATE.secret(NODE, SPEC)
    options = dict(conf.read(base64.b64decode(secret["data"]["lnd.conf"])))
    assert options["tlscertpath"] == "/etc/lnd/tls.cert"
    assert options["tlskeypath"] == "/etc/lnd/tls.key"
    assert "logging.console.disable" not in options
    [lnd] = TEMPLATE.pod(NODE, shown=b"")["spec"]["containers"]
    assert not any("lnddir" in each for each in lnd["args"]), "it would take no notice"


def test_peers_reach_an_lnd_at_its_service_if_it_has_an_address() -> None:
    def options(peer_address: str) -> list[tuple[str, str]]:
        secret = TEMPLATE.secret(NODE, replace(SPEC, peer_address=peer_address))
        return list(conf.read(base64.b64decode(secret["data"]["lnd.conf"])))

    assert ("nolisten", "true") in options("")
    with_peers = options("203.0.113.7:21000")
    assert ("listen", "0.0.0.0:18735") in with_peers
    assert ("externalip", "203.0.113.7:21000") in with_peers
    ports = {each["port"] for each in TEMPLATE.service(NODE)["spec"]["ports"]}
    assert ports == {18_080, 18_009, 18_735}


def test_the_pod_that_copies_is_held_as_the_nodes_own_and_has_its_name() -> None:
    companion = Companion(image="companion", url="", name="", anchors_pem="")
    copier = replace(TEMPLATE, companion=companion).copier(NODE)
    pod = TEMPLATE.pod(NODE, shown=b"")
    assert copier["metadata"]["name"] == pod["metadata"]["name"]
    for key in ("securityContext", "volumes", "automountServiceAccountToken"):
        assert copier["spec"][key] == pod["spec"][key]
    [container] = copier["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["image"] == "companion"


def test_every_pod_of_a_node_runs_where_nodes_may_and_survives_a_lost_machine() -> None:
    usual = WITH_COMPANION.pod(NODE, shown=b"")["spec"]["tolerations"]
    spec = IN_A_POOL.pod(NODE, shown=b"")["spec"]
    assert spec["nodeSelector"] == {"pool": "nodes"}
    assert spec["tolerations"] == [*usual, *IN_A_POOL.scheduling["tolerations"]]
    copier = IN_A_POOL.copier(NODE)["spec"]
    assert {key: copier[key] for key in IN_A_POOL.scheduling} == IN_A_POOL.scheduling


def test_a_type_has_its_size() -> None:
    sizes = ((NodeType.STANDARD, 1 << 30, 1), (NodeType.PROFESSIONAL, 4 << 30, 4))
    for type_, memory, cpus in sizes:
        pod = TEMPLATE.pod(replace(NODE, type=type_), shown=b"")
        [lnd] = pod["spec"]["containers"]
        assert lnd["resources"]["limits"]["memory"] == str(memory)
        environment = {each["name"]: each["value"] for each in lnd["env"]}
        assert environment["GOMEMLIMIT"] == f"{memory * 9 // 10}B"
        assert environment["GOMAXPROCS"] == str(cpus)


def test_one_selector_shows_a_node_and_names_fit() -> None:
    objects = [
        TEMPLATE.pod(NODE, shown=b""),
        TEMPLATE.claim(NODE),
        TEMPLATE.service(NODE),
        TEMPLATE.secret(NODE, SPEC),
    ]
    assert {each["metadata"]["labels"]["leyden/node"] for each in objects} == {NODE.id}
    [name] = {each["metadata"]["name"] for each in objects}
    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])", name)


def test_a_service_keeps_its_address_and_serves_before_readiness() -> None:
    assert "clusterIP" not in TEMPLATE.service(NODE)["spec"]
    again = TEMPLATE.service(replace(NODE, host="10.96.7.7"))["spec"]
    assert again["clusterIP"] == "10.96.7.7"
    assert again["publishNotReadyAddresses"] is True


def test_a_version_without_an_image_is_told() -> None:
    other = replace(NODE, version=OFFERED.versions[0])
    with pytest.raises(CannotStart, match=r"kubernetes_images names no image of lnd v"):
        TEMPLATE.pod(other, shown=b"")


@pytest.mark.parametrize(
    ("minor", "supported"),
    [("29", False), ("30", True), ("34", True), ("30+", True), ("", False)],
)
def test_clusters_that_share_volumes_out_to_two_pods_are_refused(
    minor: str, *, supported: bool
) -> None:
    assert is_supported(ClusterRelease(major="1", minor=minor)) is supported
