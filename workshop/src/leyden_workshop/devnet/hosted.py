"""A buyer whose lnd is a node of this platform, with a poold of their own beside it.

Everything here happens on the owner's side: the wallet is made and opened through the
gateway. Node and wallet are there for the next story as well; the poold is not.
"""

import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from leyden.base.daemons.locks import locked
from leyden.base.files import write_private
from leyden.customer.claim.bridge import GrpcNode
from leyden.customer.claim.poold import Beside, keeper_beside
from leyden.errors import SetupError
from leyden.nodes.lnd.client import LndClient, connect
from leyden_workshop.devnet import access, first_run, trader
from leyden_workshop.devnet.calls import Calls
from leyden_workshop.devnet.hosted_node import HostedNode

_LOCK = ".hosted.lock"


class Owned:
    """The owner of a hosted node, with its macaroon."""

    def __init__(self, node_id: str, lnd: LndClient, macaroon: str) -> None:
        self.node_id = node_id
        self._lnd = lnd
        self.macaroon = macaroon

    async def key(self) -> str:
        """Return the node's public key."""
        answer = await self._lnd.call("GET", "/v1/getinfo", macaroon=self.macaroon)
        return str(answer["identity_pubkey"])

    async def channels(self) -> list[dict[str, Any]]:
        """List the lnd's open channels, as lnd returns them."""
        answer = await self._lnd.call("GET", "/v1/channels", macaroon=self.macaroon)
        return list(answer["channels"])

    async def invoice(self, sats: int) -> str:
        """Return an invoice that names private channels, too."""
        wish = {"value": str(sats), "private": True}
        made = await self._lnd.call(
            "POST", "/v1/invoices", wish, macaroon=self.macaroon
        )
        return str(made["payment_request"])


class Hosted:
    """The owner of a hosted node, with a poold."""

    def __init__(self, node: Owned, pool: access.Pool) -> None:
        self.channels = node.channels
        self.key = node.key
        self.invoice = node.invoice
        self.pool = pool

    async def register(self, ticket: str) -> None:
        """Register a ticket, so that this buyer gets the channel."""
        async with trader.connect(self.pool) as pool:
            await pool.register(ticket)


@asynccontextmanager
async def owned(
    home: Path, call: Calls, *, organization_id: str = ""
) -> AsyncIterator[Owned]:
    """Open a hosted node for its owner; one story at a time has it."""
    async with locked(home / _LOCK):
        node = HostedNode(home, call, "", organization_id)
        await node.open()
        authority = Path(first_run.read(home)["ca_path"])
        tls = ssl.create_default_context(cafile=authority)
        async with connect(node.rest, tls) as lnd:
            yield Owned(node.node_id, lnd, node.macaroon)


@asynccontextmanager
async def hosted(
    home: Path,
    call: Calls,
    *,
    program: Path,
    version: str = "",
    organization_id: str = "",
) -> AsyncIterator[Hosted]:
    """Open a hosted node, and a poold beside it that lasts as long as the block.

    Without a version, its lnd is the platform's usual one. One story at a time has it:
    the next waits.
    """
    async with locked(home / _LOCK):
        node = HostedNode(home, call, version, organization_id)
        await node.open()
        account = first_run.read(home)
        authority = Path(account["ca_path"])
        grpc = GrpcNode(
            host=account["gateway"]["host"],
            port=account["gateway"]["grpc_port"],
            name=node.api_endpoint,
            authority=authority,
        )
        tls = ssl.create_default_context(cafile=authority)
        async with connect(node.rest, tls) as lnd:
            with tempfile.TemporaryDirectory() as folder:
                beside = _poold(home, grpc, node.macaroon, Path(folder), program)
                async with beside as pool:
                    yield Hosted(Owned(node.node_id, lnd, node.macaroon), pool)


@asynccontextmanager
async def _poold(
    home: Path, node: GrpcNode, macaroon: str, folder: Path, program: Path
) -> AsyncIterator[access.Pool]:
    network = access.load(home)
    if network.auctioneer is None:
        raise SetupError("this private chain has no market")
    opens = folder / "admin.macaroon"
    write_private(opens, bytes.fromhex(macaroon), lasting=False)
    wanted = Beside(
        node=node,
        macaroon=opens,
        folder=folder,
        program=program,
        chain=network.chain,
        auctioneer=network.auctioneer.address,
    )
    async with keeper_beside(wanted) as (keeper, reached):
        await keeper.ensure()
        yield reached
