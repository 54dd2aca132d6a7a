"""A buyer whose lnd is a node of this platform, with a poold of their own beside it.

Everything here happens on the owner's side: the wallet is made through the gateway, and
what opens it lies in a folder that goes when the story ends.
"""

import base64
import secrets
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leyden import processes
from leyden.devnet import access, first_run, trader
from leyden.devnet.bridge import Node, bridged
from leyden.devnet.calls import Calls
from leyden.devnet.daemon import Keeper
from leyden.devnet.poold import Poold, access_to
from leyden.devnet.waiting import until
from leyden.errors import SetupError
from leyden.lnd.client import Lnd, opened
from leyden.lnd.states import Address

_SETTINGS: dict[str, object] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "first channel",
    "color": "#ff9900",
}


class Hosted:
    """The owner of a node, with its macaroon and a poold."""

    def __init__(self, lnd: Lnd, macaroon: str, pool: access.Pool) -> None:
        self._lnd = lnd
        self._macaroon = macaroon
        self.pool = pool

    async def register(self, ticket: str) -> None:
        """Take a ticket: the channel will be this buyer's."""
        async with trader.opened(self.pool) as pool:
            await pool.register(ticket)

    async def channels(self) -> list[dict[str, Any]]:
        """List the lnd's open channels as lnd tells of them."""
        told = await self._lnd.call("GET", "/v1/channels", macaroon=self._macaroon)
        return list(told["channels"])


@asynccontextmanager
async def hosted(
    home: Path, call: Calls, *, program: Path, version: str = ""
) -> AsyncIterator[Hosted]:
    """Make a node with a wallet, and a poold that lasts as long as the block.

    Without a version, its lnd is the platform's usual one.
    """
    kept = first_run.read(home)
    nodes = f"/organizations/{kept['organization_id']}/nodes"
    wish = {
        "name": f"first channel {secrets.token_hex(3)}",
        "network": "testnet",
        "type": "standard",
        "settings": _SETTINGS,
        **({"version": version} if version else {}),
    }
    node_id = (await call("POST", nodes, wish))["node_id"]

    async def becomes(status: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def there() -> bool:
            nonlocal found
            found = await call("GET", f"{nodes}/{node_id}", None)
            return bool(found["status"] == status)

        await until(there, f"the node does not come to {status}")
        return found

    name = str((await becomes("waiting_init"))["api_endpoint"])
    gateway, authority = kept["gateway"], Path(kept["ca_path"])
    rest = Address(gateway["host"], gateway["rest_port"], name)
    tls = ssl.create_default_context(cafile=authority)
    async with opened(rest, tls) as lnd:
        macaroon = await _wallet_of(lnd)
        await becomes("running")
        grpc = Node(
            host=gateway["host"],
            port=gateway["grpc_port"],
            name=name,
            authority=authority,
        )
        with tempfile.TemporaryDirectory() as folder:
            async with _poold(home, grpc, macaroon, Path(folder), program) as pool:
                yield Hosted(lnd, macaroon, pool)


async def _wallet_of(lnd: Lnd) -> str:
    """Make the node's wallet, statelessly, and give its macaroon."""
    seed = await lnd.call("GET", "/v1/genseed")
    made = await lnd.call(
        "POST",
        "/v1/initwallet",
        {
            "wallet_password": base64.b64encode(secrets.token_bytes(16)).decode(),
            "cipher_seed_mnemonic": seed["cipher_seed_mnemonic"],
            "stateless_init": True,
        },
    )
    return base64.b64decode(made["admin_macaroon"]).hex()


@asynccontextmanager
async def _poold(
    home: Path, node: Node, macaroon: str, folder: Path, program: Path
) -> AsyncIterator[access.Pool]:
    network = access.load(home)
    if network.auctioneer is None:
        raise SetupError("this private chain has no market")
    opens = folder / "admin.macaroon"
    opens.touch(mode=0o600)
    opens.write_bytes(bytes.fromhex(macaroon))
    grpc, rest = _free_port(), _free_port()
    async with bridged(node, folder) as bridge:
        reached = access_to(folder, network.chain, grpc=grpc, rest=rest, lnd=node.name)
        keeper = Keeper(
            Poold(
                name="buyer",
                program=program,
                folder=folder,
                chain=network.chain,
                access=reached,
                lnd=access.Lnd(
                    rest="",
                    grpc=bridge.address,
                    peer="",
                    certificate=str(bridge.certificate),
                    macaroon=str(opens),
                ),
                auctioneer=network.auctioneer,
            )
        )
        running = await keeper.ensure()
        try:
            yield reached
        finally:
            await processes.stop(running, grace_s=keeper.daemon.grace_s)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
