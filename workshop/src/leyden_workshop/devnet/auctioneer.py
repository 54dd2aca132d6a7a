"""The auctioneer of a private chain, with its control port."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from leyden.base import processes
from leyden.base.files import write_private
from leyden.base.processes.daemons import claim
from leyden.errors import Away, LeydenError
from leyden.values import Struct
from leyden_workshop.devnet import access as reached

# Often enough for somebody who watches; when nothing matches it costs nothing.
EVERY_S = 5
_APART = "20s"
_BATCH_S = 120
_STOPS_WITHIN_S = 10.0


class Auctioneer(Struct, frozen=True, kw_only=True):
    """Our auctioneer daemon."""

    program: Path
    folder: Path
    chain: str
    access: reached.AuctioneerAccess
    btcd: reached.BtcdAccess
    buyers: Sequence[Path] = ()  # the folders of the poolds that wait for channels
    every_s: int = EVERY_S  # between batches; 0: only when told to
    name: str = "auctioneer"
    grace_s: float = _STOPS_WITHIN_S

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports for traders and for control."""
        return {
            "devnet_auctioneer_port": reached.port(self.access.address),
            "devnet_auctioneer_control_port": reached.port(self.access.control),
        }

    def argv(self) -> list[str]:
        """Return the command line; btcd's password is passed in a file."""
        credentials = self.folder / "btcd-credentials"
        _write(credentials, f"{self.btcd.user}:{self.btcd.password}")
        return [
            str(self.program),
            f"-home={self.folder / 'state'}",
            f"-network={self.chain}",
            f"-listen={self.access.address}",
            f"-control={self.access.control}",
            f"-btcd={self.btcd.address}",
            f"-btcd-cert={self.btcd.certificate}",
            f"-btcd-credentials={credentials}",
            f"-every={self.every_s}s",
            f"-apart={_APART}",
        ]

    async def prepare(self) -> None:
        """Do nothing: the auctioneer writes its state atomically."""

    async def is_ready(self) -> bool:
        """Return whether the control port responds."""
        try:
            await status(self.access)
        except LeydenError:
            return False
        return True

    async def after_start(self) -> None:
        """Stop the buyers' poolds once for each new run of the auctioneer.

        A poold never reconnects the stream on which it waits for channels
        that others pay for. Its keeper restarts it.
        """
        run = processes.holder(claim(self.folder))
        met = self.folder / "met"
        if run is None or (met.exists() and met.read_text() == str(run)):
            return
        for folder in self.buyers:
            if (buyer := processes.holder(claim(folder))) is not None:
                await processes.stop(buyer, grace_s=self.grace_s)
        _write(met, str(run))


async def status(access: reached.AuctioneerAccess) -> dict[str, Any]:
    """Return the auction's accounts, open orders and batches."""
    return await _call("GET", access, "/status")


async def tick(access: reached.AuctioneerAccess) -> dict[str, Any]:
    """Run a batch now; `txid` is None when nothing matched."""
    return await _call("POST", access, "/tick")


async def _call(
    method: str, access: reached.AuctioneerAccess, path: str
) -> dict[str, Any]:
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=_BATCH_S)
            ) as session,
            session.request(method, f"http://{access.control}{path}") as response,
        ):
            answer = msgspec.json.decode(await response.read(), type=dict[str, Any])
    except (aiohttp.ClientError, TimeoutError, OSError, msgspec.MsgspecError):
        raise Away(
            f"the auctioneer does not respond at {access.control}; `leyden up` starts "
            "it"
        ) from None
    if not response.ok:
        raise Away(f"the auctioneer cannot: {answer.get('message')}")
    return answer


def _write(path: Path, text: str) -> None:
    """Write a file readable only by its owner, atomically."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, text)
