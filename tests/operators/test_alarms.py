"""What an operator has to look after is listed, counted, and logged once."""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from leyden.base.database.statements import Statement
from leyden.base.platform import Platform
from leyden.base.rules.alarms import AlarmKind, Finding
from leyden.base.rules.units import Sats
from leyden.base.settings import Settings
from leyden.base.tasks.work import Work
from leyden.channels.direct import seller_watch
from leyden.channels.direct.rows.lsps1_orders import Lsps1Order
from leyden.channels.direct.rows.seller import KnownSeller
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.channels.money.corrections import Correction
from leyden.channels.rules.orders import Order, OrderStatus
from leyden.channels.tickets.missing_tickets import abandon
from leyden.errors import DatabaseAway, Malformed, Stale
from leyden.events import log, subscriptions
from leyden.events.dispatchers import Dispatcher
from leyden.events.rules.cursors import Cursor
from leyden.events.rules.events import ALARMS, INSTALLATION
from leyden.events.subscriptions import Wanted
from leyden.operators import alarm_watch, oversight
from leyden.operators.alarm_watch import ANNOUNCED_SINGLY, AlarmWatch, Announced
from leyden.operators.alarms import Alarm, disk, list_alarms
from leyden.operators.attention import needing_attention
from leyden.values import replace
from tests.away import AwayDatabase
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    OrdersHarness,
    request_of,
)
from tests.channels.test_credit import correct, in_debt
from tests.channels.test_direct_channels import PEER, channel, paid
from tests.channels.test_upkeep import HEIGHT, WELL, FakeAuctionAccount
from tests.events.sending import send_all
from tests.fakes.sender import FakeSender


@pytest.fixture
def fake_account() -> FakeAuctionAccount:
    return FakeAuctionAccount()


@pytest.fixture
def platform(
    harness: OrdersHarness, fake_account: FakeAuctionAccount, tmp_path: Path
) -> Platform:
    harness.seller.fill([10_000_000])
    harness.seller.reachable_by = Sats(1)
    return Platform(
        settings=Settings(home=str(tmp_path)),
        database=harness.database,
        sealer=harness.sealer,
        clock=lambda: harness.now,
        channels=replace(harness.channels, account=fake_account),
    )


def metric(kind: AlarmKind) -> float | None:
    return REGISTRY.get_sample_value("leyden_alarm", {"alarm": kind.value})


async def kinds(platform: Platform) -> list[str]:
    found = await list_alarms(platform, now=platform.clock())
    assert all(each.what for each in found)
    return [each.kind.value for each in found]


async def more(harness: OrdersHarness, sats: str) -> None:
    """Change the stored balances that are more than nothing."""
    text = f"UPDATE balance SET sats = sats + {sats} WHERE sats > 0"  # noqa: S608  our own text
    async with harness.database.transaction() as tx:
        await tx.run(Statement(text))


async def test_there_are_none_where_all_is_well(platform: Platform) -> None:
    assert await kinds(platform) == []


async def test_a_treasury_that_is_away_or_another_one_is_told(
    platform: Platform, harness: OrdersHarness
) -> None:
    await harness.start_sweeping()
    harness.payments.away = True
    assert await kinds(platform) == ["treasury.away"]
    harness.payments.away = False
    ours, harness.payments.pubkey = harness.payments.pubkey, f"03{'66' * 32}"
    await harness.start_sweeping()
    assert await kinds(platform) == ["treasury.replaced"]
    harness.payments.pubkey = ours
    await harness.start_sweeping()
    assert await kinds(platform) == []


async def test_a_seller_that_is_away_another_one_or_empty_is_told(
    platform: Platform, harness: OrdersHarness
) -> None:
    harness.seller.away = True
    assert await kinds(platform) == ["seller.away"]
    harness.seller.away = False
    harness.seller.coins.clear()
    assert await kinds(platform) == ["seller.low"]
    harness.seller.fill([5_000_000])
    assert await kinds(platform) == []
    harness.seller.reachable_by = Sats(0)
    assert await kinds(platform) == ["seller.unreachable"]
    harness.seller.reachable_by = Sats(1)
    async with harness.database.transaction() as tx:
        await tx.seller.add(KnownSeller(f"03{'66' * 32}", ""))
    assert await kinds(platform) == ["seller.away"]


async def test_an_account_at_the_auction_is_told_that_is_low_ending_or_away(
    platform: Platform, fake_account: FakeAuctionAccount
) -> None:
    fake_account.account = replace(WELL, available=Sats(1_000))
    assert await kinds(platform) == ["pool.low"]
    fake_account.account = replace(WELL, expires=HEIGHT + 100)
    assert await kinds(platform) == ["pool.expiring"]
    fake_account.away = True
    assert await kinds(platform) == ["market.away"]


async def test_an_order_that_waits_for_its_ticket_too_long_is_told(
    platform: Platform, harness: OrdersHarness
) -> None:
    order = await harness.create()
    harness.payments.pay(request_of(order))
    await harness.hear()
    harness.now += timedelta(minutes=6)
    assert "order.stuck" in await kinds(platform)


async def test_a_failed_order_is_told_for_a_week(
    harness: OrdersHarness, platform: Platform
) -> None:
    harness.seller.online.add(PEER)
    harness.seller.refuses = "no"
    order = await paid(harness, await harness.create(channel()))
    assert order.status is OrderStatus.FAILED
    harness.now += timedelta(days=6)
    (found,) = await needing_attention(platform, now=harness.now)
    assert (found.order.id, found.why) == (order.id, "the channel could not be opened")
    harness.now += timedelta(days=1)
    assert await needing_attention(platform, now=harness.now) == []


async def test_what_the_chain_took_back_after_it_was_spent_is_told_until_repaid(
    platform: Platform, harness: OrdersHarness
) -> None:
    await in_debt(harness)
    (answer,) = [
        each
        for each in await list_alarms(platform, now=harness.now)
        if each.kind is AlarmKind.PAYMENT_REVERSED
    ]
    assert f"removed {PRICE:,} sat" in answer.what
    assert HARBOUR in answer.what
    await correct(harness, Correction.CREDIT, PRICE)
    assert "payment.reversed" not in await kinds(platform)


async def test_what_was_due_long_ago_or_fails_again_and_again_is_told(
    platform: Platform, harness: OrdersHarness
) -> None:
    async with harness.database.transaction() as tx:
        await tx.tasks.put("lamp", "harbour", due=harness.now)
    assert await kinds(platform) == []
    harness.now += timedelta(minutes=6)
    assert await kinds(platform) == ["queue.lagging"]


def test_a_disk_is_told_that_is_nearly_full(tmp_path: Path) -> None:
    assert disk(tmp_path, least=1) == disk(tmp_path / "none", least=1 << 62) == []
    (alarm,) = disk(tmp_path, least=1 << 62)
    assert alarm.kind == "disk.low"
    assert str(tmp_path) in alarm.what


async def test_an_alarm_is_counted_and_logged_when_it_begins_and_when_it_is_over(
    platform: Platform, harness: OrdersHarness, logged: pytest.LogCaptureFixture
) -> None:
    raised = await alarm_watch.check(platform)
    assert (raised, metric(AlarmKind.TREASURY_AWAY)) == (frozenset(), 0)
    harness.payments.away = True
    raised = await alarm_watch.check(platform, raised)
    assert metric(AlarmKind.TREASURY_AWAY) == 1
    assert "the treasury does not respond" in logged.records[-1].what  # type: ignore[attr-defined]
    logged.clear()
    raised = await alarm_watch.check(platform, raised)
    assert not logged.records
    harness.payments.away = False
    assert await alarm_watch.check(platform, raised) == frozenset()
    assert metric(AlarmKind.TREASURY_AWAY) == 0
    assert logged.records[-1].message == "alarm cleared"


async def test_what_a_private_chain_starts_beside_us_is_no_alarm_before_it_was_there(
    platform: Platform, harness: OrdersHarness, tmp_path: Path
) -> None:
    certificate = tmp_path / "devnet" / "btcd" / "rpc.cert"
    private = replace(platform.settings, testnet_rpc_certificate=str(certificate))
    harness.payments.away = True
    for settings, raised in ((platform.settings, 1), (private, 0)):
        watch = AlarmWatch(replace(platform, settings=settings))
        await watch.check()
        assert len(watch.found or ()) == raised
        assert metric(AlarmKind.TREASURY_AWAY) == raised
    harness.payments.away = False
    await watch.check()
    harness.payments.away = True
    await watch.check()
    assert [each.kind for each in watch.found or ()] == [AlarmKind.TREASURY_AWAY]
    late = AlarmWatch(replace(platform, settings=private))
    harness.now += timedelta(minutes=31)
    await late.check()
    assert [each.kind for each in late.found or ()] == [AlarmKind.TREASURY_AWAY]


async def test_mainnet_without_backups_is_an_alarm(platform: Platform) -> None:
    existing = platform.settings
    mainnet = replace(existing, mainnet_backend="btcd")
    for settings, expected in (
        (existing, []),
        (mainnet, ["backup.none"]),
        (replace(mainnet, backup_store="/b"), ["backup.stale", "backup.stale"]),
    ):
        assert await kinds(replace(platform, settings=settings)) == expected


async def test_overview_shows_stored_alarms_and_how_old_the_last_look_is(
    platform: Platform, harness: OrdersHarness
) -> None:
    async def observe() -> tuple[list[str], str]:
        found = await oversight.overview(platform, now=harness.now)
        return [each.kind for each in found.alarms], found.not_checked

    alarms, unchecked = await observe()
    assert (alarms, unchecked.split(":")[0]) == (
        [],
        "nobody has checked for alarms yet",
    )
    watch = AlarmWatch(platform)
    watch.found = frozenset({Alarm(AlarmKind.PEER_PORTS_TAKEN, "port 9735 is taken")})
    watch.checked_at = harness.now
    async with harness.database.transaction() as tx:
        await watch.record(tx)
    assert await observe() == (["peer_ports.taken"], "")
    harness.now += timedelta(minutes=4)
    alarms, unchecked = await observe()
    assert alarms == ["peer_ports.taken"]
    assert unchecked.startswith("nobody has checked for alarms since 20")


async def test_a_ledger_that_does_not_add_up_is_told(
    platform: Platform, harness: OrdersHarness
) -> None:
    await harness.give_credit(5_000)
    assert await alarm_watch.ledger_alarms(platform) == []
    await more(harness, "1")
    broken = await alarm_watch.ledger_alarms(platform)
    assert {each.kind for each in broken} == {AlarmKind.LEDGER_BROKEN}
    assert await alarm_watch.check(platform, broken=broken) == frozenset(broken)
    assert metric(AlarmKind.LEDGER_BROKEN) == 1
    await more(harness, "-1")


async def test_a_verification_that_failed_is_repeated_within_the_hour(
    platform: Platform, harness: OrdersHarness
) -> None:
    await harness.give_credit(5_000)
    await more(harness, "1")
    watch = AlarmWatch(platform)
    hour = timedelta(hours=1)
    harness.now += hour
    watch._platform = replace(platform, database=AwayDatabase())
    with pytest.raises(DatabaseAway):
        await watch.check()
    watch._platform = platform
    await watch.check()  # not at once: verifying reads all entries
    assert AlarmKind.LEDGER_BROKEN not in {each.kind for each in watch.found or ()}
    harness.now += hour
    await watch.check()
    assert AlarmKind.LEDGER_BROKEN in {each.kind for each in watch.found or ()}
    await more(harness, "-1")
    harness.now += hour
    await watch.check()  # stays until the next day's verification
    assert AlarmKind.LEDGER_BROKEN in {each.kind for each in watch.found or ()}
    harness.now += 24 * hour
    await watch.check()
    assert AlarmKind.LEDGER_BROKEN not in {each.kind for each in watch.found or ()}


async def test_what_begins_and_ends_is_logged_once_and_sent_to_the_operators_endpoint(
    platform: Platform, harness: OrdersHarness
) -> None:
    sender = FakeSender()
    dispatcher = Dispatcher(
        database=harness.database,
        sealer=harness.sealer,
        sender=sender,
        clock=lambda: harness.now,
    )
    await subscriptions.create(
        dispatcher,
        INSTALLATION,
        "1S",
        Wanted(url="https://hooks.harbour.test/alarms", types=["treasury.*"]),
        scopes=(),
        actor="operator:op",
    )
    low = Alarm(AlarmKind.DISK_LOW, "1 GiB is left")

    async def look(*also: Alarm) -> list[tuple[str, str]]:
        """Look, as two processes do at once, each with what it has found."""
        found = [*await list_alarms(platform, now=harness.now), *also]

        async def record() -> None:
            async with harness.database.transaction() as tx:
                await alarm_watch.log_changes(tx, found, now=harness.now)

        await asyncio.gather(record(), record())
        await send_all(dispatcher)
        part = await log.read(
            harness.database.reader, INSTALLATION, ALARMS, after=None, limit=99
        )
        answer = [(each.type, log.item(each).data) for each in part.events]
        assert all(data.keys() == {"status", "what", "subject"} for _, data in answer)
        return [(kind, str(data["status"])) for kind, data in answer]

    assert await look() == []
    harness.payments.away = True
    away = ("treasury.away", "raised")
    assert await look() == [away]
    assert await look(low) == [away, ("disk.low", "raised")]
    harness.payments.away = False
    over = ("treasury.away", "cleared")
    assert (await look(low))[2:] == [over]
    assert (await look())[3:] == [("disk.low", "cleared")]
    harness.payments.away = True
    assert (await look())[4:] == [away]
    sent = [json.loads(each.body) for each in sender.received]
    assert [(each["type"], each["data"]["status"]) for each in sent] == [
        away,
        over,
        away,
    ]
    assert {each["organization_id"] for each in sent} == {INSTALLATION}
    with pytest.raises(Malformed, match=r"must be types of events, like .* pool\.\*"):
        await subscriptions.change(
            dispatcher,
            INSTALLATION,
            "1S",
            Wanted(types=["order.paid"]),
            scopes=(),
            actor="operator:op",
        )


async def test_one_process_of_all_logs_alarms(
    platform: Platform, harness: OrdersHarness
) -> None:
    watches = [AlarmWatch(platform) for _ in range(2)]
    for each in watches:
        each.found = frozenset({Alarm(AlarmKind.DISK_LOW, "1 GiB is left")})
    async with harness.database.transaction() as tx:
        await tx.tasks.put(alarm_watch.ALARMS, "all", due=harness.now)
    hour = timedelta(hours=1)
    claims = []
    for _ in watches:
        async with harness.database.transaction() as tx:
            claims += await tx.tasks.claim(
                alarm_watch.ALARMS, now=harness.now, until=harness.now + hour, limit=1
            )
    (claim,) = claims
    following = asyncio.create_task(watches[0].follow(Work(harness.database, claim)))
    end = log.end
    async with asyncio.timeout(10):
        while (await end(harness.database.reader, INSTALLATION)).number == 0:
            await asyncio.sleep(0.01)
    # Whoever has lost the task writes no more.
    async with harness.database.transaction() as tx:
        await tx.tasks.release_all()
        (newer,) = await tx.tasks.claim(
            alarm_watch.ALARMS, now=harness.now, until=harness.now + hour, limit=1
        )
    assert newer.fence > claim.fence
    watches[0].found = frozenset()
    with pytest.raises(Stale):
        await watches[0].follow(Work(harness.database, claim))
    following.cancel()
    (stored,) = await harness.database.reader.alarms.list_()
    assert stored.key == ("disk.low", "", "")


async def test_a_channel_that_needs_the_operator_says_why(
    harness: OrdersHarness, platform: Platform
) -> None:
    harness.seller.online.add(PEER)
    harness.seller.mined_from, harness.seller.bumpable = 1_000, False
    order = await paid(harness, await harness.create(channel()))
    harness.seller.height += 12
    await seller_watch.check(harness.channels)
    (found,) = await needing_attention(platform, now=harness.now)
    assert found.order.id == order.id
    assert "seller_macaroon lacks the permission to bump it" in found.why
    assert AlarmKind.ORDER_STUCK.value in await kinds(platform)
    await lose_its_coins(harness, order)
    (found,) = await needing_attention(platform, now=harness.now)
    assert "can never open" in found.why
    assert "became credit" in found.why
    # One over LSPS1 has no account that the credit could be its buyer's in.
    await to_a_stranger(harness, order)
    (found,) = await needing_attention(platform, now=harness.now)
    assert "you owe its price to a buyer without an account" in found.why


async def announced(platform: Platform) -> list[str]:
    """Look once more, and return all that was ever announced as raised."""
    now = platform.clock()
    found = await list_alarms(platform, now=now)
    async with platform.database.transaction() as tx:
        await alarm_watch.log_changes(tx, found, now=now)
    reader = platform.database.reader
    part = await log.read(reader, INSTALLATION, ALARMS, after=None, limit=999)
    return [
        f"{each.type}: {data['what']}"
        for each in part.events
        if (data := log.item(each).data)["status"] == "raised"
    ]


async def to_a_stranger(harness: OrdersHarness, order: Order) -> None:
    """Make this an order over LSPS1: its buyer has no account."""
    async with harness.database.transaction() as tx:
        await tx.lsps1_orders.add(
            Lsps1Order(
                order_id=order.id,
                source=Transport.HTTP,
                address="198.51.100.7",
                confirmations=0,
                within_blocks=6,
                token="",
            )
        )


async def lose_its_coins(harness: OrdersHarness, order: Order) -> None:
    """Let another transaction spend the coins of a published channel for good."""
    harness.seller.take_coin((await harness.get(order)).channel_point)
    harness.seller.height += 5
    await seller_watch.check(harness.channels)


async def test_alarms_name_every_order_when_another_of_their_kind_is_raised(
    platform: Platform, harness: OrdersHarness
) -> None:
    harness.seller.fill([10_000_000])
    harness.seller.online.add(PEER)
    harness.seller.mined_from, harness.seller.bumpable = 1_000, False
    stuck = await paid(harness, await harness.create(channel()))
    await to_a_stranger(harness, stuck)
    harness.seller.height += 12
    await seller_watch.check(harness.channels)
    (first,) = await announced(platform)
    assert first.startswith(f"order.stuck: order {stuck.id}: ")
    owed = await paid(harness, await harness.create(channel(), LIGHTHOUSE))
    await to_a_stranger(harness, owed)
    await lose_its_coins(harness, owed)
    (answer,) = (each for each in await announced(platform) if owed.id in each)
    assert answer.startswith("order.owed: ")
    assert "you owe its price to a buyer without an account" in answer
    # A second one of the same kind, for the same reason.
    other = await paid(harness, await harness.create(channel()))
    harness.seller.height += 12
    await seller_watch.check(harness.channels)
    (answer,) = (each for each in await announced(platform) if other.id in each)
    assert answer == first.replace(stuck.id, other.id)
    # Another reason is another alarm of the same order.
    await lose_its_coins(harness, stuck)
    assert any(
        each.startswith(f"order.owed: order {stuck.id}")
        for each in await announced(platform)
    )


async def test_a_failed_order_is_listed_without_an_alarm_when_its_payment_went_back(
    platform: Platform, harness: OrdersHarness
) -> None:
    harness.seller.online.add(PEER)
    harness.seller.refuses = "no"
    order = await paid(harness, await harness.create(channel()))
    await to_a_stranger(harness, order)
    assert order.status is OrderStatus.FAILED
    (found,) = await needing_attention(platform, now=harness.now)
    assert found.why == "the channel could not be opened"
    assert await announced(platform) == []


async def test_an_order_is_no_alarm_while_it_may_wait_for_its_node(
    platform: Platform, harness: OrdersHarness
) -> None:
    harness.seller.online.add(PEER)
    harness.seller.freezes = True  # the node accepts, and never answers
    order = await paid(harness, await harness.create(channel()))
    began = order.paid_at or harness.now
    for minutes, is_alarm in ((6, False), (59, False), (60, True)):
        harness.now = began + timedelta(minutes=minutes)
        (found,) = await needing_attention(platform, now=harness.now)
        assert "the channel is not open yet" in found.why
        assert ("order.stuck" in await kinds(platform)) is is_alarm
    harness.seller.thaw(refuses=True)
    await harness.pass_time(minutes=1)


async def test_a_lost_ticket_stays_told_when_the_market_is_away(
    platform: Platform, harness: OrdersHarness
) -> None:
    await harness.give_credit(PRICE)
    order = await harness.create()
    await harness.settle_down()
    harness.market.forget(await harness.ticket(order))
    (answer,) = await announced(platform)
    assert answer.startswith(
        f"order.stuck: order {order.id}: the market lost the ticket"
    )
    harness.market.away = True
    assert await announced(platform) == [answer]
    (stored,) = await harness.database.reader.alarms.list_()
    assert stored.subject == order.id
    harness.market.away = False
    await abandon(
        harness.channels, order.id, reason="pool.db is gone", actor="operator:op"
    )
    assert await announced(platform) == [answer]
    assert await harness.database.reader.alarms.list_() == []


async def test_many_alarms_of_a_kind_share_an_event_after_the_first(
    harness: OrdersHarness,
) -> None:
    announced = Announced()
    many = [
        Alarm(AlarmKind.NODE_FAILED, f"node {n} failed", f"{n:03}") for n in range(200)
    ]

    async def look(found: Sequence[Alarm], **later: float) -> list[Any]:
        """Look a while later, and return the events that were added."""
        reader = harness.database.reader
        before = (await log.end(reader, INSTALLATION)).number
        harness.now += timedelta(**later)
        async with harness.database.transaction() as tx:
            await alarm_watch.log_changes(
                tx, found, now=harness.now, announced=announced
            )
        part = await log.read(
            reader, INSTALLATION, ALARMS, after=Cursor(before, ""), limit=999
        )
        return [{"type": each.type, **log.item(each).data} for each in part.events]

    *single, shared = await look(many[:150])
    assert len(single) == ANNOUNCED_SINGLY
    assert {each["subject"] for each in single} <= {each.subject for each in many}
    assert shared["what"].endswith("and 125 more: `leyden overview`")
    assert shared["subject"] == ""
    # Another kind is not delayed; this one is announced together ten minutes later.
    owed = Alarm(AlarmKind.ORDER_OWED, "you owe a buyer", "1FO")
    (answer,) = await look([*many, owed], minutes=1)
    assert (answer["type"], answer["subject"]) == ("order.owed", "1FO")
    (shared,) = await look([*many, owed], minutes=9)
    assert shared["what"].endswith("and 45 more: `leyden overview`")
    # One that comes and goes each minute announces no more than others.
    flood = 0
    for minute in range(120):
        flood += len(await look([*many[:199], *many[199:][: minute % 2]], minutes=1))
    assert flood <= 2 * ANNOUNCED_SINGLY + 2 * 12
    *single, shared = await look([], hours=1)
    assert {each["status"] for each in [*single, shared]} == {"cleared"}
    assert await harness.database.reader.alarms.list_() == []


async def test_a_broken_ledger_stays_told_when_the_program_starts_anew(
    platform: Platform, harness: OrdersHarness
) -> None:
    await harness.give_credit(5_000)
    await more(harness, "1")
    first = AlarmWatch(platform)
    harness.now += timedelta(hours=1)
    await first.check()
    async with harness.database.transaction() as tx:
        await alarm_watch.log_changes(tx, first.found or (), now=harness.now)
    second = AlarmWatch(platform)
    await second.check()  # verifies in an hour only
    assert second.found == first.found
    assert AlarmKind.LEDGER_BROKEN in {each.kind for each in second.found or ()}
    await more(harness, "-1")
    harness.now += timedelta(hours=1)
    await second.check()
    assert AlarmKind.LEDGER_BROKEN not in {each.kind for each in second.found or ()}


async def test_a_finding_is_an_alarm_until_no_job_finds_it_for_its_time(
    platform: Platform, harness: OrdersHarness
) -> None:
    finding = Finding(
        kind=AlarmKind.TREASURY_DIFFERS,
        subject="1FO",
        what="the treasury has more",
        lasts=timedelta(days=1),
    )
    for _ in range(2):
        async with harness.database.transaction() as tx:
            await tx.findings.add([finding], now=harness.now)
        (found,) = await list_alarms(platform, now=harness.now)
        assert (found.kind, found.subject, found.what) == (
            AlarmKind.TREASURY_DIFFERS,
            "1FO",
            "the treasury has more",
        )
        harness.now += timedelta(hours=23)
    harness.now += timedelta(hours=1)
    assert await kinds(platform) == []
