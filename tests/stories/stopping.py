"""A real purse whose platform stops at one step: there it, or lnd, is killed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from leyden.channels.direct.base import WantedOpening, WrapRefused
from leyden.channels.direct.lnd import LndSeller
from leyden.channels.direct.lnd_forwarding import LndForwarding, LndInterception
from leyden.channels.direct.lnd_wrapping import LndWrapping
from leyden.channels.direct.rules.jit import HeldHtlc, HtlcAnswer, JitChannel
from leyden.channels.direct.rules.openings import Opening, OpeningRefused
from leyden.nodes.lnd.connection import LndAccess


@dataclass
class Stop:
    """A step, before which or ("done X") after which nothing happens any more.

    Until it goes on. Who never lets it ends it there, as one who is killed does.
    """

    at: str = ""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def here(self, at: str) -> None:
        """Stop, if this is the step."""
        if at == self.at:
            self.reached.set()
            await self.goes_on.wait()

    async def is_reached(self) -> None:
        """Wait for it."""
        async with asyncio.timeout(60):
            await self.reached.wait()


class StoppingSeller(LndSeller):
    """Stops before or after it opens a channel."""

    def __init__(self, access: LndAccess, stop: Stop) -> None:
        super().__init__(access)
        self._stop = stop

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        """Open, or not."""
        await self._stop.here("open")
        answer = await super().open(wanted)
        await self._stop.here("done open")
        return answer


class StoppingForwarding(LndForwarding):
    """Stops before it adds an alias, or before or after it forwards."""

    def __init__(self, access: LndAccess, stop: Stop) -> None:
        super().__init__(access)
        self._stop = stop

    async def add_alias(self, channel: JitChannel, scid: int) -> None:
        """Add it, or not."""
        await self._stop.here("alias")
        await super().add_alias(channel, scid)

    @asynccontextmanager
    async def intercept(self) -> AsyncIterator[LndInterception]:
        """Connect."""
        async with super().intercept() as connection:
            yield _StoppingInterception(connection, self._stop)


class _StoppingInterception(LndInterception):
    def __init__(self, one: LndInterception, stop: Stop) -> None:
        self._one, self._stop = one, stop

    def htlcs(self) -> AsyncGenerator[HeldHtlc, None]:
        return self._one.htlcs()

    async def answer(self, answer: HtlcAnswer) -> None:
        is_forward = answer.out_msat is not None
        if is_forward:
            await self._stop.here("answer")
        await self._one.answer(answer)
        if is_forward:
            await self._stop.here("done answer")


class StoppingWrapping(LndWrapping):
    """Stops before or after it pays, or settles."""

    def __init__(self, access: LndAccess, stop: Stop) -> None:
        super().__init__(access)
        self._stop = stop

    async def pay(
        self, request: str, channel: JitChannel, *, cltv_limit: int
    ) -> WrapRefused | None:
        """Pay, or not."""
        await self._stop.here("pay")
        answer = await super().pay(request, channel, cltv_limit=cltv_limit)
        await self._stop.here("done pay")
        return answer

    async def settle(self, preimage: str) -> bool:
        """Settle, or not."""
        await self._stop.here("settle")
        settled = await super().settle(preimage)
        await self._stop.here("done settle")
        return settled
