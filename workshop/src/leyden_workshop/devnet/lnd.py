"""The operator's lnds on a private chain, above all the treasury.

Their wallets unlock automatically (--noseedbackup): nobody is there to type
a password, and their coins are worth nothing outside this chain.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from leyden.errors import Away, Refused
from leyden.nodes.certificates.self_signed import heal_certificate
from leyden.values import Struct
from leyden_workshop.devnet import access as reached
from leyden_workshop.devnet.configuration import configured
from leyden_workshop.devnet.wallet import opened

LOOPBACK: Final = "127.0.0.1"
# lnd tells its peers of channels once in so long; by default it is 90 s.
_ANNOUNCED_AFTER_MS: Final = 1_000


class LndDaemon(Struct, frozen=True, kw_only=True):
    """One lnd."""

    name: str
    program: Path
    folder: Path
    chain: str
    access: reached.LndEndpoint
    btcd: reached.BtcdAccess
    options: tuple[tuple[str, str | int], ...] = ()
    grace_s: float = 60.0

    @property
    def ports(self) -> Mapping[str, int]:
        """The REST, gRPC and peer ports."""
        kinds = ("rest", "grpc", "peer")
        return {
            f"devnet_{self.name}_{kind}_port": reached.port(getattr(self.access, kind))
            for kind in kinds
        }

    def argv(self) -> list[str]:
        """Return the command line."""
        path = configured(self.folder, self._lines())
        return [
            str(self.program),
            f"--lnddir={self.folder}",
            f"--configfile={path}",
        ]

    async def prepare(self) -> None:
        """Delete a certificate that was damaged by a kill."""
        certificate = Path(self.access.certificate)
        heal_certificate(certificate, certificate.with_suffix(".key"))

    async def is_ready(self) -> bool:
        """Return whether all of lnd's services are ready."""
        try:
            async with opened(self.access) as wallet:
                return await wallet.state() == "SERVER_ACTIVE"
        except (Away, Refused):
            return False

    async def after_start(self) -> None:
        """Do nothing: lnd needs no further steps."""

    def _lines(self) -> Iterator[tuple[str, str | int]]:
        yield "alias", self.name
        yield "listen", self.access.peer
        # An lnd that tells no address cannot offer channels in the auction.
        yield "externalip", self.access.peer
        yield "rpclisten", self.access.grpc
        yield "restlisten", self.access.rest
        yield "tlsdisableautofill", 1
        yield "noseedbackup", 1
        yield "nobootstrap", 1
        yield "trickledelay", _ANNOUNCED_AFTER_MS
        yield "logging.console.disable", 1
        yield "logging.file.max-files", 3
        yield "logging.file.max-file-size", 10
        yield f"bitcoin.{self.chain}", 1
        yield "bitcoin.node", "btcd"
        yield "btcd.rpchost", self.btcd.address
        yield "btcd.rpcuser", self.btcd.user
        yield "btcd.rpcpass", self.btcd.password
        yield "btcd.rpccert", self.btcd.certificate
        yield "protocol.option-scid-alias", 1
        yield "protocol.zero-conf", 1
        yield "protocol.wumbo-channels", 1
        yield from self.options


def access_for(
    folder: Path,
    chain: str,
    *,
    rest: int,
    grpc: int,
    peer: int,
    host: str = LOOPBACK,
) -> reached.LndEndpoint:
    """Return the addresses and files for reaching the lnd of a folder."""
    return reached.LndEndpoint(
        rest=f"{LOOPBACK}:{rest}",
        grpc=f"{LOOPBACK}:{grpc}",
        peer=f"{host}:{peer}",
        certificate=str(folder / "tls.cert"),
        macaroon=str(folder / "data/chain/bitcoin" / chain / "admin.macaroon"),
    )
