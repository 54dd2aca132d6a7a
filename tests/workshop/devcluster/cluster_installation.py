"""The chart, installed whole on the dev cluster with helm, and its callers."""

import base64
import http
import http.client
import http.server
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from tests.workshop.devcluster.clusters import (
    LEYDEN,
    DevCluster,
    lnd_image,
    program,
    until,
)

ROOT = Path(__file__).parents[3]
DOMAIN = "nodes.example.com"
PEER_HOST, PEER_PORT = "peers.example.com", 21000
STEP_S = 240
# The dev cluster has no DNS: where pods call the platform by name, they get an address.
_RENDERED_AFTERWARDS = """\
#!{python}
import sys, yaml
addresses = {addresses}
text = sys.stdin.read()
for name, address in addresses.items():
    text = text.replace(f"{{name}}.{namespace}.svc", address)
objects = [each for each in yaml.safe_load_all(text) if each]
for each in objects:
    if each["kind"] == "Service" and each["metadata"]["name"] in addresses:
        each["spec"]["clusterIP"] = addresses[each["metadata"]["name"]]
yaml.safe_dump_all(objects, sys.stdout)
"""


@contextmanager
def receiver(host: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Take webhooks at an address of this host."""
    taken: list[dict[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            names = {"id": "webhook-id", "timestamp": "webhook-timestamp"}
            expected = {each: self.headers[header] for each, header in names.items()}
            taken.append({**json.loads(content), **expected})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer((host, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{host}:{server.server_port}/events", taken
        server.shutdown()


@dataclass
class ClusterInstallation:
    """An installation of the chart in namespaces of its own."""

    cluster: DevCluster
    folder: Path
    database: str
    images: dict[str, str]
    companion: str
    name: str = field(default_factory=lambda: f"quay-{secrets.token_hex(3)}")

    @property
    def nodes(self) -> str:
        return f"{self.name}-nodes"

    @property
    def host(self) -> str:
        return str(self.cluster.addresses.host)

    @property
    def api(self) -> str:
        """The address of the API's service."""
        return self._service(200)

    def machine_address(self, number: int) -> str:
        return str(self.cluster.addresses.machine(number))

    def _service(self, number: int) -> str:
        return str(self.cluster.addresses.services[number])

    def install(self) -> None:
        """Do what docs/operators/cluster.md says."""
        self.cluster.kubectl("create", "namespace", self.name)
        keys = subprocess.run(
            [LEYDEN, "encryption-keys", "kubernetes"],
            env={**os.environ, "LEYDEN_NODES_DOMAIN": DOMAIN},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        database = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "leyden-database"},
            "stringData": {"uri": self.database},
        }
        self.cluster.kubectl(
            *("apply", "-n", self.name, "-f", "-"),
            given=[yaml.safe_load(keys), database],
        )
        values = {
            "image": self.images["platform"],
            "envoyImage": self.images["envoy"],
            "companionImage": self.companion,
            "lndImages": {"v0.20.2-beta": lnd_image()},
            "settings": {
                "testnet_chain": "simnet",
                "testnet_backend": "neutrino",
                "webhooks_over_http": True,
                "webhook_networks": f"{self.host}/32",
                "webhook_ports": "1024-65535",
                "node_data_kept_s": 1,
            },
            "nodes": {
                "namespace": self.nodes,
                "domain": DOMAIN,
                "storageClass": "local-retained",
            },
            "metrics": {"namespace": "monitoring"},
            # Nobody makes load balancers here, and helm waits for one.
            "gateway": {
                "service": {"type": "NodePort"},
                "peers": {"host": PEER_HOST, "firstPort": PEER_PORT, "ports": 2},
            },
        }
        (self.folder / "values.yaml").write_text(yaml.safe_dump(values))
        renderer = self.folder / "addresses"
        renderer.write_text(
            _RENDERED_AFTERWARDS.format(
                python=sys.executable,
                namespace=self.name,
                addresses={
                    "leyden-api": self.api,
                    "leyden-companions": self._service(201),
                    "leyden-routes": self._service(202),
                },
            )
        )
        renderer.chmod(0o755)
        self.helm("install")

    def helm(self, verb: str, *more: str) -> None:
        """Install or upgrade, and wait until all of it is ready."""
        command = [
            *(program("helm"), verb, "leyden", ROOT / "deploy/chart"),
            *("--namespace", self.name, "--values", self.folder / "values.yaml"),
            *("--post-renderer", self.folder / "addresses"),
            *("--wait", "--timeout", f"{STEP_S}s", *more),
        ]
        done = subprocess.run(
            list(map(str, command)),
            env={**os.environ, "KUBECONFIG": str(self.cluster.places.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr}\n{self.printed()}"

    def printed(self) -> str:
        """Return what pods say, for whoever reads why a test failed."""
        found = [self.cluster.kubectl("get", "pods", "-n", self.name, "-o", "wide")]
        for each in self.pods():
            name = each["metadata"]["name"]
            more = ("--all-containers", "--tail=20", "--ignore-errors")
            found.append(self.cluster.kubectl("logs", name, "-n", self.name, *more))
        return "\n".join(found)

    def pods(self, component: str = "") -> list[dict[str, Any]]:
        chosen = f"app.kubernetes.io/component={component}" if component else ""
        found: list[dict[str, Any]] = self.cluster.get(
            "pods", "-n", self.name, "--selector", chosen
        )["items"]
        return found

    def leyden(self, *words: str) -> Any:
        """Run a command of the operator in an API server's pod."""
        command = ("exec", "-n", self.name, "deploy/leyden-api", "--", "leyden")
        return json.loads(self.cluster.kubectl(*command, *words, "--json"))

    def examined(self) -> dict[str, str]:
        """Run the doctor in a pod; return what to do about each thing."""
        command = ("exec", "-n", self.name, "deploy/leyden-worker", "--", "leyden")
        done = subprocess.run(
            [program("kubectl"), *command, "doctor", "--cluster", "--json"],
            env={**os.environ, "KUBECONFIG": str(self.cluster.places.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP_S,
        )
        body = json.loads(done.stdout)
        return {each["what"]: each["to_do"] for each in body["items"]}

    def node_port(self, name: str = "rest") -> int:
        """Return the port of each machine that leads to a port of its gateway."""
        found = self.cluster.get("service", "leyden-gateway", "-n", self.name)
        ports = {each["name"]: each["nodePort"] for each in found["spec"]["ports"]}
        return int(ports[name])

    def remove(self) -> None:
        """Take it away; what its nodes leave is let go by hand."""
        delete = ("delete", "--ignore-not-found", "--wait=false")
        self.cluster.kubectl(*delete, "namespace", self.name)
        name = f"leyden-{self.nodes}"
        kinds = "clusterrole,clusterrolebinding"
        self.cluster.kubectl(*delete, kinds, name, f"{name}-api")
        kinds = "validatingadmissionpolicy,validatingadmissionpolicybinding"
        self.cluster.kubectl(*delete, kinds, name)
        for each in self.cluster.get("pods", "-n", self.nodes)["items"]:
            self.cluster.kubectl(
                *("patch", "pod", each["metadata"]["name"], "-n", self.nodes),
                *("--type=merge", "-p", '{"metadata": {"finalizers": null}}'),
            )
        self.cluster.kubectl(*delete, "namespace", self.nodes)
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Customer:
    """An organization that calls the API at its service, as from outside."""

    installation: ClusterInstallation
    organization: str
    key: str

    def call(self, method: str, path: str = "", body: object = None) -> Any:
        status, content = self.ask(method, path, body)
        assert status < 300, content
        return json.loads(content)

    def insist(self, method: str, path: str = "", body: object = None) -> Any:
        """Make a request again until it is answered, as one and the same."""
        key = secrets.token_hex(16)
        deadline = time.monotonic() + STEP_S
        while True:
            try:
                status, content = self.ask(method, path, body, key=key)
            except (OSError, http.client.HTTPException) as error:
                status, content = http.HTTPStatus.BAD_GATEWAY, repr(error).encode()
            if status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                assert status < http.HTTPStatus.MULTIPLE_CHOICES, content
                return json.loads(content)
            assert time.monotonic() < deadline, content
            time.sleep(0.2)

    def ask(
        self, method: str, path: str = "", body: object = None, *, key: str = ""
    ) -> tuple[int, bytes]:
        """Make one request, over a connection of its own."""
        named = {"Idempotency-Key": key} if key else {}
        connection = http.client.HTTPConnection(self.installation.api, timeout=20)
        try:
            connection.request(
                method,
                f"/organizations/{self.organization}/nodes{path}",
                None if body is None else json.dumps(body),
                {
                    "X-SERVICE-AUTH": self.key,
                    "Content-Type": "application/json",
                    **named,
                },
            )
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def create(self, name: str, settings: Mapping[str, object]) -> str:
        """Create a node; return its id."""
        wish = {"name": name, "network": "testnet", "type": "standard"}
        made = self.call("POST", body={**wish, "settings": dict(settings)})
        return str(made["node_id"])

    def item(self, node_id: str) -> dict[str, Any]:
        listed = self.insist("GET")
        found = listed["nodes"] if isinstance(listed, dict) else listed
        return next(dict(each) for each in found if each["node_id"] == node_id)

    def is_(self, node_id: str, status: str) -> None:
        until(status, lambda: self.item(node_id)["status"] == status, STEP_S)


def state(address: str, port: int, name: str, authority: str) -> str:
    """Ask a node for its state through a gateway; why not, where nobody is let in."""
    trusting = ssl.create_default_context(cadata=authority)
    try:
        with (
            socket.create_connection((address, port), timeout=5) as plain,
            trusting.wrap_socket(plain, server_hostname=name) as to,
        ):
            to.sendall(f"GET /v1/state HTTP/1.0\r\nHost: {name}\r\n\r\n".encode())
            content = b""
            while more := to.recv(65536):
                content += more
            return content.decode().rpartition("\r\n\r\n")[2]
    except OSError as error:
        return f"refused: {type(error).__name__}"


@dataclass
class Owner:
    """The owner of a node, who makes its wallet through a gateway."""

    address: str
    port: int
    name: str
    authority: str
    macaroon: str = ""

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        trusting = ssl.create_default_context(cadata=self.authority)
        connection = http.client.HTTPConnection(self.name, timeout=20)
        plain = socket.create_connection((self.address, self.port), timeout=20)
        connection.sock = trusting.wrap_socket(plain, server_hostname=self.name)
        headers = {"Grpc-Metadata-macaroon": self.macaroon} if self.macaroon else {}
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/v1{path}", content, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def make_wallet(self) -> str:
        """Make it; return the node's public key."""
        _, seed = self.call("GET", "/genseed")
        wish = {
            "wallet_password": base64.b64encode(b"harbour light").decode(),
            "cipher_seed_mnemonic": seed["cipher_seed_mnemonic"],
            "stateless_init": True,
        }
        _, made = self.call("POST", "/initwallet", wish)
        self.macaroon = base64.b64decode(made["admin_macaroon"]).hex()
        known: list[str] = []

        def knows() -> bool:
            status, answer = self.call("GET", "/getinfo")
            known[:] = [answer["identity_pubkey"]] if status == 200 else []
            return bool(known)

        until("its public key", knows)
        return known[0]


class Traffic:
    """A caller that never stops asking, and remembers what went wrong."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self.asked = 0
        self.wrong: list[str] = []
        self._ask = ask
        self._ended = threading.Event()
        self._threads: Sequence[threading.Thread] = [
            threading.Thread(target=self._run) for _ in range(2)
        ]

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for each in self._threads:
            each.join()

    def _run(self) -> None:
        while not self._ended.wait(0.25):  # a key has 600 requests a minute
            began = time.monotonic()
            try:
                why = self._ask()
            except (OSError, http.client.HTTPException) as error:
                why = repr(error)
            self.asked += 1
            if why:
                self.wrong.append(f"{why} after {time.monotonic() - began:.2f} s")
