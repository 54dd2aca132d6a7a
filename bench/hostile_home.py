"""An installation to be attacked: `leyden up` on its own chain, without a market."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.town import LEYDEN, free_port, own_network

from leyden.base.settings import Settings, every_setting
from leyden.client import Client

_SLOW = "slow.test"
_SILENT = "127.66.6.53"
_PEER_PORTS = "20500-20599"  # another platform here may have the usual ones
_PORTS = ("api_port", "gateway_rest_port", "gateway_grpc_port", "devnet_")


@dataclass
class Home:
    """A fresh installation on a chain of its own."""

    folder: Path
    slow_names: bool
    ports: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ports = {
            name: free_port()
            for name, _, _ in every_setting()
            if name.startswith(_PORTS) and name.endswith("_port")
        }
        self.home = self.folder / "home"
        self._environment = {
            **os.environ,
            **{
                f"LEYDEN_{name.upper()}": str(port) for name, port in self.ports.items()
            },
            "LEYDEN_HOME": str(self.home),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_PEER_PORTS": _PEER_PORTS,
            "LEYDEN_NODES_ADDRESSES": f"{own_network()}.0.0/16",
            "LEYDEN_DEVNET_MARKET": "false",
            "LEYDEN_LOG_LEVEL": "warning",
            "LEYDEN_WEBHOOKS_OVER_HTTP": "true",
            "LEYDEN_WEBHOOK_NETWORKS": "127.0.0.0/8",
        }

    def run(self, *words: str) -> str:
        """Run a command to its end."""
        command: list[str | Path] = [LEYDEN, *words]
        if self.slow_names and words[0] == "up":
            path = self.folder / "resolv.conf"
            path.write_text(f"nameserver {_SILENT}\noptions timeout:5 attempts:2\n")
            script = f'mount --bind {path} /etc/resolv.conf && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
        return subprocess.run(
            command,
            env=self._environment,
            check=True,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        ).stdout

    def organization(self, name: str, keys: int) -> tuple[str, list[str]]:
        """Create an organization with API keys."""
        made = json.loads(self.run("orgs", "create", name, "--json"))["organization_id"]
        key = ("api-keys", "create", "--organization", made, "--json", "--name")
        answer = [self.run(*key, f"{name} {number}") for number in range(keys)]
        return made, [json.loads(each)["api_key"] for each in answer]

    def client(self, key: str) -> Client:
        """Return a client with an API key."""
        at = f"127.0.0.1:{self.ports['gateway_rest_port']}"
        return Client(f"http://127.0.0.1:{self.ports['api_port']}", key, gateway=at)

    @property
    def settings(self) -> Settings:
        """The settings for writing to its database."""
        return Settings(home=str(self.home))

    @property
    def root(self) -> Path:
        """The file with what its nodes are trusted by."""
        return self.home / "authority" / "root.pem"

    @property
    def unanswered(self) -> str:
        """The domain that no name server answers for; empty where there is none."""
        return _SLOW if self.slow_names else ""


@contextmanager
def silent() -> Iterator[bool]:
    """Run a name server that never answers; only root can bind its port."""
    with contextlib.ExitStack() as stack:
        try:
            port = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            port.bind((_SILENT, 53))
        except OSError:
            yield False
        else:
            yield os.geteuid() == 0


@contextmanager
def open_folder() -> Iterator[Path]:
    """Create a folder that other users may traverse, so that nodes get users."""
    folder = Path(tempfile.mkdtemp(prefix="bench-hostile-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
