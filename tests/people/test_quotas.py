"""What one organization may have, and that fifty at once do not get more."""

import asyncio
import dataclasses
import hashlib
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from leyden.app.serving import idempotency
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Principal, Role
from leyden.base.rules.sign_in import Session
from leyden.base.settings import Settings
from leyden.errors import LeydenError, OverQuota, Stale, Taken, TooMany, TreasuryAway
from leyden.nodes import backups, resealing, restoring
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.resealing import BackupReplacement
from leyden.nodes.rules.nodes import Action
from leyden.people import accounts, api_keys, invitations, quotas, sign_in, team
from leyden.people.rows.keys import ENDED_KEPT
from leyden.people.rows.sessions import KEEP_NEWEST
from leyden.people.rules.quotas import MB, Limits, Quota
from leyden.values import replace
from tests.channels.orders_harness import HARBOUR, LIGHTHOUSE, OrdersHarness, request_of
from tests.channels.pausing_database import PausingDatabase
from tests.conftest import NOW
from tests.nodes.fleet_harness import OTHER_SHORE, FleetHarness
from tests.nodes.histories import history
from tests.people.plenty import PLENTY

AT_ONCE = 50
CIPHERTEXT = "U2FsdGVkX1" + "8fXfCSAuXDMxzUcLBjk7YhIfqVKZHFDYBbzfMo5lPkOVWD3mYbXGrN"


def few(limit: int, *of: Quota) -> Limits:
    """Let an organization have so many of these, and plenty of the rest."""
    return {**PLENTY, **dict.fromkeys(of, limit)}


async def tried(step: Callable[[], Awaitable[object]]) -> object:
    """Do it, again where somebody else was first; give what it said."""
    for _ in range(200):
        try:
            return await step()
        except Stale:
            await asyncio.sleep(0)
        except LeydenError as error:
            return error
    raise AssertionError("never settles")


async def at_once(step: Callable[[int], Awaitable[object]]) -> list[object]:
    """Do it fifty times at once; give what was refused."""
    said = await asyncio.gather(
        *(tried(partial(step, number)) for number in range(AT_ONCE))
    )
    return [each for each in said if isinstance(each, LeydenError)]


@pytest.fixture
async def fleet_harness(db: Database, sealer: Sealer, tmp_path: Path) -> FleetHarness:
    fleet_harness = FleetHarness(
        db, sealer, open_or_create(tmp_path / "authority", now=NOW)
    )
    await fleet_harness.found()
    return fleet_harness


def limited(fleet_harness: FleetHarness, limit: int, *of: Quota) -> None:
    rules = replace(fleet_harness.fleet.rules, quotas=few(limit, *of))
    fleet_harness.fleet = replace(fleet_harness.fleet, rules=rules)


@pytest.fixture
def platform(db: Database, sealer: Sealer) -> Platform:
    settings = Settings(
        keys_per_organization=3,
        invitations_per_organization=3,
        members_per_organization=3,
        idempotency_keys_per_organization=3,
    )
    return Platform(settings=settings, database=db, sealer=sealer, clock=lambda: NOW)


@pytest.fixture
async def organization_id(platform: Platform) -> str:
    made = await accounts.create_organization(platform, "Harbour", actor="test")
    return made.id


async def test_fifty_at_once_get_as_many_as_there_may_be(
    fleet_harness: FleetHarness,
) -> None:
    limited(fleet_harness, 3, Quota.NODES)
    refused = await at_once(lambda number: fleet_harness.create(f"light {number}"))
    assert len(refused) == AT_ONCE - 3
    (said,) = {str(each) for each in refused}
    assert said == (
        "quota: your organization has 3 of 3 nodes; delete a node, "
        "or ask the operator to raise the limit"
    )
    assert {type(each) for each in refused} == {OverQuota}
    assert len(await fleet_harness.fleet.database.reader.nodes.list_(HARBOUR)) == 3
    await fleet_harness.create(organization_id=OTHER_SHORE)


async def test_the_second_time_is_no_second_node(fleet_harness: FleetHarness) -> None:
    limited(fleet_harness, 1, Quota.NODES)
    key = uuid.uuid4()
    made = await fleet_harness.create(key=key)
    assert (await fleet_harness.create(key=key)).id == made.id
    with pytest.raises(Taken):
        await fleet_harness.create()


async def test_what_there_is_stays_when_the_limit_is_lowered(
    fleet_harness: FleetHarness,
) -> None:
    made = [await fleet_harness.create(f"light {number}") for number in range(3)]
    limited(fleet_harness, 1, Quota.NODES)
    with pytest.raises(OverQuota, match="has 3 of 1 nodes"):
        await fleet_harness.create("light 4")
    await fleet_harness.work()
    for each in made:
        assert (await fleet_harness.ask(each, Action.RESTART)).id == each.id


async def test_a_node_counts_until_its_lnd_has_ended(
    fleet_harness: FleetHarness,
) -> None:
    limited(fleet_harness, 1, Quota.NODES)
    node = await fleet_harness.running()
    await fleet_harness.ask(node, Action.DELETE)
    with pytest.raises(OverQuota):
        await fleet_harness.create("another light")
    await fleet_harness.work()
    assert (await fleet_harness.node(node.id)).is_gone
    await fleet_harness.create("another light")


async def test_who_creates_and_deletes_all_the_time_fills_no_disk(
    fleet_harness: FleetHarness,
) -> None:
    limited(fleet_harness, 2, Quota.NODES)
    for _ in range(4):
        await fleet_harness.ask(await fleet_harness.running(), Action.DELETE)
        await fleet_harness.work()
    with pytest.raises(OverQuota, match="4 nodes, including deleted nodes") as why:
        await fleet_harness.create()
    assert "expires at 2026-03-08T12:00" in str(why.value)
    await fleet_harness.later(days=8)
    await fleet_harness.create()


async def test_a_restored_node_counts_again(fleet_harness: FleetHarness) -> None:
    limited(fleet_harness, 1, Quota.NODES)
    deleted = await fleet_harness.running(name="first")
    await fleet_harness.ask(deleted, Action.DELETE)
    await fleet_harness.work()
    other = await fleet_harness.running(name="second")
    restored = partial(
        restoring.restore,
        fleet_harness.fleet,
        HARBOUR,
        deleted.id,
        None,
        actor="key:7",
        now=fleet_harness.now,
    )
    with pytest.raises(OverQuota, match="has 1 of 1 nodes"):
        await restored()
    assert (await fleet_harness.node(deleted.id)).is_gone
    await fleet_harness.ask(other, Action.DELETE)
    await fleet_harness.work()
    assert (await restored()).status == "stopped"


@pytest.fixture
def harness(harness: OrdersHarness) -> OrdersHarness:
    harness.rules = replace(harness.rules, quotas=few(3, Quota.UNPAID_ORDERS))
    return harness


async def test_fifty_at_once_get_as_many_invoices_as_orders(
    harness: OrdersHarness,
) -> None:
    refused = await at_once(lambda _: harness.create())
    assert len(refused) == AT_ONCE - 3
    assert {type(each) for each in refused} == {OverQuota}
    assert "3 of 3 unpaid orders; pay or cancel an order" in str(refused[0])
    assert len(harness.payments.requests) == 3  # no invoice, no address for the rest
    await harness.create(who=LIGHTHOUSE)


async def test_one_that_is_paid_makes_room(harness: OrdersHarness) -> None:
    orders = [await harness.create() for _ in range(3)]
    with pytest.raises(OverQuota):
        await harness.create()
    harness.payments.pay(request_of(orders[0]))
    await harness.settle_down()
    await harness.create()


async def test_one_that_expires_makes_room(harness: OrdersHarness) -> None:
    for _ in range(3):
        await harness.create()
    await harness.pass_time(minutes=61)
    await harness.create()


async def test_what_credit_or_an_account_covers_is_not_unpaid(
    harness: OrdersHarness,
) -> None:
    for _ in range(3):
        await harness.create()
    await harness.give_credit(100_000)
    await harness.create()
    assert len(harness.payments.requests) == 3


async def test_the_second_time_is_no_second_order(harness: OrdersHarness) -> None:
    for _ in range(2):
        await harness.create()
    order_id = f"{uuid.uuid4()}FO"
    made = await harness.create(order_id=order_id)
    assert await harness.create(order_id=order_id) == made


async def test_an_order_that_could_not_be_made_leaves_its_place(
    harness: OrdersHarness,
) -> None:
    harness.payments.away = True
    for _ in range(5):
        with pytest.raises(TreasuryAway):
            await harness.create()
    harness.payments.away = False
    for _ in range(3):
        await harness.create()


async def test_a_place_that_a_dead_program_left_is_free_after_a_while(
    harness: OrdersHarness,
) -> None:
    for number in range(3):
        await quotas.reserve_slot(
            harness.database,
            harness.rules.quotas,
            HARBOUR,
            f"{number}",
            lives=harness.rules.order_lives,
            now=harness.now,
        )
    with pytest.raises(OverQuota):
        await harness.create()
    await harness.pass_time(minutes=3)
    await harness.create()


async def test_who_loses_the_place_meanwhile_is_counted_again(
    harness: OrdersHarness,
) -> None:
    order_id = f"{uuid.uuid4()}FO"
    pausing = PausingDatabase(harness.database)

    async def others() -> None:
        """Let the place run out, and others take them all."""
        await quotas.release_slot(harness.database, order_id)
        for _ in range(3):
            await harness.create()

    async def the_place_is_kept() -> None:
        pausing.happens = others

    pausing.happens = the_place_is_kept
    late = dataclasses.replace(harness, database=pausing)  # noqa: TID251
    with pytest.raises(OverQuota):
        await late.create(order_id=order_id)
    assert await harness.database.reader.orders.find(order_id) is None


async def test_who_orders_and_cancels_all_the_time_has_to_wait(
    harness: OrdersHarness,
) -> None:
    for _ in range(12):
        await harness.cancel(await harness.create())
    with pytest.raises(TooMany, match="recently cancelled 12 unpaid orders") as why:
        await harness.create()
    assert why.value.retry_after_s == 3_600
    assert len(harness.payments.requests) == 12
    await harness.pass_time(minutes=61)
    await harness.create()


async def test_fifty_macaroons_at_once(fleet_harness: FleetHarness) -> None:
    limited(fleet_harness, 3, Quota.MACAROONS_PER_NODE)
    node = await fleet_harness.create()

    async def keep(number: int) -> None:
        await backups.keep_macaroon(
            fleet_harness.fleet,
            HARBOUR,
            node.id,
            f"{number}",
            CIPHERTEXT,
            actor="test",
            now=fleet_harness.now,
        )

    refused = await at_once(keep)
    assert {type(each) for each in refused} == {OverQuota}
    assert len(refused) == AT_ONCE - 3
    stored = await backups.macaroons(fleet_harness.fleet, HARBOUR, node.id)
    assert len(stored) == 3
    with pytest.raises(Taken):  # and not that there are too many
        await keep(int(stored[0].name))


async def test_the_history_of_replaced_ones_is_refused_and_not_forgotten(
    fleet_harness: FleetHarness,
) -> None:
    limited(fleet_harness, 0, Quota.REPLACED_BACKUPS_MB)
    node = await fleet_harness.create()
    await backups.keep_seed(
        fleet_harness.fleet,
        HARBOUR,
        node.id,
        CIPHERTEXT,
        actor="test",
        now=fleet_harness.now,
    )
    anew = BackupReplacement(
        name=None, replaces=_digest(CIPHERTEXT), value=CIPHERTEXT[::-1]
    )

    async def reseal() -> None:
        await resealing.reseal(
            fleet_harness.fleet,
            HARBOUR,
            node.id,
            [replace(anew, value=CIPHERTEXT + "AAAA")],
            actor="key:7",
            now=fleet_harness.now,
        )

    with pytest.raises(OverQuota, match="of 0 MB of replaced backups"):
        await reseal()
    _, stored = await backups.seed(fleet_harness.fleet, HARBOUR, node.id)
    assert stored == CIPHERTEXT  # nothing was half done
    limited(fleet_harness, 1, Quota.REPLACED_BACKUPS_MB)
    await reseal()
    (before,) = await history(
        fleet_harness.fleet, HARBOUR, node.id, now=fleet_harness.now
    )
    assert before.value == CIPHERTEXT
    size = await fleet_harness.fleet.database.reader.quotas.replaced_bytes(HARBOUR)
    assert len(CIPHERTEXT) < size < MB


async def test_backups_of_channels_are_never_refused(
    fleet_harness: FleetHarness,
) -> None:
    limited(fleet_harness, 0, *Quota)
    rules = replace(fleet_harness.fleet.rules, quotas=few(1, Quota.NODES))
    fleet_harness.fleet = replace(fleet_harness.fleet, rules=rules)
    node = await fleet_harness.create()
    limited(fleet_harness, 0, *Quota)
    fleet_harness.node_files.channel_backups[node.id] = b"encrypted by lnd"
    found = await backups.channels(fleet_harness.fleet, HARBOUR, node.id)
    assert found.content == b"encrypted by lnd"


async def test_fifty_keys_at_once(platform: Platform, organization_id: str) -> None:
    async def make(_: int) -> None:
        await api_keys.create(
            platform,
            organization_id,
            name="k",
            scopes=["node"],
            expires=None,
            actor="test",
        )

    refused = await at_once(make)
    assert [type(each) for each in refused] == [OverQuota] * (AT_ONCE - 3)
    assert "3 of 3 active API keys; revoke a key" in str(refused[0])
    assert len(await platform.database.reader.keys.list_(organization_id)) == 3


async def test_keys_that_have_ended_are_not_kept_without_end(
    platform: Platform, organization_id: str
) -> None:
    reader = platform.database.reader.keys
    for _ in range(ENDED_KEPT + 5):
        key, _ = await api_keys.create(
            platform,
            organization_id,
            name="k",
            scopes=["node"],
            expires=None,
            actor="test",
        )
        await api_keys.revoke(platform, organization_id, key.id, actor="test")
    assert len(await reader.list_(organization_id)) <= ENDED_KEPT + 1


async def test_fifty_invitations_at_once(
    platform: Platform, organization_id: str
) -> None:
    async def invite(number: int) -> None:
        await invitations.invite(
            platform,
            organization_id,
            email=f"{number}@example.org",
            role=Role.VIEWER,
            actor="test",
            now=NOW,
        )

    refused = await at_once(invite)
    assert [type(each) for each in refused] == [OverQuota] * (AT_ONCE - 3)
    open_ = await invitations.list_(platform, organization_id, now=NOW)
    assert len(open_) == 3
    for each in open_:
        await invitations.withdraw(
            platform, organization_id, each.id, actor="test", now=NOW
        )
    await invite(0)


async def test_an_organization_has_so_many_members(
    platform: Platform, organization_id: str
) -> None:
    for number in range(2):
        await accounts.create_user(
            platform,
            f"{number}@example.org",
            password=None,
            organization_id=organization_id,
            role=Role.VIEWER,
            actor="test",
        )
    made = [
        (
            await invitations.invite(
                platform,
                organization_id,
                email=f"{number}@example.org",
                role=Role.VIEWER,
                actor="test",
                now=NOW,
            )
        )[0]
        for number in (7, 8)
    ]
    password = "a lamp in the harbour"
    await invitations.enrol(platform, made[0], password, now=NOW)
    with pytest.raises(OverQuota, match="3 of 3 members"):
        await invitations.enrol(platform, made[1], password, now=NOW)
    assert len(await team.members(platform, organization_id)) == 3


async def test_a_person_has_so_many_sessions(
    platform: Platform, organization_id: str
) -> None:
    person = await accounts.create_user(
        platform,
        "alice@example.org",
        password=None,
        organization_id=organization_id,
        role=Role.OWNER,
        actor="test",
    )
    number = 0

    async def begun(*, is_complete: bool) -> Session:
        nonlocal number
        number += 1
        async with platform.database.transaction() as tx:
            session, _ = await sign_in.begin(
                platform,
                tx,
                person,
                is_complete=is_complete,
                address="198.51.100.7",
                browser="a test",
                now=NOW + timedelta(seconds=number),
            )
        return session

    for _ in range(KEEP_NEWEST + 3):
        last = await begun(is_complete=True)
    for _ in range(KEEP_NEWEST + 3):  # as anybody can who knows the password alone
        await begun(is_complete=False)
    found = await platform.database.reader.sessions.list_(person.id)
    complete = [each.id for each in found if each.is_complete]
    assert (len(complete), complete[0]) == (KEEP_NEWEST, last.id)
    assert len(found) == 2 * KEEP_NEWEST


async def test_so_many_answers_are_kept(
    platform: Platform, organization_id: str
) -> None:
    principal = Principal(organization_id, "7", frozenset())

    async def ask(number: int, later: timedelta = timedelta()) -> int:
        async def run() -> idempotency.Answer:
            return 200, b"{}"

        key = f"{number}".encode()
        status, _ = await idempotency.answer_once(
            platform, principal, key, key, now=NOW + later, run=run
        )
        return status

    assert [await ask(number) for number in range(3)] == [200] * 3
    with pytest.raises(TooMany, match="3 stored Idempotency-Keys") as why:
        await ask(3)
    assert why.value.retry_after_s == 86_400
    assert await ask(0) == 200  # what was answered is answered again
    assert await ask(3, timedelta(days=1)) == 200


async def test_the_operator_makes_one_for_one_organization(
    harness: OrdersHarness,
) -> None:
    harness.rules = replace(harness.rules, quotas=few(1, Quota.UNPAID_ORDERS))
    await quotas.change(
        harness.database,
        HARBOUR,
        {Quota.UNPAID_ORDERS: 2},
        actor="operator:alice",
        now=harness.now,
    )
    for _ in range(2):
        await harness.create()
    with pytest.raises(OverQuota, match="of 2 unpaid orders"):
        await harness.create()
    await harness.create(who=LIGHTHOUSE)
    with pytest.raises(OverQuota, match="of 1 unpaid orders"):
        await harness.create(who=LIGHTHOUSE)
    found = await quotas.usage(
        harness.database, harness.rules.quotas, HARBOUR, now=harness.now
    )
    unpaid = found[Quota.UNPAID_ORDERS]
    assert (unpaid.used, unpaid.limit, unpaid.default) == (2, 2, 1)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
