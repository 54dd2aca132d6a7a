"""What the chart leaves to whoever installs it: labels, machines, ways in, notes."""

import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from leyden.base import settings
from leyden.nodes.wiring import clusters
from tests.deploy.test_chart import OBJECTS, ROOT, VALUES, helm, rendered, worker_with

CHART = ROOT / "chart"
PARTS = ("api", "worker", "gateway", "migrate")
RELEASE = {"app.kubernetes.io/name": "leyden", "app.kubernetes.io/instance": "leyden"}
USUAL = {(each["kind"], each["metadata"]["name"]): each for each in OBJECTS}
_ROW = re.compile(r"^\| `([\w.]+)` \| `([^`]*)` \|", re.MULTILINE)


def objects_with(values: object, file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the chart renders to with more values, by kind and name."""
    file.write_text(yaml.safe_dump(values))
    done = rendered("--values", file)
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def template_of(part: str, objects: dict[tuple[str, str], Any]) -> dict[str, Any]:
    kind = "Job" if part == "migrate" else "Deployment"
    template: dict[str, Any] = objects[kind, f"leyden-{part}"]["spec"]["template"]
    return template


def leaves(values: dict[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict) and value and name != "resources":
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def test_the_readme_has_every_value_with_its_default() -> None:
    wanted = dict(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
    found: dict[str, object] = {}
    for row, shown in _ROW.findall((CHART / "README.md").read_text()):
        parts = [row.replace("PART", part) for part in PARTS]
        paths = [each for each in parts if each in wanted] if "PART" in row else [row]
        assert paths, row
        found |= dict.fromkeys(paths, yaml.safe_load(shown))
    assert found == wanted


def test_lint_finds_nothing_wrong() -> None:
    done = helm("lint", "--strict", CHART, "--values", VALUES)
    assert done.returncode == 0, done.stdout


def test_selectors_are_those_of_every_earlier_version() -> None:
    """Kubernetes refuses to change the selector of a Deployment that exists."""
    found = {
        each["metadata"]["name"]: each["spec"]["selector"]["matchLabels"]
        for each in OBJECTS
        if each["kind"] in {"Deployment", "PodDisruptionBudget"}
    }
    assert found == {
        f"leyden-{part}": {**RELEASE, "app.kubernetes.io/component": part}
        for part in ("api", "worker", "gateway")
    }
    services = [each for each in OBJECTS if each["kind"] == "Service"]
    assert len(services) == 4
    for each in services:
        assert {*each["spec"]["selector"]} == {*RELEASE, "app.kubernetes.io/component"}


def test_every_object_and_pod_has_the_recommended_labels() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    wanted = {
        **RELEASE,
        "app.kubernetes.io/version": chart["appVersion"],
        "app.kubernetes.io/part-of": "leyden",
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": f"leyden-{chart['version']}",
    }
    for each in OBJECTS:
        if each["kind"] == "Namespace":
            continue  # which outlives the release
        templates = (
            [each["spec"]["template"]] if "template" in each.get("spec", {}) else []
        )
        for labelled in (each, *templates):
            labels = labelled["metadata"]["labels"]
            assert labels.items() >= wanted.items(), each["metadata"]["name"]
        for template in templates:
            assert template["metadata"]["labels"].keys() - wanted.keys() == {
                "app.kubernetes.io/component"
            }


@pytest.mark.parametrize("part", PARTS)
def test_pods_of_a_part_run_where_and_with_what_is_said(
    part: str, tmp_path: Path
) -> None:
    where: dict[str, object] = {
        "nodeSelector": {"pool": "platform"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    }
    if part != "migrate":
        spread = {"maxSkew": 1, "topologyKey": "zone"}
        where["topologySpreadConstraints"] = [
            {**spread, "whenUnsatisfiable": "DoNotSchedule"}
        ]
    variable = {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"}
    more = {"podLabels": {"team": "1"}, "podAnnotations": {"a.example/b": "c"}}
    values = {part: {**where, **more, "extraEnv": [variable]}}
    template = template_of(part, objects_with(values, tmp_path / "values.yaml"))
    spec, usual = template["spec"], template_of(part, USUAL)
    assert {key: spec[key] for key in where} == where
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        assert container["env"][-1] == variable
    labels = {**usual["metadata"]["labels"], **more["podLabels"]}
    assert template["metadata"] == {
        "labels": labels,
        "annotations": more["podAnnotations"],
    }


def test_the_platform_knows_where_nodes_run(tmp_path: Path) -> None:
    given = worker_with(
        tmp_path / "values.yaml",
        {
            "nodes": {
                "nodeSelector": {"pool": "nodes", "example.com/disk": "ssd"},
                "tolerations": [
                    {"key": "dedicated", "value": "nodes", "effect": "NoSchedule"},
                    {"key": "gpu", "operator": "Exists"},
                    {"key": "x", "effect": "NoExecute"},
                ],
            }
        },
    )
    token = tmp_path / "token"
    token.write_text("21 million and not one more")
    given |= {"LEYDEN_GATEWAY_TOKEN_FILE": str(token)}
    assert clusters.scheduling(settings.load(given)) == {
        "nodeSelector": {"pool": "nodes", "example.com/disk": "ssd"},
        "tolerations": [
            {"key": "dedicated", "value": "nodes", "effect": "NoSchedule"},
            {"key": "gpu", "operator": "Exists"},
            {"key": "x", "value": "", "effect": "NoExecute"},
        ],
    }


def test_an_ingress_and_a_monitor_are_there_when_wanted(tmp_path: Path) -> None:
    assert not {each["kind"] for each in OBJECTS} & {"Ingress", "ServiceMonitor"}
    tls = [{"hosts": ["api.example.com"], "secretName": "api-tls"}]
    ingress = {"enabled": True, "className": "nginx", "hosts": ["api.example.com"]}
    monitor = {"enabled": True, "labels": {"release": "prometheus"}, "interval": "30s"}
    values = {
        "api": {"ingress": {**ingress, "tls": tls, "annotations": {"a": "b"}}},
        "metrics": {"namespace": "monitoring", "serviceMonitor": monitor},
    }
    objects = objects_with(values, tmp_path / "values.yaml")
    made = objects["Ingress", "leyden-api"]
    assert made["metadata"]["annotations"] == {"a": "b"}
    backend = {"service": {"name": "leyden-api", "port": {"name": "http"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    assert made["spec"] == {
        "ingressClassName": "nginx",
        "tls": tls,
        "rules": [{"host": "api.example.com", "http": {"paths": [path]}}],
    }
    monitor_ = objects["ServiceMonitor", "leyden"]
    assert monitor_["metadata"]["labels"]["release"] == "prometheus"
    assert monitor_["spec"]["endpoints"] == [{"port": "metrics", "interval": "30s"}]
    selected = monitor_["spec"]["selector"]["matchLabels"]
    job = monitor_["spec"]["jobLabel"]
    scraped = [
        service
        for (kind, _), service in objects.items()
        if kind == "Service"
        and service["metadata"]["labels"].items() >= selected.items()
        and [each for each in service["spec"]["ports"] if each["name"] == "metrics"]
    ]
    assert {each["metadata"]["labels"][job] for each in scraped} == {"leyden"}
    assert [each["spec"]["clusterIP"] for each in scraped] == ["None", "None"]
    for part, service in zip(("api", "worker"), scraped, strict=True):
        template = template_of(part, objects)
        [container] = template["spec"]["containers"]
        assert {"name": "metrics", "containerPort": 9464} in container["ports"]
        labels = template["metadata"]["labels"]
        assert labels.items() >= service["spec"]["selector"].items()


def test_what_load_balancers_and_clouds_are_told(tmp_path: Path) -> None:
    balancer = {
        "loadBalancerClass": "example.com/public",
        "loadBalancerSourceRanges": ["198.51.100.0/24"],
    }
    account = {"annotations": {"example.com/role": "backups"}}
    values = {
        "api": {"service": {**balancer, "type": "LoadBalancer"}},
        "gateway": {"service": balancer},
        "worker": {"serviceAccount": account},
    }
    objects = objects_with(values, tmp_path / "values.yaml")
    for name in ("leyden-api", "leyden-gateway"):
        assert objects["Service", name]["spec"].items() >= balancer.items()
    found = {
        name: each["metadata"].get("annotations")
        for (kind, name), each in objects.items()
        if kind == "ServiceAccount"
    }
    assert found == {"leyden": account["annotations"], "leyden-api": None}


@contextmanager
def api_that_answers(status: HTTPStatus) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health/ready" else 404)
            self.end_headers()
            self.wfile.write(b'{"status": "as it is"}')

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "code"), [(HTTPStatus.OK, 0), (HTTPStatus.SERVICE_UNAVAILABLE, 1)]
)
def test_helm_test_asks_whether_the_api_is_ready(status: HTTPStatus, code: int) -> None:
    done = rendered("--show-only", "templates/tests/ready.yaml")
    pod = yaml.safe_load(done.stdout)
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    [container] = pod["spec"]["containers"]
    python, *words, address = container["command"]
    assert (python, address) == ("python3", "leyden-api.leyden.svc:80")
    with api_that_answers(status) as there:
        run = subprocess.run(
            [sys.executable, *words, there], capture_output=True, text=True, check=False
        )
    assert run.returncode == code
    assert run.stdout == f'{status.value} {{"status": "as it is"}}\n'


def notes(tmp_path: Path, *more: str) -> str:
    """Return what `helm install` prints at its end, which `helm template` doesn't."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart, dirs_exist_ok=True)
    shutil.copy(CHART / "templates/NOTES.txt", chart / "notes")
    text = 'notes: {{ tpl (.Files.Get "notes") . | quote }}'
    (chart / "templates/shown.yaml").write_text(text)
    words = ("template", "leyden", chart, "--namespace", "leyden", "--values", VALUES)
    done = helm(*words, "--show-only", "templates/shown.yaml", *more)
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["notes"])


def test_notes_tell_the_next_steps(tmp_path: Path) -> None:
    usual = notes(tmp_path)
    assert "helm test leyden -n leyden" in usual
    assert "port-forward -n leyden service/leyden-api 8000:80" in usual
    assert "Point *.nodes.example.com to the gateways" in usual
    assert "WARNING" not in usual
    ingress = {"enabled": True, "hosts": ["api.example.com"]}
    exposed = notes(tmp_path, "--set-json", f"api.ingress={json.dumps(ingress)}")
    assert "http://api.example.com/app/" in exposed
    assert "settings.dashboard_origins is not set" in exposed
    assert "settings.api_proxies is not set" in exposed
    origin = "settings.dashboard_origins=https://api.example.com"
    more = ("--set", origin, "--set", "settings.api_proxies=10.0.0.0/8")
    ready = notes(tmp_path, "--set-json", f"api.ingress={json.dumps(ingress)}", *more)
    assert "WARNING" not in ready
