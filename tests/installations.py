"""Whole installations, each on what it takes for a machine of its own.

    with machine(folder) as harbour, machine(other) as shore:
        one = Installation(harbour, folder, postgres_url)
        one.migrate()
        worker = one.start("worker")
        worker.kill()

A machine has processes, mounts, a network, a name and an id of its own (namespaces), so
that no process of one sees those of another. What they share is the disk, and with it
the socket of one PostgreSQL. When a machine goes, everything that ran on it has ended.
"""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leyden.base.database.secrets import Keyring, save_keyring
from leyden.nodes.runtimes.local.census import lnds
from tests.nodes.contracts.runtimes import install_stand_in
from tests.programs import require

PATIENCE_S = 90.0
SETTINGS: dict[str, object] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "harbour light",
    "color": "#ff9900",
}
_PROGRAM = "from leyden.app.main import main; main()"  # whichever way it is installed
_SPACES = ("--pid", "--mount", "--net", "--uts")
# The first process of a machine: it reaps whatever its parents left behind.
_INIT = """
import signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""
_BOOT = """
set -e
ip link set lo up
hostname "$1"
test ! -e /etc/machine-id || mount --bind "$2" /etc/machine-id
exec "$3" -c "$4"
"""


@dataclass(frozen=True)
class Machine:
    """One machine, by the pid that its first process has out here."""

    name: str
    init: int

    def command(self, *words: str) -> list[str]:
        """Return what runs these words there."""
        return ["nsenter", "--target", str(self.init), *_SPACES, "--", *words]


@contextlib.contextmanager
def machine(folder: Path, name: str, *, on: str = "") -> Iterator[Machine]:
    """Have a machine for the length of the block; skip where none can be had.

    `on` names a machine that it is a container of: they have one id then.
    """
    if os.geteuid() != 0:
        pytest.skip("machines of their own take root")
    for program in ("unshare", "ip", "curl"):
        require(program)
    number = folder / f"{on or name}.machine-id"
    if not on:
        number.write_text(secrets.token_hex(16) + "\n")
    unshare = ["unshare", *_SPACES, "--fork", "--mount-proc", "--kill-child"]
    begun = subprocess.Popen(
        [*unshare, "sh", "-c", _BOOT, "sh", name, str(number), sys.executable, _INIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert begun.stdout is not None
    assert begun.stderr is not None
    try:
        if begun.stdout.readline() != "up\n":
            pytest.skip(f"no machine can be had here: {begun.stderr.read()}")
        yield Machine(name, _child(begun.pid))
    finally:
        begun.kill()  # and with it, by --kill-child, all that runs there
        begun.wait()
        begun.stdout.close()
        begun.stderr.close()


def end(ended: Machine) -> None:
    """Let a machine lose its power: everything on it ends at once."""
    os.kill(ended.init, signal.SIGKILL)


@dataclass
class Program:
    """One process of an installation."""

    outer: "subprocess.Popen[bytes]"
    pid: int  # as it is out here
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def runs(self) -> bool:
        return self.outer.poll() is None

    def kill(self) -> None:
        """End it by SIGKILL, and nothing that it started."""
        self._signal(signal.SIGKILL)
        self.outer.wait(PATIENCE_S)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)
        self.outer.send_signal(signal.SIGCONT)  # it stops with what it waits for

    def stop(self) -> int:
        self._signal(signal.SIGTERM)
        return self.outer.wait(PATIENCE_S)

    def _signal(self, number: int) -> None:
        # While who waits for it runs, its pid cannot be a stranger's.
        if self.runs:
            os.kill(self.pid, number)


@dataclass
class Installation:
    """A home on a machine, and what runs of it."""

    at: Machine
    folder: Path
    database: str
    name: str = "home"
    settings: Mapping[str, str] = field(default_factory=dict)
    begun: list[Program] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / self.name

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "LEYDEN_HOME": str(self.home),
            "LEYDEN_DATABASE_URL": self.database,
            "LEYDEN_SECRETS_FILE": str(self.folder / "secrets.json"),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_REQUESTS_PER_MINUTE": "100000",
            "LEYDEN_TESTNET_CHAIN": "simnet",
            "LEYDEN_TESTNET_BACKEND": "neutrino",
            "LEYDEN_NODES_FENCE": "off",
            "LEYDEN_NODES_CGROUPS": "off",
            "LEYDEN_OWN_BINARIES": str(self.folder / "lnd"),
            "COLUMNS": "200",
            **self.settings,
        }

    def migrate(self) -> None:
        """Make the schema and what is in the home, with a stand-in in lnd's place."""
        if not (self.folder / "lnd").exists():
            install_stand_in(self.folder)
        self.home.mkdir(exist_ok=True)
        if not (self.folder / "secrets.json").exists():
            save_keyring(self.folder / "secrets.json", Keyring.new())
        done = self.run("migrate")
        assert done.returncode == 0, done.stderr

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command there, to its end."""
        return subprocess.run(
            self.at.command(sys.executable, "-c", _PROGRAM, *words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def start(self, word: str, *, port: int = 8000) -> Program:
        """Start `serve` or `worker` there, and do not wait for it."""
        log = self.folder / f"{self.at.name}-{word}-{len(self.begun)}.log"
        with log.open("wb") as out:
            outer = subprocess.Popen(
                self.at.command(sys.executable, "-c", _PROGRAM, word),
                env={**self.environment, "LEYDEN_API_PORT": str(port)},
                stdout=out,
                stderr=out,
            )
        program = Program(outer, _child(outer.pid), log)
        self.begun.append(program)
        return program

    def refused(self, word: str) -> str:
        """Start it, wait for its end, and give why it refused."""
        program = self.start(word)
        assert program.outer.wait(PATIENCE_S) == 1, program.said
        return program.said

    def call(
        self, method: str, path: str, body: object = None, *, key: str, port: int = 8000
    ) -> Any:
        """Call the API from the same machine."""
        words = ["curl", "-sS", "--max-time", "10", "-X", method]
        words += ["-H", f"X-SERVICE-AUTH: {key}", "-w", "\n%{http_code}"]
        if body is not None:
            words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        done = subprocess.run(
            self.at.command(*words, f"http://127.0.0.1:{port}{path}"),
            capture_output=True,
            text=True,
            check=True,
        )
        content, _, status = done.stdout.rpartition("\n")
        assert status.startswith("2"), content
        return json.loads(content)

    def answers(self, *, port: int = 8000) -> bool:
        """Return whether the API is ready."""
        done = subprocess.run(
            self.at.command(
                *("curl", "-sf", f"http://127.0.0.1:{port}/health/ready"),
            ),
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def lnds(self) -> Counter[str]:
        """Count the lnds of this home, wherever they run, by node."""
        return lnds(self.home / "nodes")

    def pid_of_lnd(self, node_id: str) -> int:
        """Return the pid that a node's lnd has out here."""
        wanted = f"--lnddir={self.home}/nodes/{node_id}/".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted in (process / "cmdline").read_bytes():
                    return int(process.name)
        raise LookupError(node_id)

    def close(self) -> None:
        for program in self.begun:
            program.thaw()
            program.kill()


class Customer:
    """Somebody with nodes, and a look at them in the database itself."""

    def __init__(self, of: Installation) -> None:
        self._of = of
        made = of.run("orgs", "create", f"team {secrets.token_hex(4)}", "--json")
        assert made.returncode == 0, made.stderr
        self.organization = json.loads(made.stdout)["organization_id"]
        words = ("--organization", self.organization, "--name", "all", "--json")
        key = of.run("api-keys", "create", *words)
        assert key.returncode == 0, key.stderr
        self.key = json.loads(key.stdout)["api_key"]

    @property
    def path(self) -> str:
        return f"/organizations/{self.organization}/nodes"

    def create(self, count: int, *, port: int = 8000) -> list[str]:
        """Make so many nodes, and do not wait for them."""
        made = []
        for number in range(count):
            wish = {
                "name": f"node {number} {secrets.token_hex(3)}",
                "network": "testnet",
                "type": "standard",
                "settings": SETTINGS,
            }
            answer = self._of.call("POST", self.path, wish, key=self.key, port=port)
            made.append(answer["node_id"])
        return made

    def ask(self, node_id: str, what: str, *, port: int = 8000) -> None:
        path = f"{self.path}/{node_id}/{what}"
        self._of.call("POST", path, {}, key=self.key, port=port)

    def statuses(self) -> dict[str, str]:
        """Return the status of each node, as the database has it."""
        return dict(query(self._of.database, "SELECT id, status FROM node"))

    def processes(self) -> dict[str, str]:
        """Return the process of each node, as the database has it."""
        return dict(query(self._of.database, "SELECT id, process FROM node"))


def query(database: str, sql: str) -> list[tuple[Any, ...]]:
    """Ask the database."""
    with psycopg.connect(database, autocommit=True) as connection:
        return connection.execute(sql.encode()).fetchall()


async def until(
    holds: Callable[[], bool], *, within_s: float = PATIENCE_S, why: Callable[[], str]
) -> float:
    """Wait until it holds; give how long that took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < within_s, why()
        await asyncio.sleep(0.1)
    return time.monotonic() - began


def _child(parent: int) -> int:
    """Return the one child of a process, once it has one."""
    deadline = time.monotonic() + PATIENCE_S
    children = Path(f"/proc/{parent}/task/{parent}/children")
    while time.monotonic() < deadline:
        if found := children.read_text().split():
            return int(found[0])
        time.sleep(0.01)
    raise TimeoutError
