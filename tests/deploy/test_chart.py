"""The chart, and what it renders to: the plain manifest in deploy/kubernetes/.

WRITE_MANIFEST=1 pytest tests/deploy/test_chart.py writes that anew.
"""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from leyden.base import settings
from leyden.base.database.secrets import load_keyring
from leyden.base.settings import Settings
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.gateway.bootstrap import flags
from leyden.nodes.gateway.discovery import DiscoveryGateway
from leyden.nodes.gateway.prepared import BOOTSTRAP
from leyden.nodes.runtimes.kubernetes import permissions
from leyden.nodes.wiring import (
    cluster_keys,
    clusters,
    gateways,
    listeners,
    node_openings,
    peer_addresses,
)
from leyden.values import replace
from tests import cluster_roles
from tests.programs import built
from tests.workshop.devcluster.clusters import program

ROOT = Path(__file__).parents[2] / "deploy"
EVERYWHERE = "0.0.0.0"  # noqa: S104  within a pod
MANIFEST = ROOT / "kubernetes/leyden.yaml"
VALUES = ROOT / "kubernetes/values.yaml"
HEAD = """\
# deploy/chart as Helm renders it, in the namespace `leyden`, with values.yaml in this
# folder. Replace what is an example: images, names, addresses.
"""
KEPT = {"helm.sh/resource-policy": "keep"}
OBJECTS = [each for each in yaml.safe_load_all(MANIFEST.read_text()) if each]


def helm(*words: object) -> "subprocess.CompletedProcess[str]":
    built("helm")
    return subprocess.run(
        [program("helm"), *map(str, words)], capture_output=True, text=True, check=False
    )


def rendered(*more: object) -> "subprocess.CompletedProcess[str]":
    return helm(
        *("template", "leyden", ROOT / "chart", "--namespace", "leyden"),
        *("--values", VALUES, *more),
    )


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for each in OBJECTS:
        if each["kind"] in {"Deployment", "Job"}:
            yield each["metadata"]["name"], each["spec"]["template"]["spec"]


def variables(container: Mapping[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"] if "value" in each}


def test_the_plain_manifest_is_what_the_chart_renders_to() -> None:
    done = rendered("--skip-tests")
    assert done.returncode == 0, done.stderr
    if os.environ.get("WRITE_MANIFEST"):
        MANIFEST.write_text(HEAD + done.stdout)
    assert MANIFEST.read_text() == HEAD + done.stdout


def test_a_version_that_does_not_start_replaces_nobody() -> None:
    """A pod without a probe counts at once, also one that ends a second later."""
    specs = [each["spec"] for each in OBJECTS if each["kind"] == "Deployment"]
    assert len(specs) == 3
    for spec in specs:
        assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        [container] = spec["template"]["spec"]["containers"]
        assert "readinessProbe" in container or spec["minReadySeconds"] >= 15


def test_roles_are_what_is_checked_at_the_start_and_no_more() -> None:
    wanted = {
        each["kind"]: each["rules"]
        for each in cluster_roles.manifests("leyden-nodes", "leyden")
        if "rules" in each
    }
    assert granted("leyden") == {
        **{(kind, "leyden-nodes"): rules for kind, rules in wanted.items()},
        ("Role", "leyden"): [
            {"apiGroups": [""], "resources": ["services"], "verbs": ["list"]}
        ],
    }


def test_api_servers_may_do_what_they_check_at_their_start_and_no_more() -> None:
    serving = permissions.SERVING
    assert granted("leyden-api") == {
        ("Role", "leyden-nodes"): cluster_roles.rules(
            (*serving.of_the_namespace, *cluster_roles.OF_METRICS)
        ),
        ("ClusterRole", "leyden-nodes"): cluster_roles.rules(serving.of_the_cluster),
    }
    verbs = {
        verb
        for each in (*serving.of_the_namespace, *serving.of_the_cluster)
        for verb in each.verbs
        if each.kind != "tokenreviews"
    }
    assert verbs == {"get"}


def granted(account: str) -> dict[tuple[str, str], Any]:
    """Return the rules of an account, by kind of role and namespace."""
    roles = {
        (each["kind"], each["metadata"]["name"]): each
        for each in OBJECTS
        if "rules" in each
    }
    found = {}
    for each in OBJECTS:
        if each["kind"].endswith("Binding") and each.get("subjects") == [
            {"kind": "ServiceAccount", "name": account, "namespace": "leyden"}
        ]:
            role = roles[each["roleRef"]["kind"], each["roleRef"]["name"]]
            answer = role["metadata"].get("namespace", "leyden-nodes")
            assert each["metadata"].get("namespace") == role["metadata"].get(
                "namespace"
            )
            found[role["kind"], answer] = role["rules"]
    return found


def test_the_right_to_change_volumes_is_for_those_of_nodes() -> None:
    [policy] = [each for each in OBJECTS if each["kind"] == "ValidatingAdmissionPolicy"]
    account = "system:serviceaccount:leyden:leyden"
    assert policy["spec"] == cluster_roles.volume_policy_spec(
        namespace="leyden-nodes", account=account
    )
    [binding] = [
        each for each in OBJECTS if each["kind"] == "ValidatingAdmissionPolicyBinding"
    ]
    assert binding["spec"] == {
        "policyName": policy["metadata"]["name"],
        "validationActions": ["Deny"],
    }


def test_replicas_of_one_version_are_spread_when_another_is_still_there() -> None:
    for name, spec in pods():
        if name != "leyden-migrate":
            [spread] = spec["topologySpreadConstraints"]
            assert spread["matchLabelKeys"] == ["pod-template-hash"]


def test_every_container_says_what_it_needs() -> None:
    """A quota for a namespace refuses pods that don't."""
    for _, spec in pods():
        for container in (*spec["containers"], *spec.get("initContainers", [])):
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
            assert container["resources"]["limits"].keys() >= {"memory"}
    done = rendered("--set", "migrate.resources.limits.memory=2Gi")
    assert done.stdout.count("memory: 2Gi") == 1


def test_nothing_secret_and_no_volume_is_of_the_chart() -> None:
    assert not {each["kind"] for each in OBJECTS} & {"Secret", "PersistentVolumeClaim"}
    [namespace] = [each for each in OBJECTS if each["kind"] == "Namespace"]
    assert namespace["metadata"]["annotations"] == KEPT


def test_in_the_namespace_of_nodes_no_pod_is_anybody_special() -> None:
    """The platform may create pods there, and so may whoever takes it over."""
    [namespace] = [each for each in OBJECTS if each["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"] == permissions.RESTRICTED


def test_nodes_that_outlive_the_chart_are_held_to_what_they_may_reach() -> None:
    held = [
        each["metadata"]
        for each in OBJECTS
        if each["kind"] == "NetworkPolicy"
        and each["metadata"]["namespace"] == "leyden-nodes"
    ]
    assert [each["annotations"] for each in held] == [KEPT]


@pytest.mark.parametrize(("name", "spec"), [*pods()])
def test_a_pod_of_the_platform_may_do_little(name: str, spec: dict[str, Any]) -> None:
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*spec["containers"], *spec.get("initContainers", [])):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    accounts = {"leyden-api": "leyden-api", "leyden-worker": "leyden"}
    assert spec.get("serviceAccountName") == accounts.get(name)
    has_account = name in accounts
    assert (spec.get("automountServiceAccountToken") is False) != has_account


def test_a_gateway_has_the_token_and_no_other_key() -> None:
    spec = dict(pods())["leyden-gateway"]
    secrets = [each["secret"] for each in spec["volumes"] if "secret" in each]
    keys = [each["key"] for secret in secrets for each in secret["items"]]
    assert keys == ["gateway_token", "root.pem"], "and whom it trusts"
    assert "DATABASE" not in json.dumps(spec)


def test_the_settings_in_it_are_ones_that_a_platform_starts_with(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    token.write_text("21 million and not one more")
    for name in ("leyden-api", "leyden-worker", "leyden-migrate"):
        [container] = dict(pods())[name]["containers"]
        given = settings.load(
            {
                **variables(container),
                "LEYDEN_GATEWAY_TOKEN_FILE": str(token),
                "LEYDEN_DATABASE_URL": "postgresql://leyden@database/leyden",
            }
        )
        clusters.check(given)
        assert given.gateway_here is False
        assert given.gateway_routes_port == 8020
        given_api = given
        assert given.companion_url == "https://leyden-companions.leyden.svc:8010"
        assert peer_addresses.host(given) == "peers.example.com"
        assert [*peer_addresses.ports(given)] == [21_000, 21_001, 21_002]
    [container] = dict(pods())["leyden-gateway"]["initContainers"]
    given = settings.load(
        {**variables(container), "LEYDEN_GATEWAY_TOKEN_FILE": str(token)}
    )
    assert given.gateway_control == "https://leyden-routes.leyden.svc:8020"
    assert given.gateway_control_name == listeners.routes_name(given_api)
    gateways.far_envoy(given)  # which refuses https without an authority
    [envoy] = dict(pods())["leyden-gateway"]["containers"]
    mounts = {each["name"]: each["mountPath"] for each in envoy["volumeMounts"]}
    assert given.gateway_control_ca == f"{mounts['authority']}/root.pem"


def test_the_load_balancer_of_gateways_has_a_port_for_each_nodes_peers() -> None:
    [spec] = [
        each["spec"]
        for each in OBJECTS
        if each["kind"] == "Service" and each["metadata"]["name"] == "leyden-gateway"
    ]
    # Envoy listens at the port that the node announces.
    peers = {p["name"]: p["port"] for p in spec["ports"] if "targetPort" not in p}
    assert peers == {f"peer-{port}": port for port in (21_000, 21_001, 21_002)}


def test_without_ports_for_peers_there_is_no_way_to_them() -> None:
    done = rendered("--set", "gateway.peers.ports=0")
    assert done.returncode == 0, done.stderr
    assert "peer" not in done.stdout.lower()


def worker_with(file: Path, values: object) -> dict[str, str]:
    file.write_text(yaml.safe_dump(values))
    done = rendered("--values", file, "--show-only", "templates/worker.yaml")
    assert done.returncode == 0, done.stderr
    [worker] = [
        each for each in yaml.safe_load_all(done.stdout) if "replicas" in each["spec"]
    ]
    [container] = worker["spec"]["template"]["spec"]["containers"]
    return variables(container)


def test_a_number_of_a_file_reaches_the_platform_with_all_its_digits(
    tmp_path: Path,
) -> None:
    wanted = {"seller_low_sats": 12_000_000, "rate_bps": 50, "lsps1": True}
    given = worker_with(tmp_path / "values.yaml", {"settings": wanted})
    assert given["LEYDEN_SELLER_LOW_SATS"] == "12000000"
    assert given["LEYDEN_RATE_BPS"] == "50"
    assert given["LEYDEN_LSPS1"] == "true"
    assert "rate_bps" in rendered("--set-json", "settings.rate_bps=1.5").stderr


def test_the_platform_knows_what_nodes_may_reach(tmp_path: Path) -> None:
    may = [{"cidr": "10.1.2.3/32", "port": 8332}, {"cidr": "fd12::/64", "port": 9735}]
    nodes = {"mayReach": may, "mayNotReach": ["203.0.114.0/24", "2400:cb00::/32"]}
    given = worker_with(tmp_path / "values.yaml", {"nodes": nodes})
    token = tmp_path / "token"
    token.write_text("21 million and not one more")
    given |= {"LEYDEN_GATEWAY_TOKEN_FILE": str(token)}
    signers = node_openings.signers(settings.load(given))
    assert [(str(each), port) for each, port in signers.openings] == [
        ("10.1.2.3/32", 8332),
        ("fd12::/64", 9735),
    ]
    assert [*map(str, signers.forbidden)] == ["203.0.114.0/24", "2400:cb00::/32"]


def test_a_setting_that_the_chart_sets_is_refused_by_name(tmp_path: Path) -> None:
    example = yaml.safe_load(VALUES.read_text())["settings"]
    own = {
        name.removeprefix("LEYDEN_").removesuffix("_FILE").lower()
        for _, spec in pods()
        for container in (*spec["containers"], *spec.get("initContainers", ()))
        for name in (each["name"] for each in container.get("env", ()))
        if name.startswith("LEYDEN_")
    } - {*example, "log_format"}
    own = {each for each in own if not each.startswith("gateway_control")}
    for name in (own - {"secrets"}) | {"secrets_file"}:
        done = rendered("--set", f"settings.{name}=1")
        assert f"settings.{name}: the chart sets it" in done.stderr, name
    given = worker_with(tmp_path / "values.yaml", {"settings": {"log_format": "text"}})
    assert given["LEYDEN_LOG_FORMAT"] == "text"


def test_settings_of_gateways_reach_their_pods(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    wanted = {"gateway_connections": 2_000_000, "gateway_workers": 4}
    file.write_text(yaml.safe_dump({"settings": wanted}))
    done = rendered("--values", file, "--show-only", "templates/gateway.yaml")
    assert done.returncode == 0, done.stderr
    every = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    spec = every["Deployment"]["spec"]["template"]["spec"]
    given = variables(spec["initContainers"][0])
    assert given["LEYDEN_GATEWAY_CONNECTIONS"] == "2000000"
    assert given["LEYDEN_GATEWAY_WORKERS"] == "4"
    [envoy] = spec["containers"]
    assert envoy["args"] == [*flags(Path(BOOTSTRAP), workers=4)]


def test_metrics_are_for_the_namespace_of_prometheus_alone() -> None:
    done = rendered("--set", "metrics.namespace=monitoring")
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    for name in ("leyden-api", "leyden-worker"):
        [template] = [
            each["spec"]["template"]
            for each in objects
            if (each["kind"], each["metadata"]["name"]) == ("Deployment", name)
        ]
        [container] = template["spec"]["containers"]
        given = variables(container)
        assert given["LEYDEN_METRICS_HOST"] == EVERYWHERE
        assert given["LEYDEN_METRICS_PORT"] == "9464"
        assert {"name": "metrics", "containerPort": 9464} in container["ports"]
        assert template["metadata"]["annotations"]["prometheus.io/port"] == "9464"
        [policy] = [
            each["spec"]
            for each in objects
            if (each["kind"], each["metadata"]["name"]) == ("NetworkPolicy", name)
        ]
        [scraped] = [
            each for each in policy["ingress"] if "metrics" in str(each["ports"])
        ]
        assert scraped["from"] == [
            {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": "monitoring"}
                }
            }
        ]
    assert "metrics" in rendered("--set", "metrics.namespace=No_Namespace").stderr


def test_an_api_server_serves_on_until_nobody_is_sent_to_it() -> None:
    """Told at once, and not after a sleep: it ends kept connections meanwhile."""
    spec = dict(pods())["leyden-api"]
    [container] = spec["containers"]
    given = variables(container)
    assert given["LEYDEN_STOP_DELAY_S"] == "5"
    assert "lifecycle" not in container
    stops_s = 5 + Settings().stop_grace_s
    assert spec["terminationGracePeriodSeconds"] > stops_s


def test_without_a_prometheus_nothing_listens_for_one() -> None:
    for _, spec in pods():
        for container in spec["containers"]:
            if container["command"][0] == "leyden":
                assert variables(container)["LEYDEN_METRICS_PORT"] == "0"
    assert "9464" not in MANIFEST.read_text()


def test_envoy_starts_as_the_platform_would_start_it() -> None:
    [container] = dict(pods())["leyden-gateway"]["containers"]
    assert container["image"].startswith("registry.example.com/envoy@")
    workers = Settings().gateway_workers
    assert container["args"] == [*flags(Path(BOOTSTRAP), workers=workers)]
    assert "env" not in container, "the token is in what was prepared"


def test_keys_that_a_command_prints_are_those_that_pods_mount(tmp_path: Path) -> None:
    given = Settings(nodes_domain="nodes.example.com")
    made = yaml.safe_load(cluster_keys.manifest(given, name="leyden-keys"))
    data = {key: base64.b64decode(value) for key, value in made["data"].items()}
    mounted = {
        item["key"]
        for _, spec in pods()
        for volume in spec["volumes"]
        if (secret := volume.get("secret"))
        and secret["secretName"] == made["metadata"]["name"]
        for item in secret["items"]
    }
    assert mounted == {*data} - {"root.key.sealed"}, "it is for the operator to keep"
    for name, content in data.items():
        (tmp_path / name).write_bytes(content)
    load_keyring(tmp_path / "secrets.json")
    authority = Authority(tmp_path)
    authority.check()
    assert authority.scope is not None
    DiscoveryGateway(  # takes no token that is too short
        clusters_listener(given), token=data["gateway_token"].decode()
    )
    again = yaml.safe_load(cluster_keys.manifest(given, name="leyden-keys"))
    assert not {*again["data"].values()} & {*made["data"].values()}


def clusters_listener(given: Settings) -> Any:
    return gateways.listener_options(replace(given, gateway_host="0.0.0.0"))  # noqa: S104


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("image=registry.example.com/leyden:latest", "image"),
        ("companionImage=", "companionImage"),
        ("nodes.domain=", "domain"),
        ("nodes.namespace=leyden", "nodes.namespace: must not be the release's own"),
        ("nodes.storageClass=", "storageClass"),
        ("api.replicas=0", "replicas"),
        ("settings.acme_directory=https://acme.example.com", "ACME doesn't work in"),
        ("settings.acme_api_name=api.example.com", "settings.acme_api_name: ACME"),
        ("settings.api_tls=true", "settings.api_tls: the chart serves the API over"),
        ("platform.mayReach[0].port=70000", "port"),
        ("gateway.service.type=ClusterIP", "type"),
        ("gateway.service.loadBalancerSourceRanges[0]=10.0.0.0", "SourceRanges.0"),
        ("api.service.loadBalancerClass=a", "api.service: loadBalancerClass and"),
        ("api.ingress.enabled=true", "api.ingress.hosts: must name the host"),
        ("api.ingress.hosts[0]=https://a.example", "api.ingress.hosts.0"),
        ("metrics.serviceMonitor.enabled=true", "set metrics.namespace, too"),
        (r"api.podLabels.app\.kubernetes\.io/component=gateway", "api.podLabels: the"),
        ("worker.extraEnv[0].name=LEYDEN_HOME", "LEYDEN_HOME is a setting; use"),
        ("migrate.extraEnv[0].value=a", "name is required"),
        ("nodes.nodeSelector.pool=1", "nodes.nodeSelector.pool: Invalid type"),
        ("nodes.tolerations[0].effect=NoSchedule", "key is required"),
        ("gateway.peers.host=", "host"),
        ("gateway.peers.firstPort=8080", "firstPort"),
        ("nodes.mayReach[0].port=70000", "port"),
        ("nodes.mayNotReach[0]=fd00::/8", "mayNotReach"),
        ("sttings.a=b", "sttings"),
    ],
)
def test_values_that_cannot_be_are_refused_by_name(value: str, why: str) -> None:
    done = rendered("--set", value)
    assert done.returncode != 0
    assert why in done.stderr
