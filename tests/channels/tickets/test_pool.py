"""What becomes of a ticket when poold, its lnd or the auction misbehave."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.pricing import AuctionTerms, Channel, Quote, Terms, quote
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.pool import PoolMarket
from leyden.channels.tickets.poold import Poold
from leyden.channels.tickets.rules.tickets import NoTicket, Ticket, TicketState
from leyden.channels.tickets.stubs import auctioneer_pb2 as auctioneer
from leyden.channels.tickets.stubs import trader_pb2 as trader
from leyden.channels.tickets.ticket_ends import STATES
from leyden.errors import Malformed, MarketAway, SoldOut
from tests.channels.contracts.pages import Pages
from tests.channels.tickets.stand_in_poold import StandIn, standing_in

ALIVE = auctioneer.OrderState.ORDER_SUBMITTED
EXECUTED = auctioneer.OrderState.ORDER_EXECUTED
CANCELED = auctioneer.OrderState.ORDER_CANCELED
WISH = quote(Channel(capacity=Sats(1_000_000)), Terms(), AuctionTerms())


@pytest.fixture
async def poold(tmp_path: Path) -> AsyncIterator[StandIn]:
    async with standing_in(tmp_path) as poold:
        yield poold


@pytest.fixture
def book() -> Pages:
    return Pages()


@pytest.fixture
async def market(poold: StandIn, book: Pages) -> AsyncIterator[PoolMarket]:
    client = Poold(poold.access, patience_s=2)
    yield market_on(client, book)
    await client.close()


def market_on(
    client: Poold, book: Pages, *, registering_takes_s: float = 60
) -> PoolMarket:
    return PoolMarket(
        client,
        PoolAccount(client),
        book,
        batch_fee_sat_per_kw=12_500,
        registering_takes_s=registering_takes_s,
    )


async def offered(market: PoolMarket, wish: Quote = WISH, order: str = "one") -> Ticket:
    made = await market.offer(order, wish)
    assert isinstance(made, Ticket), made
    return made


def becomes(
    poold: StandIn, ticket: Ticket, state: str, bid: int | None = None
) -> bytes:
    """Bring a ticket into a state, its bid as well; give the bid's nonce."""
    known = poold.tickets[ticket.text]
    known.state = state
    if bid is not None:
        poold.bids[known.order_bid_nonce] = bid
    return known.order_bid_nonce


def lease_for(nonce: bytes) -> trader.Lease:
    return trader.Lease(
        channel_point=auctioneer.OutPoint(txid=b"\x01" * 32, output_index=2),
        order_nonce=nonce,
        premium_sat=4_999,
        execution_fee_sat=1_001,
        chain_fee_sat=326,
    )


async def state(market: PoolMarket, ref: str) -> TicketState | None:
    answer = (await market.progress([ref])).get(ref)
    return answer.state if answer else None


@pytest.mark.parametrize(("word", "ours"), STATES.items())
async def test_poolds_words_are_ours(
    poold: StandIn, market: PoolMarket, word: str, ours: TicketState
) -> None:
    made = await offered(market)
    bid = {"completed": EXECUTED, "canceled": CANCELED}.get(word, ALIVE)
    nonce = becomes(poold, made, word, bid)
    poold.leases.append(lease_for(nonce))
    progress = (await market.progress([made.ref]))[made.ref]
    assert progress.state is ours
    in_auction = {TicketState.SUBMITTED, TicketState.FILLED}
    assert progress.order_nonce == (nonce.hex() if ours in in_auction else "")


async def test_a_word_that_nobody_knows_is_not_known(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    becomes(poold, made, "transmogrified")
    assert await state(market, made.ref) is None


async def test_completed_without_a_lease_is_not_filled(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    becomes(poold, made, "completed", ALIVE)
    assert await state(market, made.ref) is None
    becomes(poold, made, "completed", CANCELED)
    assert await state(market, made.ref) is TicketState.CANCELLED


async def test_a_cancelled_ticket_with_a_live_bid_is_not_over(
    poold: StandIn, market: PoolMarket
) -> None:
    """Ending the order now could give the channel and the money."""
    made = await offered(market)
    nonce = becomes(poold, made, "canceled", ALIVE)
    assert await state(market, made.ref) is TicketState.BROKEN
    assert await market.withdraw("one", made.ref)
    assert poold.bids[nonce] == CANCELED
    assert await state(market, made.ref) is TicketState.CANCELLED


async def test_without_its_lease_a_filled_bid_is_not_known(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    nonce = becomes(poold, made, "completed", EXECUTED)
    poold.says["Leases"] = "unable to fetch node ratings: Unavailable"
    assert await state(market, made.ref) is None
    poold.says.clear()
    poold.leases.append(lease_for(nonce))
    assert await state(market, made.ref) is TicketState.FILLED


async def lease_of(poold: StandIn, market: PoolMarket) -> Lease:
    """Have a channel bought, and return its lease."""
    made = await offered(market)
    poold.leases.append(lease_for(becomes(poold, made, "completed", EXECUTED)))
    progress = (await market.progress([made.ref]))[made.ref]
    assert progress.state is TicketState.FILLED
    assert progress.lease is not None
    return progress.lease


async def test_a_lease_is_known_with_the_height_of_the_chain(
    poold: StandIn, market: PoolMarket
) -> None:
    assert (await lease_of(poold, market)).height == poold.height


@pytest.mark.parametrize("wrong", ["refused", "hanging"])
async def test_a_height_that_poold_does_not_tell_holds_no_order_back(
    poold: StandIn, market: PoolMarket, wrong: str
) -> None:
    if wrong == "refused":
        poold.says["GetInfo"] = "unexpected number of node ratings 0"
    else:
        poold.hanging.add("GetInfo")
    async with asyncio.timeout(1.8):  # less than the market is waited for
        assert (await lease_of(poold, market)).height == 0


async def test_a_channel_is_known_though_its_account_was_closed(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    poold.leases.append(lease_for(becomes(poold, made, "completed", EXECUTED)))
    poold.state = trader.AccountState.CLOSED
    assert await state(market, made.ref) is TicketState.FILLED


@pytest.mark.parametrize("account", ["OPEN", "CLOSED"])
async def test_a_lease_costs_what_the_account_paid_that_bought_it(
    poold: StandIn, market: PoolMarket, account: str
) -> None:
    made = await offered(market)
    poold.leases.append(lease_for(becomes(poold, made, "completed", EXECUTED)))
    poold.version = trader.AccountVersion.ACCOUNT_VERSION_LEGACY
    poold.state = trader.AccountState.Value(account)
    progress = (await market.progress([made.ref]))[made.ref]
    assert progress.lease is not None
    assert progress.lease.chain_fee == 326


async def test_asking_about_others_makes_no_ticket_young_again(
    poold: StandIn, book: Pages
) -> None:
    market = market_on(Poold(poold.access), book, registering_takes_s=0)
    stuck, sold = [await offered(market, order=name) for name in ("one", "two")]
    becomes(poold, stuck, "registered")
    becomes(poold, sold, "expecting channel", ALIVE)
    await state(market, stuck.ref)
    assert await state(market, sold.ref) is TicketState.SUBMITTED
    assert await state(market, stuck.ref) is TicketState.BROKEN


async def test_a_ticket_that_stays_registered_is_broken(
    poold: StandIn, book: Pages
) -> None:
    market = market_on(Poold(poold.access), book, registering_takes_s=0)
    made = await offered(market)
    becomes(poold, made, "registered")
    await state(market, made.ref)
    assert await state(market, made.ref) is TicketState.BROKEN
    becomes(poold, made, "expecting channel", ALIVE)
    assert await state(market, made.ref) is TicketState.SUBMITTED


async def test_a_channel_that_poold_missed_is_found_by_its_lease(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    nonce = becomes(poold, made, "expecting channel", EXECUTED)
    poold.leases.append(lease_for(nonce))
    await state(market, made.ref)
    progress = (await market.progress([made.ref]))[made.ref]
    assert progress.state is TicketState.FILLED
    assert progress.lease is not None
    assert progress.lease.cost == 4_999 + 1_001 + 245
    poold.says["CancelSidecar"] = "unable to cancel order in terminal state executed"
    assert not await market.withdraw("one", made.ref)


async def test_a_bid_that_failed_ends_its_ticket(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    becomes(poold, made, "expecting channel", auctioneer.OrderState.ORDER_FAILED)
    await state(market, made.ref)
    assert await state(market, made.ref) is TicketState.CANCELLED


async def test_the_bid_of_a_registered_ticket_is_cancelled_too(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    nonce = becomes(poold, made, "registered", ALIVE)
    assert await market.withdraw("one", made.ref)
    assert poold.bids[nonce] == auctioneer.OrderState.ORDER_CANCELED


async def test_a_bid_that_never_got_in_is_as_good_as_cancelled(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    becomes(poold, made, "registered", ALIVE)
    poold.says["CancelOrder"] = "rpc error: code = NotFound desc = no order found"
    assert await market.withdraw("one", made.ref)


async def test_during_a_batch_nobody_knows_and_no_credit_is_given(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    nonce = becomes(poold, made, "expecting channel", ALIVE)
    busy = "error canceling order: the order takes part in a batch, try later"
    poold.says |= {"CancelSidecar": busy, "CancelOrder": busy}
    with pytest.raises(MarketAway):
        await market.withdraw("one", made.ref)
    becomes(poold, made, "completed", EXECUTED)
    poold.leases.append(lease_for(nonce))
    del poold.says["CancelSidecar"]
    assert not await market.withdraw("one", made.ref)


async def test_a_cancel_that_is_only_said_is_not_believed(
    poold: StandIn, market: PoolMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await offered(market)
    becomes(poold, made, "expecting channel", ALIVE)
    monkeypatch.setattr(
        StandIn, "_cancelorder", lambda *_: trader.CancelOrderResponse()
    )
    with pytest.raises(MarketAway):
        await market.withdraw("one", made.ref)


async def test_a_ticket_whose_answer_was_lost_is_given_to_nobody(
    poold: StandIn, market: PoolMarket
) -> None:
    poold.lost.add("OfferSidecar")
    with pytest.raises(MarketAway):
        await market.offer("one", WISH)
    poold.lost.clear()
    (unseen,) = poold.tickets
    made = [await offered(market, order=name) for name in ("one", "two")]
    assert unseen not in {each.text for each in made}
    assert await offered(market) == made[0]
    assert len(poold.tickets) == 3


async def test_replicas_give_no_ticket_of_each_other_away(
    poold: StandIn, market: PoolMarket, book: Pages
) -> None:
    """All want the same, and poold writes nobody's name on what they get."""
    beside = market_on(Poold(poold.access), book)
    made = {
        (await offered(each, order=f"{number}")).ref
        for number in range(3)
        for each in (market, beside)
    }
    assert len(made) == 6


async def test_a_database_that_was_put_back_gives_no_ticket_out_again(
    poold: StandIn, market: PoolMarket
) -> None:
    """Whoever bought it may still have its text, though no order of ours knows."""
    sold = await offered(market)
    restored = market_on(Poold(poold.access), Pages())
    assert (await offered(restored, order="two")).ref != sold.ref


async def test_a_ticket_that_poold_lost_is_not_known(
    poold: StandIn, market: PoolMarket
) -> None:
    """To call it cancelled would give credit for what may yet become a channel."""
    made = await offered(market)
    poold.tickets.clear()
    for _ in range(2):
        with pytest.raises(MarketAway, match="does not know the ticket"):
            await market.withdraw("one", made.ref)
    assert await state(market, made.ref) is TicketState.MISSING
    assert await market.withdraw("one", "")  # what no order has, nobody has seen


async def test_bids_are_looked_at_for_each_ticket_however_many_there_are(
    poold: StandIn, market: PoolMarket
) -> None:
    """Tickets are asked about in batches: one's look is not another's."""
    batches = [await offered(market, order=name) for name in ("one", "two")]
    for made in batches:
        becomes(poold, made, "expecting channel", ALIVE)
    for looks in (0, 2, 2):
        for made in batches:
            assert await state(market, made.ref) is TicketState.SUBMITTED
        assert poold.calls.count("ListOrders") == looks
    failed = await offered(market, order="three")
    becomes(poold, failed, "expecting channel", CANCELED)
    await state(market, failed.ref)
    assert await state(market, failed.ref) is TicketState.CANCELLED


async def test_what_is_outstanding_counts(
    poold: StandIn, market: PoolMarket, book: Pages
) -> None:
    takes = WISH.pool_fee
    poold.available = 3 * takes
    book.promised = 2 * takes
    await market.ready(WISH)
    book.promised += 1
    with pytest.raises(SoldOut):
        await market.ready(WISH)
    with pytest.raises(SoldOut):
        await market.offer("one", WISH)
    assert "OfferSidecar" not in poold.calls


async def test_a_ticket_without_room_is_made_once_there_is_some(
    poold: StandIn, market: PoolMarket, book: Pages
) -> None:
    """Until then there is nothing that would have to be cancelled with its order."""
    await offered(market, order="one")
    book.promised = poold.available
    for _ in range(3):
        with pytest.raises(SoldOut):
            await market.offer("two", WISH)
    assert await market.withdraw("two", "")
    assert len(poold.tickets) == 1
    book.promised = 0
    made = await offered(market, order="two")
    assert made.text == list(poold.tickets)[1]
    assert len(poold.tickets) == 2


@pytest.mark.parametrize("refused", [False, True])
async def test_tickets_are_bought_from_the_account_that_is_there_now(
    poold: StandIn,
    market: PoolMarket,
    *,
    refused: bool,
) -> None:
    await offered(market, order="one")
    poold.key = b"\x03" + b"\xcd" * 32
    poold.only_key = refused
    made = await offered(market, order="two")
    assert poold.tickets[made.text].offer_sign_pubkey == poold.key


async def test_a_ticket_that_is_none_is_not_sold(
    market: PoolMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage = trader.SidecarTicket(ticket="sidecar1harbour")
    monkeypatch.setattr(StandIn, "_offersidecar", lambda *_: garbage)
    with pytest.raises(MarketAway, match="no ticket"):
        await market.offer("one", WISH)


@pytest.mark.parametrize(
    ("account", "buys"),
    [
        ("OPEN", True),
        ("PENDING_BATCH", True),
        ("PENDING_OPEN", False),
        ("PENDING_UPDATE", False),
        ("EXPIRED", False),
    ],
)
async def test_only_an_account_that_buys_sells(
    poold: StandIn, market: PoolMarket, account: str, *, buys: bool
) -> None:
    poold.state = trader.AccountState.Value(account)
    if buys:
        await market.ready(WISH)
    else:
        with pytest.raises(SoldOut):
            await market.ready(WISH)


async def test_terms_are_the_auctions(poold: StandIn, market: PoolMarket) -> None:
    poold.fee.fee_rate = 2_500
    terms = await market.terms()
    assert terms == AuctionTerms(
        leases=(2016,), execution_fee_base=Sats(1), execution_fee_ppm=2_500
    )
    year = Channel(capacity=Sats(1_000_000), lease_duration_blocks=52_416)
    with pytest.raises(Malformed, match="lease_duration_blocks"):
        await market.ready(quote(year, Terms(), AuctionTerms()))


@pytest.mark.parametrize("odd", ["fee", "nothing", "bytes", "hangs"])
async def test_terms_that_cannot_be_are_not_believed(
    poold: StandIn, market: PoolMarket, odd: str
) -> None:
    if odd == "fee":
        poold.fee.base_fee = 2**63
    elif odd == "nothing":
        poold.durations = {}
    elif odd == "bytes":
        poold.garbage.add("AuctionFee")
    else:
        poold.hanging.add("LeaseDurations")
    with pytest.raises(MarketAway):
        await market.terms()


@pytest.mark.parametrize(
    "why",
    [
        "invalid lease duration, must be one of [2016]",
        "invalid channel lease duration 4032 blocks, active durations are: map[2016:3]",
    ],
)
async def test_a_refusal_makes_no_ticket_and_says_why(
    poold: StandIn, market: PoolMarket, why: str
) -> None:
    poold.says["OfferSidecar"] = why
    assert await market.offer("one", WISH) == NoTicket(why)


async def test_what_poold_says_else_is_not_known(
    poold: StandIn, market: PoolMarket
) -> None:
    poold.says["OfferSidecar"] = "something nobody has\never seen " + "x" * 999
    with pytest.raises(MarketAway) as away:
        await market.offer("one", WISH)
    assert str(away.value).startswith(
        "the auction does not respond: something nobody has ever seen"
    )
    assert len(str(away.value)) < 400
    assert away.value.message == "The auction is away; try again in a moment."


async def test_a_poold_that_was_started_again_is_found_again(
    poold: StandIn, market: PoolMarket
) -> None:
    made = await offered(market)
    await poold.stop()
    with pytest.raises(MarketAway):
        await market.progress([made.ref])
    for name in ("tls.cert", "tls.key"):
        (poold.folder / name).unlink()
    await poold.start()
    await finds(market, made.ref)


async def finds(market: PoolMarket, ref: str) -> None:
    for _ in range(50):
        try:
            assert await state(market, ref) is TicketState.OFFERED
        except MarketAway:
            continue
        return
    raise AssertionError("it is never found again")


async def test_a_wrong_macaroon_is_told_and_not_echoed(
    poold: StandIn, market: PoolMarket
) -> None:
    (poold.folder / "pool.macaroon").write_bytes(b"another one")
    with pytest.raises(MarketAway) as away:
        await market.terms()
    assert b"another one".hex() not in str(away.value)


async def test_files_that_are_not_there_yet_are_waited_for(tmp_path: Path) -> None:
    client = Poold(StandIn(tmp_path, port=1).access)
    with pytest.raises(MarketAway, match="The auction is away"):
        await market_on(client, Pages()).terms()


async def test_many_tickets_are_asked_for_at_once(
    poold: StandIn, market: PoolMarket
) -> None:
    refs = [(await offered(market, order=str(n))).ref for n in range(30)]
    poold.calls.clear()
    assert len(await market.progress(refs)) == 30
    assert poold.calls.count("ListSidecars") == 1
    poold.calls.clear()
    assert list(await market.progress(refs[:1])) == refs[:1]
    assert poold.calls.count("ListSidecars") == 1
