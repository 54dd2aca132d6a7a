"""A customer beside an attack: few requests, and their latency."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bench.hostile_home import Home
from bench.measure import quantile
from bench.receivers import Receivers
from bench.town import PATIENCE_S, Caller

from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.errors import DatabaseAway
from leyden.nodes import node_events

API, STATE, WEBHOOK = "API", "/v1/state through the gateway", "webhooks"
GOALS = {API: 2.0, STATE: 2.0, WEBHOOK: 2.0}
_PACE = {API: 8.0, STATE: 10.0, WEBHOOK: 2.0}  # a second; 600 a minute is the limit


@dataclass
class Victim:
    """A customer with few requests."""

    home: Home
    platform: Platform
    receiver: Receivers
    organization_id: str
    keys: list[str]
    node_id: str
    endpoint: str
    refused: list[str] = field(default_factory=list)
    late: dict[str, list[float]] = field(default_factory=dict)
    told: int = 0

    async def live(self, seconds: float) -> dict[str, float]:
        """Send requests for a while; return the p99 latency of each kind, in ms."""
        self.late = {what: [] for what in GOALS}
        api = Caller("127.0.0.1", self.home.ports["api_port"])
        writing = Caller("127.0.0.1", self.home.ports["api_port"])
        door = Caller(
            "127.0.0.1",
            self.home.ports["gateway_rest_port"],
            tls=ssl.create_default_context(cafile=str(self.home.root)),
            name=self.endpoint,
        )
        node = f"/organizations/{self.organization_id}/nodes/{self.node_id}"
        self.receiver.heard()
        announced: dict[int, float] = {}

        async def look() -> None:
            await self._ask(api, "GET", node, self.keys[0])

        async def state() -> None:
            await self._ask(door, "GET", "/v1/state", "")

        async def tell() -> None:
            self.told += 1  # each is told once, ever
            number = self.told
            await self._announce(number)
            announced[number] = time.monotonic()
            # Changing where events go wakes whoever sends them, in the platform.
            url = f"{self.receiver.url('prompt', 0)}?{number}"
            body = {"webhook": url}
            await self._ask(writing, "POST", f"{node}/settings", self.keys[1], body)

        async with asyncio.TaskGroup() as group:
            group.create_task(self._paced(API, look, seconds))
            group.create_task(self._paced(STATE, state, seconds))
            group.create_task(self._paced("", tell, seconds, pace=_PACE[WEBHOOK]))
        await self._heard(announced)
        for caller in (api, writing, door):
            caller.close()
        return {what: quantile(late, 0.99) * 1_000 for what, late in self.late.items()}

    async def _paced(
        self,
        what: str,
        act: Callable[[], Awaitable[None]],
        seconds: float,
        *,
        pace: float = 0,
    ) -> None:
        """Act at a fixed rate; a delay counts for the requests that it delays too."""
        every_s = 1 / (pace or _PACE[what])
        began = due = time.monotonic()
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await act()
            if what:
                self.late[what].append(time.monotonic() - due)
            due += every_s

    async def _ask(
        self, caller: Caller, method: str, path: str, key: str, body: object = None
    ) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                status, answer = await caller.call(method, path, body, key)
        except (OSError, EOFError, TimeoutError) as error:
            caller.close()
            self.refused.append(f"{method} {path}: {error!r}")
            return
        if status != 200:
            self.refused.append(f"{method} {path}: {status} {answer}")

    async def _announce(self, number: int) -> None:
        node = await self.platform.database.reader.nodes.get(self.node_id)
        answer = node_events.of_update(node, f"v9.9.{number}-beta", "1")
        # The file of SQLite is the platform's: another process gets a turn in time.
        while True:
            with contextlib.suppress(DatabaseAway):
                async with self.platform.database.transaction() as tx:
                    await node_events.announce(tx, node, [answer], now=utc_now())
                return

    async def _heard(self, announced: dict[int, float]) -> None:
        """Wait for every event, and record its latency."""
        missing, until = dict(announced), time.monotonic() + PATIENCE_S
        while missing and time.monotonic() < until:
            for each in await asyncio.to_thread(self.receiver.heard):
                number = each.body.partition("v9.9.")[2].partition("-")[0]
                if number and (begun := missing.pop(int(number), None)) is not None:
                    self.late[WEBHOOK].append(each.at_s - begun)
            await asyncio.sleep(0.05)
        self.late[WEBHOOK] += [PATIENCE_S] * len(missing)
