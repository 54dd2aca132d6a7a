"""The poold daemons, which trade in the auction, each beside an lnd."""

from collections.abc import Mapping
from pathlib import Path

from leyden.devnet import access as reached
from leyden.devnet.configuration import heal_certificate
from leyden.devnet.trader import connect
from leyden.errors import Away, Refused
from leyden.values import Struct


class Poold(Struct, frozen=True, kw_only=True):
    """A poold daemon."""

    name: str
    program: Path
    folder: Path
    chain: str
    access: reached.Pool
    lnd: reached.Lnd
    auctioneer: reached.Auctioneer | None  # None: that of a public network
    grace_s: float = 30.0

    @property
    def ports(self) -> Mapping[str, int]:
        """The gRPC and REST ports."""
        word = self.name.replace("-", "_")
        return {
            f"devnet_{word}_{kind}_port": reached.port(getattr(self.access, kind))
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
        if self.auctioneer is None:
            return []
        # The auctioneer is on this machine, and nobody pays to trade here.
        return [
            "--fakeauth",
            "--insecure",
            f"--auctionserver={self.auctioneer.address}",
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
            async with connect(self.access) as trader:
                await trader.orders()
        except (Away, Refused):
            return False
        return True

    async def after_start(self) -> None:
        """Do nothing: poold needs no further steps."""


def access_for(
    folder: Path, chain: str, *, grpc: int, rest: int, lnd: str
) -> reached.Pool:
    """Return the addresses and files for reaching the poold of a folder."""
    return reached.Pool(
        rest=f"127.0.0.1:{rest}",
        grpc=f"127.0.0.1:{grpc}",
        certificate=str(folder / chain / "tls.cert"),
        macaroon=str(folder / chain / "pool.macaroon"),
        lnd=lnd,
    )
