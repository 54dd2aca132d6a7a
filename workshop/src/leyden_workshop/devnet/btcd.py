"""The btcd daemon of a private chain."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from leyden.base import processes
from leyden.base.processes.daemons import free_port, start, until_serving
from leyden.errors import Away, SetupError
from leyden.nodes.certificates.self_signed import heal_certificate
from leyden.values import Struct
from leyden_workshop.devnet import access as reached
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.configuration import configured
from leyden_workshop.devnet.journal import Journal

# Segwit and taproot are active after three windows of 144 blocks on regtest, of 100 on
# simnet; coinbases mature after 100.
FIRST_BLOCKS = 450


class Btcd(Struct, frozen=True, kw_only=True):
    """btcd on a private chain."""

    program: Path
    folder: Path
    chain: str
    access: reached.BtcdAccess
    mining_address: str
    journal: Journal
    name: str = "btcd"
    grace_s: float = 60.0  # it writes its memory to the disk

    @property
    def ports(self) -> Mapping[str, int]:
        """The RPC port, the only one: btcd has no peers here."""
        return {"devnet_btcd_port": reached.port(self.access.address)}

    def argv(self) -> list[str]:
        """Return the command line."""
        return self._command(self.access.address)

    async def prepare(self) -> None:
        """Restore blocks that btcd lost, before other programs can connect.

        This runs on a random port: an lnd that connected to a chain shorter
        than what it has seen would roll its wallet back.
        """
        certificate = Path(self.access.certificate)
        heal_certificate(certificate, certificate.with_suffix(".key"))
        if self.journal.empty:
            return
        try:
            await self._mend()
        except SetupError:
            # Killed in the middle of writing, its database may not open any more.
            # All that is in it is in the journal too.
            _set_aside(self.folder / "data")
            await self._mend()

    async def is_ready(self) -> bool:
        """Return whether btcd's RPC responds."""
        return await _answers(self.access)

    async def after_start(self) -> None:
        """Synchronize chain and journal; mine the first blocks of a new chain."""
        async with connected(self.access) as chain:
            await self.journal.restore(chain)
            missing = FIRST_BLOCKS - await chain.height()
            if missing > 0:
                await chain.mine(missing)
            await self.journal.catch_up(chain)

    async def _mend(self) -> None:
        unknown = msgspec.structs.replace(
            self.access, address=f"127.0.0.1:{free_port()}"
        )
        found = await start(self.name, self._command(unknown.address), self.folder)
        try:
            await until_serving(
                self.name, found, self.folder, lambda: _answers(unknown)
            )
            async with connected(unknown) as chain:
                await self.journal.restore(chain)
        finally:
            await processes.stop(found, grace_s=self.grace_s)

    def _command(self, address: str) -> list[str]:
        path = configured(self.folder, self._lines(address))
        return [str(self.program), f"--configfile={path}"]

    def _lines(self, address: str) -> Iterator[tuple[str, str | int]]:
        yield self.chain, 1
        yield "datadir", str(self.folder / "data")
        yield "logdir", str(self.folder / "logs")
        yield "rpcuser", self.access.user
        yield "rpcpass", self.access.password
        yield "rpclisten", address
        yield "rpccert", self.access.certificate
        yield "rpckey", str(Path(self.access.certificate).with_suffix(".key"))
        # Its defaults, 10 and 25, are for one person; each lnd takes one of each.
        yield "rpcmaxclients", 10_000
        yield "rpcmaxwebsockets", 10_000
        yield "nolisten", 1
        yield "nodnsseed", 1
        yield "txindex", 1
        yield "miningaddr", self.mining_address


async def _answers(btcd: reached.BtcdAccess) -> bool:
    try:
        async with connected(btcd) as chain:
            await chain.height()
    except Away:
        return False
    return True


def _set_aside(folder: Path) -> None:
    aside = folder.with_name(f"{folder.name}.broken")
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
