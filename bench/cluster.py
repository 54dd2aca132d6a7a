"""B-cluster: a node in a cluster, against `kubectl apply` of the same objects.

Both begin with the wish and end when the node's lnd answers at its service. The base
applies what the platform itself has made for an earlier node: its service, claim,
secret and pod, under other names. Then what a node takes while nothing happens: lnd,
its companion, and what Kubernetes adds for the pod.

As root, beside a cluster of `leyden dev cluster up`:

    ./leyden bench cluster --cluster .leyden [--pairs 6]

With `--simulated 2000` it measures thousands of nodes instead (many_nodes.py), in a
cluster of its own that needs no root.
"""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import uvloop
from bench import many_nodes
from bench.measure import Figures, Report, cpu_seconds, resident_kib, turns
from bench.simulated_cluster import program
from bench.town import SETTINGS

from leyden.app import installation
from leyden.app.migration import migrate
from leyden.base.daemons import catalogue
from leyden.base.daemons.build import default_cache, program_path
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.rules.versions import OFFERED
from leyden.people import accounts, api_keys
from leyden_workshop.devcluster import images, namespaces, packages
from leyden_workshop.devcluster.layout import ClusterLayout

_LOOK_EVERY_S = 0.02
_WITHIN_S = 60.0
_KINDS = ("service", "pvc", "secret", "pod")
_PROGRAMS = ("lnd", "companion", "pause", "containerd-shim-runc-v2")
_QUIET_S = 30.0


class Cluster:
    """A namespace of its own in a cluster that is up."""

    def __init__(self, home: Path) -> None:
        self.places = ClusterLayout.of(home)
        self.namespace = f"bench-{secrets.token_hex(3)}"

    def kubectl(self, *words: str, given: object = None) -> str:
        """Run kubectl as the administrator."""
        return subprocess.run(
            (program("kubectl"), "--kubeconfig", self.places.kubeconfig, *words),
            input=None if given is None else json.dumps(given),
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Return a node's objects as they would be applied under another name."""
        made = []
        for kind in _KINDS:
            text = self.kubectl("get", kind, name, "-n", self.namespace, "-o", "json")
            made.append(_bare(json.loads(text)))
        return made

    def apply(self, objects: list[dict[str, Any]], name: str) -> str:
        """Apply the objects of one node under a new name; return its address."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        old = objects[0]["metadata"]["name"]
        given = json.loads(text.replace(old, name))
        self.kubectl("apply", "-n", self.namespace, "-f", "-", given=given)
        where = ("-n", self.namespace, "-o", "jsonpath={.spec.clusterIP}")
        return self.kubectl("get", "service", name, *where)

    def processes(self) -> list[psutil.Process]:
        """List what runs on its machines."""
        decided = self.places.read()
        first = [
            namespaces.running(self.places.machine(number))
            for number in range(1, 1 + (decided.machines if decided else 0))
        ]
        return [
            process
            for init in first
            if init is not None
            for process in psutil.Process(init.pid).children(recursive=True)
        ]

    def leave(self) -> None:
        """Delete the namespace, and what holds its pods."""
        scope = ("-n", self.namespace)
        self.kubectl("delete", "pods", "--all", "--wait=false", "--now", *scope)
        for name in self.kubectl("get", "pods", "-o", "name", *scope).split():
            gone = '{"metadata": {"finalizers": null}}'
            with contextlib.suppress(subprocess.CalledProcessError):
                self.kubectl("patch", name, "--type=merge", "-p", gone, *scope)
        self.kubectl("delete", "namespace", self.namespace, "--wait=false")


def _bare(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without what the cluster has added, and its node's label."""
    made = {key: found[key] for key in ("apiVersion", "kind") if key in found}
    # The service finds its pod by it, and the platform must not take it for its own.
    name = found["metadata"]["name"]
    made["metadata"] = {"name": name, "labels": {"bench": name}}
    for key in ("spec", "data", "type"):
        if key in found:
            made[key] = found[key]
    spec = made.get("spec", {})
    for key in ("clusterIP", "clusterIPs", "nodeName", "volumeName", "serviceAccount"):
        spec.pop(key, None)
    if made["kind"] == "Service":
        spec["selector"] = {"bench": name}
    return made


async def answers(host: str, port: int) -> None:
    """Wait until an lnd reports at its service that it waits for a wallet."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    patience = aiohttp.ClientTimeout(total=0.5)
    async with asyncio.timeout(_WITHIN_S), aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                url = f"https://{host}:{port}/v1/state"
                async with session.get(url, ssl=anybody, timeout=patience) as answer:
                    if b"NON_EXISTING" in await answer.read():
                        return
            await asyncio.sleep(_LOOK_EVERY_S)


class Ours:
    """The platform, as a customer sees it."""

    def __init__(self, platform: Platform, organization: str, key: str) -> None:
        self._platform = platform
        port = platform.settings.api_port
        self._url = f"http://127.0.0.1:{port}/organizations/{organization}/nodes"
        self._key = key

    async def create(self) -> tuple[str, str]:
        """Create a node; return its id and its address, once it has one."""
        wish = {
            "name": secrets.token_hex(4),
            "network": "testnet",
            "type": "standard",
            "settings": SETTINGS,
        }
        headers = {"X-SERVICE-AUTH": self._key}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(self._url, json=wish) as answer,
        ):
            made = await answer.json()
        node_id = str(made["node_id"])
        reader = self._platform.database.reader
        while True:
            if host := (await reader.nodes.get(node_id)).host:
                return node_id, host
            await asyncio.sleep(_LOOK_EVERY_S)


async def race(cluster: Cluster, ours: Ours, given: Settings, pairs: int) -> Figures:
    """Create nodes with both in turns; return the seconds that each took."""
    first, host = await ours.create()
    await answers(host, given.node_rest_port)
    name = f"node-{first.lower()}"
    objects = await asyncio.to_thread(cluster.objects, name)
    figures = Figures()
    for who in turns(("kubectl", "ours", "kubectl again"), rounds=pairs):
        began = time.perf_counter()
        if who == "ours":
            _, host = await ours.create()
        else:
            new = f"bench-{secrets.token_hex(4)}"
            host = await asyncio.to_thread(cluster.apply, objects, new)
        await answers(host, given.node_rest_port)
        figures.add(who, time.perf_counter() - began)
    return figures


def idle(report: Report, cluster: Cluster) -> None:
    """Compare the usage of an idle node with lnd and its companion alone.

    Memory is what is a process's own, and its part of what it shares (PSS): shims,
    pauses and companions are many of one program.
    """
    pids: dict[str, list[int]] = {name: [] for name in _PROGRAMS}
    for process in cluster.processes():
        with contextlib.suppress(psutil.Error):
            if (name := Path(process.exe()).name) in pids:
                pids[name].append(process.pid)
    before = {name: cpu_seconds(*of) for name, of in pids.items()}
    time.sleep(_QUIET_S)
    taken = {}
    for name, of in pids.items():
        memory = sum(map(_proportional_kib, of)) / len(of) / 1024
        cpu = (cpu_seconds(*of) - before[name]) / len(of) / _QUIET_S * 1000
        taken[name] = memory, cpu
        resident = sum(map(resident_kib, of)) / len(of) / 1024
        report.note(
            f"idle, {name}: {memory:.1f} MiB ({resident:.1f} resident) and {cpu:.2f} "
            f"ms of a processor each second, the mean of {len(of)}"
        )
    for number, unit in enumerate(("MiB", "ms of a processor each second")):
        all_of_it = sum(each[number] for each in taken.values())
        goal = taken["lnd"][number] + taken["companion"][number]
        text = (
            f"idle, a node: {all_of_it:.2f} {unit} <= {goal:.2f} of lnd and companion"
        )
        report.holds(text, met=all_of_it <= goal)


def _proportional_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    [line] = (each for each in lines if each.startswith("Pss:"))
    return int(line.split()[1])


def settings_for(cluster: Cluster, folder: Path) -> Settings:
    """Return the settings of a platform beside the cluster."""
    decided = cluster.places.read()
    if decided is None or decided.addresses is None:
        sys.exit("there is no cluster there: leyden dev cluster up")
    cache = default_cache(os.environ)
    tools, lnd = catalogue.find("lnd")
    made = {
        name: images.by_digest(
            images.ensure(cache, name, built, packages.packages_in(cache)).archive
        )
        for name, built in (
            (images.lnd(lnd.version), program_path(cache, tools, lnd)),
            (images.COMPANION, program("companion")),
        )
    }
    port = 20_000 + os.getpid() % 10_000
    return Settings(
        home=str(folder),
        api_port=port,
        metrics_port=0,
        gateway_here=False,
        gateway_token=secrets.token_urlsafe(32),
        testnet_chain="simnet",
        testnet_backend="neutrino",
        runtime="kubernetes",
        kubeconfig=str(cluster.places.kubeconfig),
        kubernetes_namespace=cluster.namespace,
        kubernetes_storage_class="local-retained",
        kubernetes_images=f"{OFFERED.default}={made[images.lnd(lnd.version)]}",
        companion_image=made[images.COMPANION],
        companion_url=f"https://{decided.addresses.host}:{port + 1}",
        companion_port=port + 1,
    )


async def measure(home: Path, pairs: int) -> int:
    """Race, look at what idles, and report."""
    cluster, report = Cluster(home), Report("A node in a cluster")
    cluster.kubectl("create", "namespace", cluster.namespace)
    try:
        with tempfile.TemporaryDirectory() as folder:
            given = settings_for(cluster, Path(folder))
            await asyncio.to_thread(migrate, given)
            async with installation.running(given) as platform:
                team = await accounts.create_organization(
                    platform, "Harbour", actor="bench"
                )
                _, key = await api_keys.create(
                    platform,
                    team.id,
                    name="all",
                    scopes=["node"],
                    expires=None,
                    actor="bench",
                )
                ours = Ours(platform, team.id, key)
                figures = await race(cluster, ours, given, pairs)
                kubectl, own = figures.median("kubectl"), figures.median("ours")
                report.note(
                    f"medians, at a load of {os.getloadavg()[0]:.0f}: kubectl "
                    f"{kubectl:.2f} s, ours {own:.2f} s"
                )
                report.null(figures.ratio("kubectl again", "kubectl"))
                report.at_most(1.1, figures.ratio("ours", "kubectl"))
                await asyncio.to_thread(idle, report, cluster)
    finally:
        cluster.leave()
    return report.end()


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--cluster", type=Path)
    what.add_argument("--simulated", type=int, metavar="NODES")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pods-alone", action="store_true")
    given = parser.parse_args()
    if given.simulated:
        return uvloop.run(
            many_nodes.measure(
                given.simulated,
                given.seconds,
                given.rounds,
                pods_alone=given.pods_alone,
            )
        )
    return uvloop.run(measure(given.cluster, given.pairs))


if __name__ == "__main__":
    sys.exit(main())
