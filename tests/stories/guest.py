"""A second installation on the private chain of a town: `leyden serve`, as in earnest.

It has a home of its own, which can be lost without the chain and the treasury; the town
goes on meanwhile.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import aiohttp

from leyden.base import settings
from leyden.nodes.runtimes.local.census import lnds
from leyden_workshop.devnet import access, wiring
from tests.stories.platform import LEYDEN, UP_S, RunningPlatform

_OF_THE_CHAIN = (
    *("testnet_chain", "testnet_backend", "testnet_rpc_host", "testnet_rpc_user"),
    *("testnet_rpc_password", "testnet_rpc_certificate", "treasury_host"),
    *("treasury_certificate", "treasury_macaroon", "nodes_may_reach"),
)


class Guest(RunningPlatform):
    """An installation that sells simulated channels, paid to the town's treasury."""

    def __init__(self, host: RunningPlatform, folder: Path, home: str) -> None:
        super().__init__(folder)
        self.host = host
        self.home = folder / home
        given = settings.load({"LEYDEN_HOME": str(host.home)})
        given = wiring.with_chain(given, access.load(host.home))
        self.environment |= {
            f"LEYDEN_{name.upper()}": str(getattr(given, name))
            for name in _OF_THE_CHAIN
        }
        self.environment |= {
            "LEYDEN_HOME": str(self.home),
            "LEYDEN_MARKET": "simulated",
            "LEYDEN_BACKUP_STORE": str(folder / "store"),
        }

    async def up(self, *options: str) -> None:
        """Serve; returns once it is ready."""
        log = (self.home.parent / f"{self.home.name}.log").open("ab")
        self.platform = await asyncio.create_subprocess_exec(
            LEYDEN,
            "serve",
            *options,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        port = self.environment["LEYDEN_API_PORT"]
        self._session = await self._stack.enter_async_context(aiohttp.ClientSession())
        async with asyncio.timeout(UP_S):
            while not await self._is_ready(f"http://127.0.0.1:{port}/health/ready"):
                assert self.platform.returncode is None, self.printed()
                await asyncio.sleep(0.1)

    async def stop(self) -> None:
        """End the platform in peace; nodes live on."""
        self.platform.terminate()
        await self.platform.wait()

    async def furnish(self) -> None:
        """Make an organization with a key."""
        team = json.loads(await self.run("orgs", "create", "Pier", "--json"))
        words = ("--organization", "Pier", "--name", "all", "--json")
        key = json.loads(await self.run("api-keys", "create", *words))
        self.facts = {
            "base_url": f"http://127.0.0.1:{self.environment['LEYDEN_API_PORT']}",
            "api_key": key["api_key"],
            "organization_id": team["organization_id"],
            "gateway": {
                "host": "127.0.0.1",
                "rest_port": int(self.environment["LEYDEN_GATEWAY_REST_PORT"]),
            },
            "treasury": self.host.facts["treasury"],
            "ca_path": str(self.home / "authority/root.pem"),
        }

    async def api(
        self, method: str, path: str, body: object = None, *, key: str = ""
    ) -> Any:
        """Call the API; where nobody answers, give what the platform printed."""
        try:
            return await super().api(method, path, body, key=key)
        except aiohttp.ClientConnectionError:
            raise AssertionError(self.printed()) from None

    async def run(self, *words: str, code: int = 0) -> str:
        """Run a `leyden` command; the chain's are the town's."""
        if words[0] == "dev":
            return await self.host.run(*words, code=code)
        return await super().run(*words, code=code)

    async def refused(self, *words: str) -> str:
        """Run a command that fails; give what it said."""
        command = await asyncio.create_subprocess_exec(
            LEYDEN,
            *words,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await command.communicate()
        assert command.returncode == 1, output.decode()
        return output.decode()

    def printed(self) -> str:
        """Return what the platform printed."""
        return (self.home.parent / f"{self.home.name}.log").read_text()[-4000:]

    def burn(self) -> None:
        """Kill everything of this home at once, as a machine that burns does."""
        for pid in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _processes(self) -> Iterable[int]:
        yield self.platform.pid
        home = os.fsencode(self.home)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                words += os.fsencode((process / "cwd").readlink())
            except OSError:
                continue
            if home in words and int(process.name) != os.getpid():
                yield int(process.name)

    @property
    def has_lnds(self) -> bool:
        return bool(lnds(self.home / "nodes"))

    async def _is_ready(self, url: str) -> bool:
        try:
            async with self._session.get(url) as answer:
                return answer.status == 200
        except aiohttp.ClientError:
            return False
