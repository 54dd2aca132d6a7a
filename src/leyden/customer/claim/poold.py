"""A poold, which trades in the auction, beside an lnd."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from leyden.base import processes
from leyden.base.processes.daemons import Keeper, free_port
from leyden.channels.tickets import poold as client
from leyden.channels.tickets.poold import PooldAccess
from leyden.channels.tickets.sidecars import Sidecars
from leyden.customer.claim.bridge import GrpcNode, bridged
from leyden.customer.claim.rest import LndEndpoint, Pool, opened
from leyden.errors import Away, Refused
from leyden.nodes.certificates.self_signed import heal_certificate
from leyden.values import Struct

_PATIENCE_S: Final = 5.0


class ClaimPoold(Struct, frozen=True, kw_only=True):
    """A poold daemon."""

    name: str
    program: Path
    folder: Path
    chain: str
    access: Pool
    lnd: LndEndpoint
    auctioneer: str  # host:port; "": that of a public network
    grace_s: float = 30.0

    @property
    def ports(self) -> Mapping[str, int]:
        """The gRPC and REST ports."""
        word = self.name.replace("-", "_")
        return {
            f"devnet_{word}_{kind}_port": _port(getattr(self.access, kind))
            for kind in ("grpc", "rest")
        }

    def argv(self) -> list[str]:
        """Return the command line; it contains no secret."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return [
            str(self.program),
            f"--network={self.chain}",
            f"--basedir={self.folder}",
            *self._auction(),
            f"--rpclisten={self.access.grpc}",
            f"--restlisten={self.access.rest}",
            "--tlsdisableautofill",
            "--logging.console.disable",
            "--logging.file.max-files=3",
            "--logging.file.max-file-size=10",
            "--minbackoff=1s",
            "--maxbackoff=5s",
            f"--lnd.host={self.lnd.grpc}",
            f"--lnd.tlspath={self.lnd.certificate}",
            f"--lnd.macaroonpath={self.lnd.macaroon}",
        ]

    def _auction(self) -> list[str]:
        if not self.auctioneer:
            return []
        # The auctioneer is on this machine, and nobody pays to trade here.
        return [
            "--fakeauth",
            "--insecure",
            f"--auctionserver={self.auctioneer}",
        ]

    async def prepare(self) -> None:
        """Delete a certificate that a kill left half written."""
        certificate = Path(self.access.certificate)
        heal_certificate(certificate, certificate.with_suffix(".key"))

    async def is_ready(self) -> bool:
        """Return whether poold answers.

        poold opens its ports once its lnd has caught up with the chain and, if
        poold has an account, the auctioneer is reachable.
        """
        try:
            async with opened("poold", self.access) as rest:
                await rest.call("GET", "/v1/pool/orders?active_only=true")
        except (Away, Refused):
            return False
        return True

    async def after_start(self) -> None:
        """Do nothing: poold needs no further steps."""


async def register(reached: Pool, ticket: str) -> None:
    """Register a ticket: its channel goes to this poold's lnd."""
    async with opened("poold", reached) as rest:
        await rest.call("POST", "/v1/pool/sidecar/register", {"ticket": ticket})


async def tickets(reached: Pool) -> list[Any]:
    """Return the tickets that a poold knows; raise MarketAway without an answer.

    They are read over gRPC, because REST has no list of them.
    """
    poold = client.Poold(
        PooldAccess(
            host=reached.grpc,
            certificate=Path(reached.certificate),
            macaroon=Path(reached.macaroon),
        ),
        patience_s=_PATIENCE_S,
    )
    try:
        return await Sidecars(poold).all_()
    finally:
        await poold.close()


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def access_for(folder: Path, chain: str, *, grpc: int, rest: int, lnd: str) -> Pool:
    """Return the addresses and files for reaching the poold of a folder."""
    return Pool(
        rest=f"127.0.0.1:{rest}",
        grpc=f"127.0.0.1:{grpc}",
        certificate=str(folder / chain / "tls.cert"),
        macaroon=str(folder / chain / "pool.macaroon"),
        lnd=lnd,
    )


class Beside(Struct, frozen=True, kw_only=True):
    """What a poold beside a node needs."""

    node: GrpcNode
    macaroon: Path  # of the node, with which poold calls it
    folder: Path
    program: Path
    chain: str
    auctioneer: str  # host:port; "": poold knows that of a public network


@asynccontextmanager
async def keeper_beside(wanted: Beside) -> AsyncIterator[tuple[Keeper, Pool]]:
    """Yield who starts the poold of a folder, also again, and its addresses.

    It is stopped at the end of the block. One that a killed command left behind is
    replaced by the first start.
    """
    grpc, rest = free_port(), free_port()
    reached = access_for(
        wanted.folder, wanted.chain, grpc=grpc, rest=rest, lnd=wanted.node.name
    )
    async with bridged(wanted.node, wanted.folder) as bridge:
        keeper = Keeper(
            ClaimPoold(
                name="poold",
                program=wanted.program,
                folder=wanted.folder,
                chain=wanted.chain,
                access=reached,
                lnd=LndEndpoint(
                    rest="",
                    grpc=bridge.address,
                    peer="",
                    certificate=str(bridge.certificate),
                    macaroon=str(wanted.macaroon),
                ),
                auctioneer=wanted.auctioneer,
            )
        )
        try:
            yield keeper, reached
        finally:
            if (running := keeper.running()) is not None:
                await processes.stop(running, grace_s=keeper.daemon.grace_s)
