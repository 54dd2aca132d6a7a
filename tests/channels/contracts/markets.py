"""Markets to hold to the contract, and the buyers who register tickets there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import Channel, Quote, Terms, quote
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.base import Market
from leyden.channels.tickets.pool import PoolMarket
from leyden.channels.tickets.poold import Poold, PooldAccess
from leyden.channels.tickets.rules.tickets import TicketState
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.tickets.ticket_text import ref_of
from leyden_workshop.devnet import access, trading
from tests.channels.contracts.pages import Pages
from tests.workshop.devnet.manual_auction import ManualAuction

_WITHIN_S = 60.0


class World(Protocol):
    """A market with buyers around it."""

    @property
    def market(self) -> Market:
        """The market."""

    async def opens(self) -> None:
        """Wait until it can be bought at."""

    async def register(self, text: str) -> None:
        """Register a ticket on a buyer's daemon."""

    async def match(self, text: str) -> None:
        """See that a registered ticket is matched before long."""

    async def start_again(self) -> None:
        """Forget everything that is not kept: the program died."""

    def beside(self) -> Market:
        """Return the market as another replica of the platform has it."""

    async def leave(self) -> None:
        """Take the market away."""

    def empty(self) -> None:
        """Let nothing be left to buy with."""

    async def close(self) -> None:
        """Let go."""


@dataclass
class SimulatedWorld:
    """All in memory."""

    market: SimulatedMarket = field(default_factory=SimulatedMarket)

    async def opens(self) -> None:
        pass

    async def register(self, text: str) -> None:
        assert self.market.register(text)

    async def match(self, text: str) -> None:
        assert self.market.match(text)

    async def start_again(self) -> None:
        pass  # it is the market itself that would have died

    def beside(self) -> Market:
        return self.market

    async def leave(self) -> None:
        self.market.away = True

    def empty(self) -> None:
        self.market.sold_out = True

    async def close(self) -> None:
        pass


@dataclass
class PoolWorld:
    """A real auction, and a provider's poold that we buy through."""

    auction: ManualAuction
    book: Pages = field(default_factory=Pages)
    market: PoolMarket = field(init=False)
    _opened: list[Poold] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._connect(reached(self.auction, "provider"))

    def _connect(self, to: PooldAccess) -> None:
        self.market = self._market(to)

    def _market(self, to: PooldAccess) -> PoolMarket:
        poold = Poold(to)
        self._opened.append(poold)
        return PoolMarket(
            poold, PoolAccount(poold), self.book, batch_fee_sat_per_kw=12_500
        )

    def beside(self) -> Market:
        return self._market(reached(self.auction, "provider"))

    async def opens(self) -> None:
        await self.auction.is_open()

    async def register(self, text: str) -> None:
        await self.auction.register(text)

    async def match(self, text: str) -> None:
        """Let the auction match until the ticket is over.

        It may have to wait for the blocks after the batch before.
        """
        ref = ref_of(text)

        async def over() -> bool:
            progress = (await self.market.progress([ref])).get(ref)
            if progress is None or progress.state is not TicketState.SUBMITTED:
                return progress is not None and progress.state is TicketState.FILLED
            await trading.tick(self.auction.home)
            return False

        await self.auction.until("the ticket is matched", over)

    async def start_again(self) -> None:
        await self.close()
        self._connect(reached(self.auction, "provider"))

    async def leave(self) -> None:
        provider = reached(self.auction, "provider")
        await self.close()
        self._connect(
            PooldAccess(
                host="127.0.0.1:1",
                certificate=provider.certificate,
                macaroon=provider.macaroon,
            )
        )

    def empty(self) -> None:
        self.book.promised = 10**12

    async def close(self) -> None:
        while self._opened:
            await self._opened.pop().close()


def reached(auction: ManualAuction, name: str) -> PooldAccess:
    """Return how a poold of the auction is reached."""
    pool = access.load(auction.home).pools[name]
    return PooldAccess(
        host=pool.grpc,
        certificate=Path(pool.certificate),
        macaroon=Path(pool.macaroon),
    )


async def priced(market: Market, capacity: int, **more: int) -> Quote:
    """Price a channel as the shop does."""
    wish = Channel(capacity=Sats(capacity), **more)  # type: ignore[arg-type]
    return quote(wish, Terms(), await market.terms())


async def until(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something, not for ever."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            while not await holds():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"never: {what}") from None
