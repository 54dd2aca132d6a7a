"""A real Tor without a network: it keeps onion services, and nobody reaches them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.ports import free_port
from tests.programs import require

PASSWORD = 'a tide "of \\ 9' + "é"


class RealTor:
    """Tor, started and ended at will, at one control port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder / "tor"
        self.place = f"127.0.0.1:{free_port()}"
        self._options = options
        self._process: asyncio.subprocess.Process | None = None

    @property
    def cookie(self) -> Path:
        return self.folder / "control_auth_cookie"

    async def start(self) -> None:
        """Start it, and wait until it listens."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        nothing = self.folder / "torrc"
        nothing.touch()
        self._process = await asyncio.create_subprocess_exec(
            program(),
            *("--quiet", "-f", str(nothing), "--defaults-torrc", str(nothing)),
            *("DisableNetwork", "1", "SocksPort", "0"),
            *("ControlPort", self.place, "DataDirectory", str(self.folder)),
            *self._options,
        )
        host, _, port = self.place.rpartition(":")
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection(host, int(port))
                except OSError:
                    assert self._process.returncode is None, "tor ended"
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return

    async def kill(self) -> None:
        """End it at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


def program() -> str:
    """Return where tor is; skip without."""
    return str(require("tor"))


def hashed(password: str) -> str:
    """Return a password as Tor's HashedControlPassword (OpenPGP's S2K of RFC 2440)."""
    salt, indicator = b"tideland", 96
    count = (16 + (indicator & 15)) << ((indicator >> 4) + 6)
    each = salt + password.encode()
    repeated = (each * (count // len(each) + 1))[:count]
    digest = hashlib.sha1(repeated, usedforsecurity=False).digest()
    return "16:" + (salt + bytes([indicator]) + digest).hex().upper()


@asynccontextmanager
async def running(folder: Path, *options: str) -> AsyncIterator[RealTor]:
    """Run a Tor for the block; with these options, else with a cookie."""
    tor = RealTor(folder, *(options or ("CookieAuthentication", "1")))
    try:
        await tor.start()
        yield tor
    finally:
        await tor.kill()
