"""Whatever a form does: who lost the right to it while it was on its way does nothing.

Each page of an organization that changes something is asked, and the database is
compared before and after. A page that is added to the table is asked for its form here.
"""

import json
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

import pytest

from leyden.app.page_table import PAGES
from leyden.base.database.database import open_database
from leyden.base.database.every_table import metadata
from leyden.base.database.statements import Row, Statement
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Membership, Role
from leyden.base.rules.sign_in import Right
from leyden.base.rules.units import Sats
from leyden.channels import orders
from leyden.channels.holding import fill
from leyden.channels.money import corrections, credit
from leyden.channels.rules import ledger
from leyden.channels.rules.leases import Lease
from leyden.channels.rules.orders import OrderEvent, advance
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import ChannelServices, ChannelSettings
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.channels.unit_of_work import UnitOfWork
from leyden.channels.wiring.channels import SOURCES
from leyden.values import replace
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor
from tests.channels.pages.test_channels import ONCE, WISH, ordered
from tests.channels.pausing_database import PausingDatabase
from tests.conftest import NOW
from tests.fakes.payments import FakePayments
from tests.fakes.seller import FakeSeller
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import filled, made
from tests.nodes.pages.test_wallet import ciphertext
from tests.people.pages.test_team import user_id
from tests.people.plenty import PLENTY

HERE = "/app/{organization_id}"
NODE = f"{HERE}/nodes/{{node_id}}"
ORDER = f"{HERE}/channels/{{order_id}}"
ENDPOINT = f"{HERE}/events/endpoints/{{subscription_id}}"
URL = "https://hooks.harbour.test/leyden"
SEED = ciphertext()
NODE_KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
ANOTHER = "9d1f5c80-7a44-4c39-9a0e-0c1f2b7d9e55"
FORMS: Mapping[str, Mapping[str, str]] = {
    f"{HERE}/channels/new": {**WISH, "once": ANOTHER},
    f"{ORDER}/cancel": {},
    f"{ORDER}/extend": {"blocks": "2016 6999", "once": ANOTHER},
    f"{ORDER}/auto-extend": {"blocks": "2016", "max_fee": "7000"},
    f"{HERE}/credit": {"coupon": "{coupon}", "once": ANOTHER},
    f"{HERE}/keys": {"name": "backend", "scope": "node", "once": ANOTHER},
    f"{HERE}/keys/revoke": {"key": "{key}"},
    f"{HERE}/team/invite": {"email": "x@example.org", "role": "viewer"},
    f"{HERE}/team/withdraw": {"invitation": "{invitation}"},
    f"{HERE}/team/role": {"user": "{dora}", "role": "viewer"},
    f"{HERE}/team/remove": {"user": "{dora}"},
    f"{HERE}/nodes/new": filled("pier", once=ANOTHER),
    f"{NODE}/start": {},
    f"{NODE}/stop": {},
    f"{NODE}/restart": {},
    f"{NODE}/update": {"version": "v0.20.2-beta"},
    f"{NODE}/delete": {"name": "harbour light"},
    f"{NODE}/restore": {},
    f"{NODE}/settings": {"alias": "pier", "was-alias": "harbour light"},
    f"{NODE}/whitelist": {"whitelist": "203.0.113.9"},
    f"{NODE}/whitelist/mine": {},
    f"{NODE}/webhook": {"webhook": f"{URL}/another"},
    f"{NODE}/webhook/test": {},
    f"{NODE}/webhook/rotate-secret": {},
    f"{NODE}/webhook/redeliver": {"delivery": "{delivery}"},
    f"{HERE}/events/endpoints": {"url": URL, "which": "all", "once": ANOTHER},
    ENDPOINT: {"url": f"{URL}/another", "which": "some", "type": "order.*"},
    f"{ENDPOINT}/pause": {},
    f"{ENDPOINT}/resume": {},
    f"{ENDPOINT}/test": {},
    f"{ENDPOINT}/redeliver": {"delivery": "{sent}"},
    f"{ENDPOINT}/resend": {"after": ""},
    f"{ENDPOINT}/rotate-secret": {},
    f"{ENDPOINT}/delete": {},
    f"{NODE}/wallet/backups": {"kind": "macaroon", "name": "a", "value": ciphertext()},
    f"{NODE}/wallet/backups#seed": {"kind": "seed", "value": SEED},
    f"{NODE}/wallet/reseal": {
        "anew": json.dumps(
            [
                {
                    "kind": "seed",
                    "name": "",
                    "value": ciphertext(),
                    "replaces": sha256(SEED.encode()).hexdigest(),
                }
            ]
        )
    },
}
# Buttons of a private chain, which change nothing in the database.
OF_THE_CHAIN = {
    f"{HERE}/private-chain/mine",
    f"{HERE}/private-chain/pay",
    f"{ORDER}/simulate-payment",
}
# What a look at a page changes, and what a test does to the one who acts.
APART = ("session", "membership")


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[PausingDatabase]:
    """Both: which of two comes first is decided by each in its own way."""
    database = await open_database(database_url)
    yield PausingDatabase(database)
    await database.close()


@pytest.fixture
def platform(platform: Platform) -> Platform:
    payments = FakePayments()
    channels = ChannelServices(
        database=platform.database,
        sealer=platform.sealer,
        payments=payments,
        sources=SOURCES,
        treasury=payments,
        market=SimulatedMarket(),
        seller=FakeSeller(),
        clock=platform.clock,
        rules=ChannelSettings(quotas=PLENTY),
    )
    return replace(platform, channels=channels)


@pytest.fixture
async def ids(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> dict[str, str]:
    """What is Alice's, and Dora's who is an owner too."""
    of = alice.organization_id
    await person(platform, alice.site, "dora", of, Role.OWNER)
    node = await made(alice, fleet_harness)
    await alice.submit(f"{node}/webhook", {"webhook": URL})
    await alice.submit(f"{node}/webhook/test")
    shown = (await alice.get(f"{node}/webhook")).text
    endpoints = f"{alice.root}/events/endpoints"
    endpoint = {"url": URL, "which": "all", "once": ONCE}
    assert (await alice.submit(endpoints, endpoint)).status == 200
    assert (await alice.submit(f"{endpoints}/{ONCE}S/test")).status == 303
    sent = (await alice.get(f"{endpoints}/{ONCE}S")).text
    order = await ordered(alice)
    key = {"name": "first", "scope": "node", "once": ONCE}
    assert (await alice.submit(f"{alice.root}/keys", key)).status == 200
    invite = {"email": "y@example.org", "role": "viewer"}
    await alice.submit(f"{alice.root}/team/invite", invite)
    (coupon,) = await credit.issue_coupons(
        platform.database,
        sats=21_000,
        count=1,
        organization_id=None,
        expires=None,
        note="",
        actor="test",
        now=NOW,
    )
    reader = platform.database.reader
    return {
        "organization_id": of,
        "node_id": node.rpartition("/")[2],
        "order_id": order.rpartition("/")[2],
        "subscription_id": f"{ONCE}S",
        "sent": re.findall(r'name="delivery" value="(test_\w+)"', sent)[0],
        "coupon": coupon.id,
        "key": (await reader.keys.list_(of))[0].id,
        "invitation": (await reader.invitations.list_(of, now=NOW))[0].id,
        "dora": await user_id(platform, "dora"),
        "delivery": re.findall(r'name="delivery" value="(msg_\w+)"', shown)[0],
    }


async def leased(platform: Platform, of: str) -> str:
    """Return an order whose channel is open, with credit for a longer lease."""
    assert platform.channels is not None
    seller, order_id = platform.channels.seller, f"{uuid.uuid4()}FO"
    assert isinstance(seller, FakeSeller)
    seller.fill([3_000_000])
    wanted = Channel(capacity=Sats(1_000_000), node_key=NODE_KEY)
    await corrections.correct(
        platform.database,
        of,
        corrections.Correction.CREDIT,
        sats=40_000,
        reason="for a channel",
        actor="operator:alice",
        key=order_id,
        now=NOW,
    )
    await orders.create(platform.channels, of, order_id, wanted, actor="test", now=NOW)
    lease = Lease(
        channel_point=f"{'5f' * 32}:0",
        premium=Sats(4_999),
        execution_fee=Sats(0),
        chain_fee=Sats(1_540),
        self_chan_balance=Sats(0),
        node=NODE_KEY,
        peer=seller.pubkey,
        height=seller.height,
    )
    async with platform.database.transaction() as tx:
        work = await UnitOfWork.load(tx, [order_id], now=NOW, lock_organizations=True)
        asked = work.move(advance(work.order(order_id), OrderEvent.ASKED))
        fill(work, asked, lease, account=ledger.SELLER, payee="channel")
        await work.flush(tx)
    return order_id


def fill_in(text: str, ids: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], text)


async def everything(platform: Platform) -> dict[str, list[Row]]:
    run, rows = platform.database.reader.accounts._run, {}
    for table in metadata.sorted_tables:
        if table.name not in APART:
            sql = f"SELECT * FROM {table.name}"  # noqa: S608  names of our own
            rows[table.name] = await run(Statement(sql))
    return {name: sorted(found, key=repr) for name, found in rows.items()}


def meanwhile(
    platform: Platform, of: str, role: Role | None
) -> Callable[[], Awaitable[object]]:
    """Let Alice have another role, or none."""

    async def happen() -> None:
        alice = await user_id(platform, "alice")
        async with platform.database.transaction() as tx:
            await tx.accounts.lock(of)
            if role is None:
                await tx.people.leave(of, alice)
                return
            await tx.accounts.join(
                Membership(organization_id=of, user_id=alice, role=role, created=NOW)
            )

    return happen


def test_each_page_that_changes_something_is_asked() -> None:
    pages = {
        page.path
        for page in PAGES
        if page.method == "POST" and isinstance(page.needs, Right)
    }
    assert pages - OF_THE_CHAIN == {path.partition("#")[0] for path in FORMS}


@pytest.mark.parametrize("path", FORMS)
async def test_who_lost_the_right_meanwhile_does_nothing(
    alice: Visitor,
    platform: Platform,
    ids: dict[str, str],
    db: PausingDatabase,
    fleet_harness: FleetHarness,
    path: str,
) -> None:
    of = alice.organization_id
    if path.endswith("extend"):
        ids["order_id"] = await leased(platform, of)
    at = fill_in(path.partition("#")[0], ids)
    fields: dict[str, Any] = {
        name: value if name == "anew" else fill_in(value, ids)
        for name, value in FORMS[path].items()
    }
    if path.endswith("/start"):
        await alice.submit(f"{at.removesuffix('start')}stop")
        await fleet_harness.work()
    if path.endswith("/restore"):
        name = {"name": "harbour light"}
        await alice.submit(f"{at.removesuffix('restore')}delete", name)
        await fleet_harness.work()
    if path.endswith("/reseal"):
        stored = {"kind": "seed", "value": SEED}
        await alice.submit(f"{at.removesuffix('reseal')}backups", stored)
    for role, status in ((None, 404), (Role.VIEWER, 403)):
        await meanwhile(platform, of, Role.OWNER)()
        await alice.get(f"{alice.root}/usage")
        before = await everything(platform)
        db.happens = meanwhile(platform, of, role)
        refused = await alice.submit(at, {**fields})
        assert db.happens is None, "no transaction: nothing looks at rights"
        assert (refused.status, path) == (status, path)
        assert "usage" not in refused.text or role is not None
        assert await everything(platform) == before
    await meanwhile(platform, of, Role.OWNER)()
    await alice.get(f"{alice.root}/usage")
    done = await alice.submit(at, {**fields})
    assert done.status in {200, 303}, done.text
    assert await everything(platform) != before
