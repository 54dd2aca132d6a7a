"""A whole installation, as `leyden up` makes it, and the hands of those who use it.

town = Town(folder)
await town.up()
node = await town.create("harbour light")
await town.says(node, "waiting_init")
await node.call("GET", "/v1/state")        # through the gateway, by name
await town.down()
"""

import asyncio
import base64
import json
import os
import signal
import ssl
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from leyden.lnd.rest import WALLET_S
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import LndClient, connect
from leyden.nodes.lnd.states import TlsAddress
from leyden.values import fields
from leyden_workshop.devnet import first_run
from leyden_workshop.devnet.first_run import FirstAccount
from leyden_workshop.devnet.layout import AuctionPorts
from leyden_workshop.devnet.scenario import market_opens
from tests.ports import free_network, free_port, free_ports

LEYDEN = Path(sys.executable).parent / "leyden"
UP_S = 240
_PEER_PORTS = 100  # more than all stories together have nodes
SAYS_S = 120  # a machine that builds beside the tests is slow
PASSWORD = base64.b64encode(b"harbour light").decode()
SETTINGS: dict[str, Any] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "harbour light",
    "color": "#ff9900",
}


class Refused(Exception):
    """The platform said no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status


@dataclass
class Owned:
    """A node in the hands of its owner, who talks to it through the gateway."""

    id: str
    endpoint: str
    lnd: LndClient
    macaroon: str = ""
    seed: list[str] = field(default_factory=list)

    async def call(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        # Any may open the wallet, which takes long beside other tests.
        return await self.lnd.call(
            method, path, body, macaroon=self.macaroon, timeout_s=WALLET_S
        )

    async def init(self) -> None:
        """Make a wallet, statelessly."""
        self.seed = (await self.call("GET", "/v1/genseed"))["cipher_seed_mnemonic"]
        made = await self.call(
            "POST",
            "/v1/initwallet",
            {
                "wallet_password": PASSWORD,
                "cipher_seed_mnemonic": self.seed,
                "stateless_init": True,
            },
        )
        self.macaroon = base64.b64decode(made["admin_macaroon"]).hex()

    async def unlock(self, *, stateless: bool = True) -> None:
        await self.call(
            "POST",
            "/v1/unlockwallet",
            {"wallet_password": PASSWORD, "stateless_init": stateless},
        )


class RunningPlatform:
    """An installation with everything in it."""

    def __init__(self, folder: Path, *, market: bool = False) -> None:
        self.home = folder / "home"
        self._stack = AsyncExitStack()
        self._session: aiohttp.ClientSession
        self.platform: asyncio.subprocess.Process
        self.signer_port = free_port()  # where nodes may have a remote signer
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME")},
            "LEYDEN_HOME": str(self.home),
            "LEYDEN_NODES_MAY_REACH": f"127.0.0.1:{self.signer_port}",
            "LEYDEN_NODES_ADDRESSES": free_network(),
            "LEYDEN_METRICS_PORT": "0",
            "LEYDEN_DEVNET_BLOCK_S": "0",  # tests say when a block comes
            "LEYDEN_DEVNET_MARKET": str(market).lower(),
            "LEYDEN_PEER_PORTS": ",".join(map(str, free_ports(_PEER_PORTS))),
            **{
                f"LEYDEN_{name}_PORT": str(free_port())
                for name in (
                    "API",
                    "GATEWAY_REST",
                    "GATEWAY_GRPC",
                    "DEVNET_BTCD",
                    "DEVNET_TREASURY_PEER",
                    "DEVNET_TREASURY_GRPC",
                    "DEVNET_TREASURY_REST",
                    *(f"DEVNET_{each.name.upper()}" for each in fields(AuctionPorts)),
                )
            },
        }
        if "LEYDEN_CACHE" in os.environ:
            self.environment["LEYDEN_CACHE"] = os.environ["LEYDEN_CACHE"]

    async def up(self, *options: str) -> None:
        """Start it, or start it again; returns when everything is up."""
        ready = self.home / "ready"
        ready.unlink(missing_ok=True)
        log = (self.home.parent / "up.log").open("ab")
        self.platform = await asyncio.create_subprocess_exec(
            LEYDEN,
            "up",
            *options,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        async with asyncio.timeout(UP_S):
            while not ready.exists():
                assert self.platform.returncode is None, self.printed()
                await asyncio.sleep(0.1)
        self.facts: dict[str, Any] = json.loads((self.home / "dev.json").read_text())
        self._session = await self._stack.enter_async_context(aiohttp.ClientSession())

    async def opens(self) -> None:
        """Wait until its market is open."""
        async with asyncio.timeout(2 * UP_S):
            await market_opens(self.home)

    async def kill(self) -> None:
        """End the platform as a power cut would; nodes and gateway live on."""
        self.platform.send_signal(signal.SIGKILL)
        await self.platform.wait()

    async def down(self) -> None:
        """End everything."""
        await self._stack.aclose()
        await self.run("down", "--nodes")
        await self.platform.wait()

    def printed(self) -> str:
        """Return what the platform printed."""
        return (self.home.parent / "up.log").read_text()[-4000:]

    async def run(self, *words: str, code: int = 0) -> str:
        """Run a `leyden` command, which exits with that code."""
        command = await asyncio.create_subprocess_exec(
            LEYDEN,
            *words,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await command.communicate()
        assert command.returncode == code, output.decode()
        return output.decode()

    async def api(
        self, method: str, path: str, body: object = None, *, key: str = ""
    ) -> Any:
        """Call the platform's API with the first key, which all tests of a town share.

        Together they may make more requests a minute than one key allows.
        """
        while True:
            async with self._session.request(
                method,
                f"{self.facts['base_url']}{path}",
                json=body,
                headers={"X-SERVICE-AUTH": key or self.facts["api_key"]},
            ) as answer:
                content = await answer.json()
                if answer.status == 200:
                    return content
                if answer.status != 429:
                    raise Refused(answer.status, content["message"])
                wait_s = int(answer.headers["Retry-After"])
            await asyncio.sleep(wait_s)

    async def of(
        self, node: Owned | None, method: str, path: str, body: object = None
    ) -> Any:
        """Call the API about a node, or about all of them."""
        team = self.facts["organization_id"]
        which = f"/{node.id}" if node else ""
        return await self.api(method, f"/organizations/{team}/nodes{which}{path}", body)

    async def create(self, name: str, **changes: Any) -> Owned:
        """Make a node, and give it to its owner, who trusts what GET cert says."""
        wish = {
            "name": name,
            "network": "testnet",
            "type": "standard",
            "settings": {**SETTINGS, **changes.pop("settings", {})},
            **changes,
        }
        made = await self.of(None, "POST", "", wish)
        return await self.found(made["node_id"])

    async def found(self, node_id: str) -> Owned:
        """Return a node to its owner, however it was made."""
        node = Owned(node_id, "", None)  # type: ignore[arg-type]
        node.endpoint = (await self.of(node, "GET", ""))["api_endpoint"]
        node.lnd = await self._stack.enter_async_context(
            connect(
                TlsAddress(
                    self.facts["gateway"]["host"],
                    self.facts["gateway"]["rest_port"],
                    node.endpoint,
                ),
                await self.trusting(node),
            )
        )
        return node

    async def trusting(self, node: Owned) -> ssl.SSLContext:
        shown = await self.of(node, "GET", "/cert")
        return trusting(base64.b64decode(shown["tls_cert"]).decode())

    async def says(self, node: Owned, status: str) -> None:
        """Wait until the platform says that the node is in this state."""
        shown = ""
        try:
            async with asyncio.timeout(SAYS_S):
                while shown != status:
                    shown = (await self.of(node, "GET", ""))["status"]
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"{shown} instead of {status}\n{self.printed()}"
            ) from None

    async def until(self, what: str, holds: Any, *, seconds: float = 60) -> None:
        """Wait for something to come true."""
        try:
            async with asyncio.timeout(seconds):
                while not await holds():
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"never: {what}\n{self.printed()}") from None

    async def treasury(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Call the treasury's lnd."""
        stored = self.facts["treasury"]
        host, _, port = stored["rest"].rpartition(":")
        tls = trusting(Path(stored["certificate"]).read_text())
        macaroon = Path(stored["macaroon"]).read_bytes().hex()
        async with connect(TlsAddress(host, int(port), "localhost"), tls) as lnd:
            return await lnd.call(method, path, body, macaroon=macaroon)

    def scenarios(self) -> FirstAccount:
        """Return the organization of the scenarios that were played here."""
        return FirstAccount(**first_run.read(self.home)["scenarios"])

    async def credit(self) -> int:
        """Return the credit of the first organization."""
        return int((await self.api("GET", "/flow/balance"))["credit"])

    async def spend_credit(self) -> None:
        """Leave no credit behind, so that the next order is paid for."""
        if sats := await self.credit():
            await self.run(
                *("orgs", "credit", "correct", "--organization"),
                *(self.facts["organization_id"], "--kind", "debit"),
                *("--amount", str(sats), "--reason", "the next test"),
            )

    def folder(self, node: Owned) -> Path:
        """Return the folder in which the node lives."""
        return self.home / "nodes" / node.id
