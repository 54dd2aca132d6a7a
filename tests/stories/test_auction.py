"""The auction between real poolds: offered, registered, matched, a channel."""

import asyncio
import itertools
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from leyden import values
from leyden.base import processes
from leyden.channels.rules.pricing import LEASES
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.pool import PoolMarket
from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.rules.tickets import NoTicket, Ticket, TicketState
from leyden.channels.tickets.stubs import trader_pb2
from leyden.channels.tickets.ticket_text import ref_of
from leyden.errors import MarketAway, Refused
from leyden_workshop.devnet import overview, stock, trader, trading, wallet
from leyden_workshop.devnet.auctioneer import Auctioneer
from tests.channels.contracts.markets import priced, reached
from tests.channels.contracts.pages import Pages
from tests.workshop.devnet.manual_auction import RATE, ManualAuction

pytestmark = [
    pytest.mark.real,
    pytest.mark.full,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]
_REFUSED = 300_000  # of tickets that never become a channel
# Every test buys a channel of a size of its own, and knows it by that; smaller ones
# are bought on the same chain by the market's contract.
_sizes = itertools.count(1_000_000, 100_000)


async def bought(auction: ManualAuction) -> int:
    """Make and register a ticket for a channel, and give its size."""
    await auction.is_open()
    sats = next(_sizes)
    await auction.register(await auction.offer(sats))
    await auction.has_bid(sats)
    return sats


async def test_a_registered_ticket_becomes_a_channel_that_pays(
    auction: ManualAuction,
) -> None:
    sats = await bought(auction)
    await auction.has_channel(sats)
    (lease,) = await auction.sold(sats)
    assert lease["sidecar_channel"]
    assert int(lease["premium_sat"]) == sats * RATE * 2016 // 10**9

    lnds = auction.access.lnds
    async with (
        wallet.opened(lnds["asker"]) as asker,
        wallet.opened(lnds["customer"]) as customer,
    ):
        bill = await customer.call("POST", "/v1/invoices", {"value": "50000"})

        async def paid() -> bool:
            # An active channel may take a moment to be in the payer's graph.
            answer = await asker.pay(bill["payment_request"])
            return bool(answer["status"] == "SUCCEEDED")

        await auction.until("the asker pays through the channel", paid)


async def test_channels_of_every_lease_are_for_sale(auction: ManualAuction) -> None:
    await auction.is_open()
    asks = await trading.asks(auction.home)
    assert {ask["lease_duration_blocks"] for ask in asks} == set(LEASES)
    assert {ask["rate_fixed"] for ask in asks} == {stock.ASK_RATE}


async def test_the_customer_pays_over_lightning_and_on_the_chain(
    auction: ManualAuction,
) -> None:
    """Once the market is open again, and not with a channel that leads elsewhere."""
    await auction.has_channel(await bought(auction))
    await auction.kill("treasury")
    await auction.is_open()
    async with wallet.opened(auction.access.lnds["treasury"]) as treasury:
        bill = await treasury.call("POST", "/v1/invoices", {"value": "21000"})
        address = await treasury.address()
    paid = await trading.pay(auction.home, bill["payment_request"])
    assert paid == {"paid_sats": 21_000, "fee_sats": 0}
    assert len(await trading.send(auction.home, address, 30_000)) == 64
    with pytest.raises(Refused):
        await trading.pay(auction.home, "lnsb1harbour")


async def test_a_ticket_that_is_none_is_refused(auction: ManualAuction) -> None:
    await auction.is_open()
    with pytest.raises(Refused):
        await auction.register("sidecar1harbour")
    sats = next(_sizes)
    ticket = await auction.offer(sats)
    await auction.register(ticket)
    with pytest.raises(Refused):
        await auction.register(ticket)
    await auction.has_channel(sats)


async def test_two_tickets_go_into_one_batch(auction: ManualAuction) -> None:
    await auction.is_open()
    before = len((await overview.status(auction.home))["batches"])
    sizes = [next(_sizes), next(_sizes)]
    tickets = [await auction.offer(sats) for sats in sizes]
    for ticket in tickets:
        await auction.register(ticket)
    for sats in sizes:
        await auction.has_bid(sats)
    for sats in sizes:
        await auction.has_channel(sats)
    assert len((await overview.status(auction.home))["batches"]) == before + 1


@pytest.mark.parametrize(
    "killed",
    [
        *(
            pytest.param((name,), marks=pytest.mark.long)
            for name in (
                *("auctioneer", "btcd", "asker", "asker-pool"),
                *("customer", "customer-pool", "treasury"),
            )
        ),
        ("provider",),
        pytest.param(
            ("auctioneer", "btcd", "asker", "asker-pool", "customer", "customer-pool"),
            marks=pytest.mark.long,
        ),
    ],
    ids="+".join,
)
async def test_whoever_dies_between_ticket_and_batch_the_channel_comes(
    auction: ManualAuction, killed: tuple[str, ...]
) -> None:
    sats = await bought(auction)
    await auction.kill(*killed)
    await auction.has_channel(sats)
    await auction.is_open()
    assert len(await auction.sold(sats)) == 1


@pytest.mark.long
@pytest.mark.parametrize("killed", ["provider", "treasury"])
async def test_a_bid_that_was_lost_is_made_when_the_buyers_poold_starts_again(
    auction: ManualAuction, killed: str
) -> None:
    """The provider's poold tries once; the buyer's tells it again at its start.

    It dies between noting that the ticket is registered and signing its bid, for which
    it asks its lnd.
    """
    await auction.is_open()
    sats = next(_sizes)
    ticket = await auction.offer(sats)
    with auction.frozen("treasury"):
        await auction.register(ticket)
        await auction.has_ticket(ticket, "provider", "registered")
        await auction.kill(killed)
    await auction.is_open()
    await auction.has_ticket(ticket, "provider", "registered")
    await auction.kill("customer-pool")
    await auction.has_channel(sats)


@pytest.mark.long
async def test_a_bid_that_its_poold_has_stored_and_never_handed_on_is_withdrawn(
    auction: ManualAuction,
) -> None:
    """poold 0.7.1 stores a bid once, and stops at its own record the next time.

    It dies after that record, while the auctioneer still asks the chain about it. No
    start of any poold helps: the ticket is over, and the market says so.
    """
    await auction.is_open()
    async with buying(auction, registering_takes_s=1) as market:
        made = await market.offer("stuck", await priced(market, _REFUSED))
        assert isinstance(made, Ticket)
        with auction.frozen("btcd"):
            await auction.register(made.text)
            await auction.has_order("provider", _REFUSED)
            await auction.kill("provider")
        await auction.is_open()
        await auction.kill("customer-pool")
        await auction.is_open()

        async def broken() -> bool:
            progress = await market.progress([made.ref])
            return progress[made.ref].state is TicketState.BROKEN

        await auction.until("the ticket is seen to be broken", broken)
        assert await market.withdraw("stuck", made.ref)
        progress = await market.progress([made.ref])
        assert progress[made.ref].state is TicketState.CANCELLED


@pytest.mark.long
async def test_a_poold_that_waits_for_channels_meets_a_new_auctioneer(
    auction: ManualAuction,
) -> None:
    """It never reconnects by itself: nothing registered later would ever be filled."""
    await auction.is_open()
    await auction.kill("auctioneer")
    sats = await bought(auction)
    await auction.has_channel(sats)


class Dearer(Auctioneer, frozen=True, kw_only=True):
    """An auction that asks for more than it did, and has one lease only."""

    def argv(self) -> list[str]:
        return [*super().argv(), "-fee-rate=9000", "-durations=2016"]


@asynccontextmanager
async def other_terms(auction: ManualAuction) -> AsyncIterator[None]:
    usual = auction.auctioneer.daemon
    assert isinstance(usual, Auctioneer)
    fields = {each.name: getattr(usual, each.name) for each in values.fields(usual)}
    try:
        for daemon in (Dearer(**fields), usual):
            auction.auctioneer.daemon = daemon
            await auction.kill("auctioneer")
            await auction.is_open()
            if daemon is not usual:
                yield
    finally:
        auction.auctioneer.daemon = usual


@pytest.mark.long
async def test_a_price_holds_although_the_auction_has_other_terms(
    auction: ManualAuction,
) -> None:
    await auction.is_open()
    size = next(_sizes)
    async with buying(auction) as market:
        answer = await priced(market, size)
        longer = await priced(market, size, lease_duration_blocks=4032)
        async with other_terms(auction):
            refused = await market.offer("a long one", longer)
            assert isinstance(refused, NoTicket)
            assert "invalid channel lease duration 4032" in refused.why
            made = await market.offer("a dear one", answer)
            assert isinstance(made, Ticket)
            await auction.register(made.text)
            await auction.has_bid(size)
            await auction.has_channel(size)
            lease = (await market.progress([made.ref]))[made.ref].lease
            assert lease is not None
            assert lease.execution_fee == 1 + size * 9_000 // 1_000_000


async def test_an_auction_that_hangs_is_away(auction: ManualAuction) -> None:
    await auction.is_open()
    poold = Poold(reached(auction, "provider"), patience_s=1)
    account = PoolAccount(poold)
    running = auction.auctioneer.running()
    assert running is not None
    processes.signal(running, signal.SIGSTOP)
    try:
        with pytest.raises(MarketAway, match="the auction does not respond") as away:
            await account.find()
        assert away.value.message == "The auction is away; try again in a moment."
    finally:
        processes.signal(running, signal.SIGCONT)

    async def answers() -> bool:
        return (await account.find()).can_buy

    await auction.until("the auction answers again", answers)
    await poold.close()


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ({"capacity": 250_000}, "channel capacity must be positive multiple"),
        ({"self_chan_balance": 300_001}, "self channel balance must be smaller"),
        ({"lease_duration_blocks": 2_017}, "invalid channel lease duration 2017"),
    ],
)
async def test_what_the_auction_does_not_sell_makes_no_ticket_and_says_why(
    auction: ManualAuction, odd: dict[str, int], why: str
) -> None:
    await auction.is_open()
    async with buying(auction) as market:
        wish = await priced(market, _REFUSED)
        channel = values.replace(wish.channel, **odd)  # type: ignore[arg-type]
        refused = await market.offer(why, values.replace(wish, channel=channel))
        assert isinstance(refused, NoTicket)
        assert why in refused.why


async def test_a_bid_that_the_auction_does_not_take_is_seen_and_withdrawn(
    auction: ManualAuction,
) -> None:
    """poold offers what its account cannot pay, and says so to nobody later."""
    await auction.is_open()
    async with buying(auction, registering_takes_s=1) as market:
        wish = await priced(market, _REFUSED)
        dear = values.replace(wish, rate_fixed=2**31)
        made = await market.offer("too dear", dear)
        assert isinstance(made, Ticket)
        await auction.register(made.text)

        async def broken() -> bool:
            progress = await market.progress([made.ref])
            return progress[made.ref].state is TicketState.BROKEN

        await auction.until("the ticket is seen to be broken", broken)
        assert await market.withdraw("too dear", made.ref)
        progress = await market.progress([made.ref])
        assert progress[made.ref].state is TicketState.CANCELLED
        await market.ready(wish)


async def test_a_strangers_ticket_is_none_of_ours(auction: ManualAuction) -> None:
    """It lies in the provider's own list, and nothing becomes of it or of ours."""
    await auction.is_open()
    async with trader.connect(auction.access.pools["asker-pool"]) as stranger:
        account = next(each for each in await stranger.accounts() if each.alive)
        foreign = await stranger.offer(account, _REFUSED, rate_fixed=1, blocks=2016)
    async with trader.connect(auction.access.pools["provider"]) as provider:
        await provider.register(foreign)
    async with buying(auction) as market:
        size = next(_sizes)
        made = await market.offer("ours", await priced(market, size))
        assert isinstance(made, Ticket)
        await auction.register(made.text)
        await auction.has_bid(size)
        await auction.has_channel(size)
        progress = await market.progress([made.ref])
        assert progress[made.ref].state is TicketState.FILLED
    stranger_poold = Poold(reached(auction, "asker-pool"))
    gone = trader_pb2.CancelSidecarRequest(sidecar_id=bytes.fromhex(ref_of(foreign)))
    await stranger_poold.call("CancelSidecar", gone)
    await stranger_poold.close()


@asynccontextmanager
async def buying(
    auction: ManualAuction, *, registering_takes_s: float = 15
) -> AsyncIterator[PoolMarket]:
    """Buy through the provider's poold, for nobody's orders."""
    poold = Poold(reached(auction, "provider"), patience_s=5)
    yield PoolMarket(
        poold,
        PoolAccount(poold),
        Pages(),
        batch_fee_sat_per_kw=12_500,
        registering_takes_s=registering_takes_s,
    )
    await poold.close()


@pytest.mark.long
async def test_a_provider_without_an_account_gets_another(
    auction: ManualAuction,
) -> None:
    await auction.is_open()
    async with trader.connect(auction.access.pools["provider"]) as provider:
        (before,) = [each for each in await provider.accounts() if each.alive]
    poold = Poold(reached(auction, "provider"))
    fee = trader_pb2.OutputWithFee(fee_rate_sat_per_kw=500)
    close = trader_pb2.CloseAccountRequest(
        trader_key=bytes.fromhex(before.key), output_with_fee=fee
    )

    async def closed() -> bool:
        # It has to be open: not while it waits for the blocks after a batch.
        return (await poold.call("CloseAccount", close)) is not None

    await auction.until("the account is closed", closed)
    await poold.close()

    async def another() -> bool:
        async with trader.connect(auction.access.pools["provider"]) as provider:
            return any(each.alive for each in await provider.accounts())

    await auction.until("there is another account", another)
    sats = await bought(auction)
    await auction.has_channel(sats)


async def test_the_commands_show_the_market(auction: ManualAuction) -> None:
    await auction.is_open()
    found = await leyden(auction, "status", "--json")
    assert json.loads(found)["market"] == "open"
    assert [each["name"] for each in json.loads(found)["pools"]] == [
        "provider",
        "asker-pool",
        "customer-pool",
    ]
    # A stranger's ticket may be among them: the asker's.
    assert {each["name"] for each in json.loads(found)["pools"]} >= {
        each["pool"] for each in json.loads(found)["tickets"]
    }
    assert len(json.loads(await leyden(auction, "asks", "--json"))["asks"]) >= 8
    assert json.loads(await leyden(auction, "tick", "--json"))["channels"] == 0
    sats = next(_sizes)
    ticket = await auction.offer(sats)
    assert json.loads(await leyden(auction, "register", ticket, "--json")) == {
        "registered": True
    }
    await auction.has_channel(sats)
    body = json.loads(await leyden(auction, "status", "--json"))["tickets"]
    ref = ref_of(ticket)
    ours = {each["pool"]: each["state"] for each in body if each["id"] == ref}
    assert ours == {"provider": "completed", "customer-pool": "completed"}
    refused = await leyden(auction, "register", "sidecar1harbour", code=2)
    assert refused.count("\n") == 1


async def leyden(auction: ManualAuction, *words: str, code: int = 0) -> str:
    command = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("leyden"),
        *("dev", *words, "--home", str(auction.home)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await command.communicate()
    assert command.returncode == code, output.decode()
    return output.decode()
