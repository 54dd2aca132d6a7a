"""A platform with real nodes to measure, and an owner who polls them.

The chain is simnet without a backend (neutrino without peers): a node comes as far as
asking for its wallet, which is all that is measured here.
"""

import asyncio
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

LEYDEN = Path(sys.executable).parent / "leyden"
SETTINGS = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "harbour light",
    "color": "#ff9900",
}
LOOK_EVERY_S = 0.001
PATIENCE_S = 120


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Caller:
    """One connection over HTTP/1.1, made when needed, kept as long as it holds."""

    def __init__(
        self, host: str, port: int, *, tls: ssl.SSLContext | None = None, name: str = ""
    ) -> None:
        self._to = (host, port)
        self._tls = tls
        self._name = name
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(
        self, method: str, path: str, body: object = None, key: str = ""
    ) -> tuple[int, Any]:
        """Make one request."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                *self._to, ssl=self._tls, server_hostname=self._name or None
            )
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        head = [f"{method} {path} HTTP/1.1", f"Host: {self._name or 'localhost'}"]
        head += [f"X-SERVICE-AUTH: {key}"] if key else []
        head += ["Content-Type: application/json"] if content else []
        head += [f"Content-Length: {len(content)}"]
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + content)
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(answer.partition("content-length: ")[2].partition("\r\n")[0])
            reported = json.loads(await reader.readexactly(length))
        except (OSError, EOFError):
            self.close()
            raise
        return int(answer.split(" ", 2)[1]), reported

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def answering(caller: Caller, *, every_s: float = LOOK_EVERY_S) -> None:
    """Poll an lnd every millisecond until it waits for its wallet."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            async with asyncio.timeout(5):
                status, answer = await caller.call("GET", "/v1/state")
            if status == 200 and answer.get("state") == "NON_EXISTING":
                return
        except (OSError, EOFError, TimeoutError):
            caller.close()
        await asyncio.sleep(every_s)
    raise TimeoutError("it never answered")


def own_network() -> str:
    """Return how the addresses of nodes begin that likely nobody else here uses."""
    return f"127.{random.SystemRandom().randint(65, 250)}"


class Town:
    """A platform that runs, with one customer."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.home = folder / "home"
        self.network = own_network()
        self.ports = {
            name: free_port() for name in ("API", "GATEWAY_REST", "GATEWAY_GRPC")
        }
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME")},
            **{n: v for n, v in os.environ.items() if n == "LEYDEN_CACHE"},
            "LEYDEN_HOME": str(self.home),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_NODES_ADDRESSES": f"{self.network}.0.0/16",
            "LEYDEN_TESTNET_CHAIN": "simnet",
            "LEYDEN_TESTNET_BACKEND": "neutrino",
            "LEYDEN_REQUESTS_PER_MINUTE": "100000000",
            "LEYDEN_NODES_PER_ORGANIZATION": "100000",
            "LEYDEN_LOG_LEVEL": "warning",  # what is said costs, too
            **{f"LEYDEN_{n}_PORT": str(port) for n, port in self.ports.items()},
            **{f"LEYDEN_{name.upper()}": str(v) for name, v in settings.items()},
        }
        self._run("migrate")
        made = json.loads(self._run("orgs", "create", "bench", "--json"))
        self.organization_id = made["organization_id"]
        key = self._run(
            "api-keys",
            "create",
            "--organization",
            self.organization_id,
            "--name",
            "bench",
            "--json",
        )
        self.key = json.loads(key)["api_key"]
        self.process: subprocess.Popen[bytes]

    @property
    def nodes(self) -> str:
        """The path of the customer's nodes."""
        return f"/organizations/{self.organization_id}/nodes"

    @property
    def trusts(self) -> ssl.SSLContext:
        """A TLS context that trusts the nodes here."""
        return ssl.create_default_context(cafile=str(self.home / "authority/root.pem"))

    def api(self) -> Caller:
        """Open a connection to the API."""
        return Caller("127.0.0.1", self.ports["API"])

    def door(self, endpoint: str) -> Caller:
        """Open a connection to a node through the gateway."""
        return Caller(
            "127.0.0.1", self.ports["GATEWAY_REST"], tls=self.trusts, name=endpoint
        )

    async def serve(self) -> None:
        """Start the platform, and wait until it answers."""
        self.start()
        await self.answers()

    def start(self) -> None:
        """Start the platform."""
        with (self.home / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [LEYDEN, "serve"], env=self.environment, stdout=log, stderr=log
            )

    async def answers(self) -> None:
        """Wait until the API answers a request that needs the database."""
        caller = self.api()
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                status, _ = await caller.call("GET", self.nodes, key=self.key)
                if status == 200:
                    caller.close()
                    return
            except (OSError, EOFError):
                caller.close()
            await asyncio.sleep(LOOK_EVERY_S)
        raise TimeoutError((self.home / "serve.log").read_text()[-2000:])

    async def create(self, caller: Caller, name: str) -> str:
        """Create a node; return its id."""
        wish = {
            "name": name,
            "network": "testnet",
            "type": "standard",
            "settings": SETTINGS,
        }
        status, answer = await caller.call("POST", self.nodes, wish, key=self.key)
        if status != 200:
            raise RuntimeError(answer)
        node_id: str = answer["node_id"]
        return node_id

    async def until(
        self,
        caller: Caller,
        node_id: str,
        status: str,
        *,
        every_s: float = LOOK_EVERY_S,
    ) -> None:
        """Poll every millisecond until the node has a status."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            path = f"{self.nodes}/{node_id}"
            _, shown = await caller.call("GET", path, key=self.key)
            if shown.get("status") == status:
                return
            await asyncio.sleep(every_s)
        raise TimeoutError(f"node {node_id} never was {status}")

    async def delete(self, caller: Caller, node_id: str) -> None:
        """Delete a node, and wait until it is gone."""
        path = f"{self.nodes}/{node_id}"
        await caller.call("DELETE", path, key=self.key)
        status = 0
        while status != 404:
            await asyncio.sleep(0.01)
            status, _ = await caller.call("GET", path, key=self.key)

    def kill(self) -> None:
        """Kill the platform, as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def down(self) -> None:
        """End everything."""
        self.process.terminate()
        self.process.wait(60)
        self._run("down", "--nodes")

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [LEYDEN, *words],
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return done.stdout


@asynccontextmanager
async def town(folder: Path, **settings: object) -> AsyncIterator[Town]:
    """Serve a platform until the end of the block, and leave nothing."""
    made = Town(folder, **settings)
    await made.serve()
    try:
        yield made
    finally:
        await asyncio.to_thread(made.down)
