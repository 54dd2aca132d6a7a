"""Somebody floods a node's peer port, and another one becomes its peer meanwhile.

A real lnd behind the real Envoy, and nftables where this machine has it: only lnd has
the answer to a peer's first words.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator

import pytest

from leyden.base import processes
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.egress_policy import table_of
from tests import noise
from tests.stories.platform import RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,  # half a minute on a busy machine
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

FLOODS, STRANGER = "127.66.7.1", "127.66.7.2"
FEW = 10  # of one source, as the setting has it
AT_ONCE_S = 15.0
HELD_S = 2.0  # who is refused is closed sooner


class Flood:
    """Eight callers who open connections as fast as they can, and hold them."""

    def __init__(self, host: str, port: int) -> None:
        self._at = host, port
        self._held: set[asyncio.StreamWriter] = set()
        self.begun = 0

    async def _go_on(self) -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    reader, writer = await asyncio.open_connection(
                        *self._at, local_addr=(FLOODS, 0)
                    )
                self.begun += 1
                self._held.add(writer)
                asyncio.create_task(self._until_closed(reader, writer))  # noqa: RUF006
            await asyncio.sleep(0)

    async def _until_closed(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(OSError):
            await reader.read()
        self._held.discard(writer)
        writer.close()

    async def held(self) -> int:
        """Return how many stay open."""
        now = set(self._held)
        await asyncio.sleep(HELD_S)
        return len(now & self._held)

    @contextlib.asynccontextmanager
    async def under_way(self) -> AsyncIterator["Flood"]:
        tasks = [asyncio.create_task(self._go_on()) for _ in range(8)]
        try:
            yield self
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for writer in self._held:
                writer.transport.abort()


async def test_a_flood_of_peers_from_one_source_keeps_no_other_one_away(
    platform: RunningPlatform,
) -> None:
    node = await platform.create("flooded quay")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    shown = await platform.of(node, "GET", "")
    host, _, port = shown["peer_address"].rpartition(":")
    key = (await node.call("GET", "/v1/getinfo"))["identity_pubkey"]

    async def a_stranger_is_answered(within_s: float) -> None:
        async with asyncio.timeout(within_s):
            assert await noise.is_answered(host, int(port), key, source=STRANGER)

    await a_stranger_is_answered(AT_ONCE_S)
    async with Flood(host, int(port)).under_way() as flood:
        began = time.monotonic()
        while flood.begun < FEW:
            await asyncio.sleep(0.1)
        for _ in range(3):
            assert await flood.held() <= FEW
            await a_stranger_is_answered(AT_ONCE_S)
        if os.geteuid() == 0 and not nftables.unavailable_reason():
            # Ten seconds' worth at once, and so many in each.
            assert flood.begun <= 20 * (11 + time.monotonic() - began)
            assert table_of(platform.home) in nftables.applied()

        await platform.kill()  # and up again, which applies the limits anew
        await platform.up()
        assert await flood.held() <= FEW
        await a_stranger_is_answered(AT_ONCE_S)

        claim = platform.home / "gateway" / "claim"
        first = processes.holder(claim)
        assert first is not None
        await processes.stop(first, grace_s=0)
        async with asyncio.timeout(30):
            while processes.holder(claim) in {None, first}:
                await asyncio.sleep(0.1)
            while True:
                with contextlib.suppress(OSError, AssertionError):
                    await a_stranger_is_answered(AT_ONCE_S)
                    break
                await asyncio.sleep(0.1)
        assert await flood.held() <= FEW
    await platform.of(node, "DELETE", "")
