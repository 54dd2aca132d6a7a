"""A platform in processes of its own, which can be killed, and one who uses it.

with Served(given) as served:
    served.begin("serve")
    customer = served.customer()
    served.kill("serve")
"""

import asyncio
import base64
import json
import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self

import aiohttp

from leyden.base import processes
from leyden.base.settings import Settings
from leyden.values import asdict
from tests.workshop.devcluster.clusters import LEYDEN
from tests.workshop.devcluster.test_platform import Conflict, Customer, wish

_WITHIN_S: Final = 240  # of which a start takes 15 on a busy machine


class Served:
    """An installation by its settings, and the programs of it that run."""

    def __init__(self, given: Settings) -> None:
        self.given = given
        self._folder = given.home_path.parent
        usual = asdict(Settings())
        self._environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name == "LEYDEN_CACHE" or not name.startswith("LEYDEN_")
            },
            **{
                f"LEYDEN_{name.upper()}": _text(value)
                for name, value in asdict(given).items()
                if value != usual[name]
            },
        }
        self._begun: dict[str, subprocess.Popen[bytes]] = {}

    def begin(self, word: str, **environment: str) -> None:
        """Start `serve` or `worker`, and do not wait for it."""
        with (self._folder / f"{word}.log").open("ab") as log:
            self._begun[word] = subprocess.Popen(
                [LEYDEN, word],
                env={**self._environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self, word: str) -> None:
        """End it by SIGKILL, and nothing that it started."""
        self._begun[word].kill()
        self._begun[word].wait()

    def command(self, *words: str) -> Any:
        """Run a command of the operator."""
        done = subprocess.run(
            [LEYDEN, *words, "--json"],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def customer(self) -> "Patient":
        """Have an organization with a key."""
        team = self.command("orgs", "create", "Harbour")["organization_id"]
        words = ("--organization", team, "--name", "all")
        key = self.command("api-keys", "create", *words)["api_key"]
        return Patient(Customer(self.given, team, key), self.said)

    def said(self) -> str:
        """Return what its programs have logged."""
        return "\n".join(each.read_text() for each in self._folder.glob("*.log"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all of it, with its gateway."""
        for word in self._begun:
            self.kill(word)
        claim = self.given.home_path / "gateway/claim"
        if (envoy := processes.holder(claim)) is not None:
            processes.signal(envoy, signal.SIGKILL)


class Patient:
    """A customer who asks again while the platform does not respond."""

    def __init__(
        self,
        customer: Customer,
        why: Callable[[], str],
        *,
        within_s: float = _WITHIN_S,
    ) -> None:
        self._customer = customer
        self._why = why
        self._within_s = within_s

    async def call(self, method: str, path: str = "", body: object = None) -> Any:
        """Ask until there is an answer: for the same, whoever has heard it before."""
        key = "" if method == "GET" else secrets.token_hex(16)
        return await self._patiently(
            lambda: self._customer.call(method, path, body, key=key)
        )

    async def change(self, method: str, path: str, body: object = None) -> None:
        """Ask until there is an answer: a refusal, if it was done but not told.

        Commands take no Idempotency-Key, and a node that is stopping is not stopped.
        """
        is_unknown = False

        async def ask() -> None:
            nonlocal is_unknown
            try:
                await self._customer.call(method, path, body)
            except (aiohttp.ClientError, OSError):
                is_unknown = True
                raise
            except Conflict:
                if not is_unknown:
                    raise

        await self._patiently(ask)

    async def create(self, *, version: str = "", **settings: object) -> str:
        wanted = wish(**settings) | ({"version": version} if version else {})
        return str((await self.call("POST", body=wanted))["node_id"])

    async def state(self, node_id: str) -> object:
        """Ask the node itself, by its name, through the gateway."""
        chain = (await self.call("GET", f"/{node_id}/cert"))["tls_cert"]
        authority = base64.b64decode(chain).decode()
        return await self._patiently(lambda: self._customer.state(node_id, authority))

    async def status(self, node_id: str) -> str:
        found = await self._patiently(lambda: self._customer.item(node_id))
        return str(found["status"])

    async def is_(self, node_id: str, status: str) -> None:
        """Wait until the node has this status."""
        found = ""
        try:
            async with asyncio.timeout(self._within_s):
                while (found := await self.status(node_id)) != status:
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"{found}, not {status}\n{self._why()}") from None

    async def _patiently(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        try:
            async with asyncio.timeout(self._within_s):
                while True:
                    try:
                        return await ask()
                    except (aiohttp.ClientError, OSError):
                        await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(self._why()) from None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
