"""A cluster as `leyden dev cluster` makes it, and the hands of those who use it.

cluster = DevCluster(folder)
cluster.run("up", "--machines", "2")
cluster.kubectl("apply", "-f", "-", given=objects)
cluster.run("down")
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from leyden.base.daemons import catalogue
from leyden.base.daemons.build import default_cache, program_path
from leyden.base.processes import ProcessIdentity, identify
from leyden_workshop.devcluster import binaries, images, namespaces, packages
from leyden_workshop.devcluster.addresses import Block
from leyden_workshop.devcluster.layout import ClusterLayout
from tests.reaper import descendants

LEYDEN = Path(sys.executable).with_name("leyden")
UP_S = 400
WITHIN_S = 120


def until(what: str, holds: Callable[[], object], within_s: float = WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def program(name: str) -> Path:
    """Return where a program is, or would be."""
    return program_path(
        default_cache(os.environ), *catalogue.find(name, sets=binaries.SETS)
    )


def lnd_image() -> str:
    """Return the name of lnd's image on each machine, by its digest."""
    tools, lnd = catalogue.find("lnd")
    built = program_path(default_cache(os.environ), tools, lnd)
    return images.by_digest(image(images.lnd(lnd.version), built).archive)


def companion_image() -> str:
    """Return the name of the companion's image on each machine, by its digest."""
    return images.by_digest(image(images.COMPANION, program("companion")).archive)


def image(name: str, built: Path) -> images.Image:
    """Return the image of a program that is built."""
    cache = default_cache(os.environ)
    return images.ensure(cache, name, built, packages.packages_in(cache))


class DevCluster:
    """A cluster in a folder of its own."""

    def __init__(self, home: Path, *, before: Sequence[str] = ()) -> None:
        self.home = home
        self.places = ClusterLayout.of(home)
        self._before = before  # what the command is run by
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if name in {"PATH", "HOME", "LEYDEN_CACHE", "TMPDIR"}
        }

    @property
    def addresses(self) -> Block:
        """The addresses of a cluster with pods."""
        decided = self.places.read()
        assert decided is not None
        assert decided.addresses is not None
        return decided.addresses

    def run(self, *words: str) -> str:
        """Run `leyden dev cluster` to its end."""
        done = self._run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refusal(self, *words: str) -> str:
        """Run `leyden dev cluster`, and return why it does not do it."""
        done = self._run(*words)
        assert done.returncode == 1, done.stdout
        return done.stderr

    def _run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self._before, LEYDEN, "dev", "cluster", *words, "--home", self.home],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=UP_S,
            check=False,
        )

    def begin(self, *words: str) -> "subprocess.Popen[bytes]":
        """Begin `leyden dev cluster`, to be killed on its way."""
        return subprocess.Popen(
            [LEYDEN, "dev", "cluster", *words, "--home", self.home],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def status(self) -> dict[str, Any]:
        done = subprocess.run(
            [*(LEYDEN, "dev", "cluster", "status"), "--json", "--home", self.home],
            env=self._environment,
            stdout=subprocess.PIPE,
            timeout=WITHIN_S,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def answers(self) -> bool:
        """Return whether the API is ready; quicker than the status."""
        if namespaces.running(self.places.control_plane) is None:
            return False
        try:
            return self.kubectl("get", "--raw=/readyz", "--request-timeout=5s") == "ok"
        except AssertionError:
            return False

    def kubectl(self, *words: str, given: Sequence[Mapping[str, Any]] = ()) -> str:
        """Run kubectl as the administrator; `given` are objects for its input."""
        done = subprocess.run(
            [program("kubectl"), *words],
            env={**self._environment, "KUBECONFIG": str(self.places.kubeconfig)},
            input="\n---\n".join(json.dumps(each) for each in given),
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *words, "-o", "json"))
        return found

    def machine(self, number: int) -> int:
        """Return the process that a machine ends with."""
        found = namespaces.running(self.places.machine(number))
        assert found is not None
        return found.pid

    def kubelet(self, number: int) -> int:
        """Return the kubelet of a machine."""
        found = map(identify, descendants(self.machine(number)))
        return next(each.pid for each in found if each and each.exe.endswith("kubelet"))

    def on_machine(self, number: int, script: str, *words: str) -> str:
        """Run Python in the network of a machine, with the files of this host."""
        return self._in(self.machine(number), script, *words)

    def ctr(self, number: int, *words: str) -> str:
        """Run containerd's own command on a machine."""
        packaged = packages.packages_in(default_cache(os.environ))
        pid = self.machine(number)
        ctr = [str(packaged.root / "usr/bin/ctr"), "--namespace", "k8s.io", *words]
        return subprocess.run(
            [*namespaces.enter(pid, mounts=True, own=True), *ctr],
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=True,
        ).stdout

    def here(self, script: str, *words: str) -> str:
        """Run Python in the network of this host."""
        return self._in(os.getpid(), script, *words)

    def _in(self, pid: int, script: str, *words: str) -> str:
        done = subprocess.run(
            [*namespaces.enter(pid), sys.executable, "-c", script, *words],
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else ""


def lnds_of(pod: str) -> list[int]:
    """Return the processes of a pod's lnds, on whichever machine."""
    found = processes_of(pod)
    return [pid for pid, program in found.items() if program == "lnd"]


def processes_of(pod: str) -> dict[int, str]:
    """Return the programs of a pod's containers by pid, on whichever machine."""
    found = {}
    hostname = f"HOSTNAME={pod}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if hostname in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "exe").readlink().name
    return found


def within(cluster: DevCluster) -> set[ProcessIdentity]:
    """All processes of a cluster, those in its pods too."""
    folders = [cluster.places.control_plane, *map(cluster.places.machine, (1, 2))]
    found = set()
    for folder in folders:
        running = namespaces.running(folder)
        if running is not None:
            found |= {running.pid, *descendants(running.pid)}
    return {each for each in map(identify, found) if each is not None}


def kill(cluster: DevCluster, program: str) -> None:
    """End a program of the cluster by SIGKILL, on each machine that runs it."""
    found = [each for each in within(cluster) if Path(each.exe).name == program]
    assert found, f"no {program} runs"
    for each in found:
        os.kill(each.pid, signal.SIGKILL)
