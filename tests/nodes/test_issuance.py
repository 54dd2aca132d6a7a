"""Certificates from an authority of others: when one is ordered, kept and served."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.http.parsing import PARSING
from leyden.base.tasks.steps import ClaimedTask
from leyden.base.tasks.work import Work
from leyden.errors import AuthorityAway, SetupError, Stale
from leyden.nodes import commands, issuance, views
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.certificates.expiry import validity
from leyden.nodes.certificates.roots import Roots
from leyden.nodes.fleet import CERTIFICATES, EVERYTHING
from leyden.nodes.issuance import ISSUANCE, Issuance
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.nodes import Action, Node
from leyden.values import replace
from tests.channels.pausing_database import PausingDatabase
from tests.conftest import NOW
from tests.fakes.issuer import WAIT, FakeIssuer
from tests.nodes.fleet_harness import CLAIM_FOR, HARBOUR, FleetHarness

API = "api.harbour.example"


class IssuanceHarness:
    """A fleet, and an authority that its nodes' certificates are had from."""

    def __init__(self, fleet_harness: FleetHarness, folder: Path) -> None:
        fleet_harness.fleet = replace(
            fleet_harness.fleet,
            rules=replace(fleet_harness.fleet.rules, issued=True),
            roots=Roots(str(folder / "root.pem")),
        )
        fleet_harness.begin_anew()
        self.fleet_harness = fleet_harness
        self.issuer = FakeIssuer(folder, now=fleet_harness.now)
        self.issuance = Issuance(
            database=fleet_harness.fleet.database,
            sealer=fleet_harness.fleet.sealer,
            clock=lambda: fleet_harness.now,
            issuer=self.issuer,
            fleet=fleet_harness.fleet,
        )

    async def look(self) -> None:
        """Look for names that want a certificate."""
        async with self.fleet_harness.fleet.database.transaction() as tx:
            await tx.tasks.put(CERTIFICATES, EVERYTHING, due=self.fleet_harness.now)
        await self._run(CERTIFICATES, partial(issuance.request_missing, self.issuance))

    async def obtain(self) -> int:
        """Take on what is due; give how many names that were."""
        self.issuer.now = self.fleet_harness.now
        return await self._run(ISSUANCE, partial(issuance.obtain, self.issuance))

    async def all_obtained(self) -> None:
        """Let every name come by its certificate."""
        await self.look()
        while await self.obtain():
            self.fleet_harness.now += WAIT

    async def due(self) -> timedelta | None:
        """Return in how long the next name is due."""
        due = await self.fleet_harness.fleet.database.reader.tasks.next_due(
            ISSUANCE, now=self.fleet_harness.now + timedelta(days=1_000)
        )
        return due - self.fleet_harness.now if due is not None else None

    async def _run(
        self, kind: str, step: Callable[[ClaimedTask], Awaitable[None]]
    ) -> int:
        async with self.fleet_harness.fleet.database.transaction() as tx:
            claims = await tx.tasks.claim(
                kind,
                now=self.fleet_harness.now,
                until=self.fleet_harness.now + CLAIM_FOR,
                limit=100,
            )
        for claim in claims:
            await step(Work(self.fleet_harness.fleet.database, claim))
        return len(claims)

    def served(self, node: Node) -> Tls:
        """Return what the node's lnd has in its folder."""
        return self.fleet_harness.runtime.homes[node.id].tls

    def ours(self, tls: Tls) -> bool:
        return self.fleet_harness.fleet.authority.issued(tls.chain_pem)

    def theirs(self, tls: Tls) -> bool:
        return self.issuer.authority.issued(tls.chain_pem)


@pytest.fixture
def issuance_harness(fleet_harness: FleetHarness, tmp_path: Path) -> IssuanceHarness:
    return IssuanceHarness(fleet_harness, tmp_path / "issuer")


async def restarted(fleet_harness: FleetHarness, node: Node) -> None:
    await fleet_harness.ask(await fleet_harness.node(node.id), Action.RESTART)
    await fleet_harness.work()


async def test_a_node_begins_with_ours_and_has_theirs_after_a_restart(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.all_obtained()
    assert issuance_harness.ours(issuance_harness.served(node))
    await restarted(fleet_harness, node)
    served = issuance_harness.served(node)
    assert issuance_harness.theirs(served)
    assert list(issuance_harness.issuer.orders.values()) == [node.api_endpoint]
    # Another start finds nothing newer.
    await restarted(fleet_harness, node)
    assert issuance_harness.served(node) == served


async def test_the_next_is_ordered_after_two_thirds_and_served_at_the_next_start(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.all_obtained()
    await restarted(fleet_harness, node)
    first = issuance_harness.served(node)
    assert await issuance_harness.obtain() == 0
    left = await issuance_harness.due()
    assert left is not None
    assert timedelta(days=59) < left < timedelta(days=61)
    fleet_harness.now += left
    await issuance_harness.all_obtained()
    assert issuance_harness.served(node) == first
    await restarted(fleet_harness, node)
    second = issuance_harness.served(node)
    assert issuance_harness.theirs(second)
    assert second.key_pem != first.key_pem
    assert validity(second.chain_pem).until > validity(first.chain_pem).until


async def test_one_that_has_ended_gives_way_to_ours(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.all_obtained()
    await restarted(fleet_harness, node)
    fleet_harness.now += timedelta(days=91)
    await restarted(fleet_harness, node)
    assert issuance_harness.ours(issuance_harness.served(node))


async def test_a_start_waits_for_nobody(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    issuance_harness.issuer.away = True
    await issuance_harness.look()
    node = await fleet_harness.running()
    await issuance_harness.look()
    with pytest.raises(AuthorityAway):
        await issuance_harness.obtain()
    await restarted(fleet_harness, node)
    assert issuance_harness.ours(issuance_harness.served(node))


async def test_whoever_died_goes_on_with_the_order_it_had(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    await fleet_harness.running()
    await issuance_harness.look()
    await issuance_harness.obtain()
    issuance_harness.issuer.away = True
    fleet_harness.now += WAIT
    with pytest.raises(AuthorityAway):
        await issuance_harness.obtain()
    issuance_harness.issuer.away = False
    fleet_harness.now += CLAIM_FOR
    await issuance_harness.all_obtained()
    assert len(issuance_harness.issuer.orders) == 1


async def test_an_answer_that_was_lost_is_fetched_with_the_same_key(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, db: Database
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.look()
    await issuance_harness.obtain()
    fleet_harness.now += WAIT
    row = await db.reader.issued.find(node.api_endpoint)
    assert row is not None
    async with db.transaction() as tx:
        claims = await tx.tasks.claim(
            ISSUANCE,
            now=fleet_harness.now,
            until=fleet_harness.now + CLAIM_FOR,
            limit=1,
        )
    work = Work(db, claims[0])
    fleet_harness.now += CLAIM_FOR
    other = await issuance_harness.obtain()  # somebody took over
    assert other == 1
    with pytest.raises(Stale):
        await issuance.obtain(issuance_harness.issuance, work)
    stored = await db.reader.issued.find(node.api_endpoint)
    assert stored is not None
    assert stored.key == row.order_key
    assert len(issuance_harness.issuer.orders) == 1


@pytest.mark.parametrize("answered", [True, False])
async def test_after_a_refusal_it_is_left_in_peace_longer_each_time(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, *, answered: bool
) -> None:
    node = await fleet_harness.running()
    issuance_harness.issuer.answered = answered
    if answered:
        issuance_harness.issuer.refused.add(node.api_endpoint)
    await issuance_harness.look()
    pauses: list[timedelta] = []
    while len(pauses) < 9:
        await issuance_harness.obtain()
        left = await issuance_harness.due()
        assert left is not None
        if left > WAIT:
            pauses.append(left)
        fleet_harness.now += left
    minutes = [pause / timedelta(minutes=1) for pause in pauses]
    assert minutes == [10, 20, 40, 80, 160, 320, 640, 1280, 1440]
    # It begins anew with the first that goes well.
    issuance_harness.issuer.answered = True
    issuance_harness.issuer.refused.clear()
    await issuance_harness.all_obtained()
    row = await fleet_harness.fleet.database.reader.issued.find(node.api_endpoint)
    assert row is not None
    assert row.refusals == 0


@pytest.mark.parametrize("away", [True, False])
async def test_who_says_when_to_come_back_is_believed(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, *, away: bool
) -> None:
    node = await fleet_harness.running()
    issuance_harness.issuer.away = away
    issuance_harness.issuer.refused.add(node.api_endpoint)
    issuance_harness.issuer.retry_after_s = 7_200
    await issuance_harness.look()
    await issuance_harness.obtain()
    assert await issuance_harness.due() == timedelta(hours=2)


async def test_a_chain_for_another_key_is_not_kept(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.look()
    await issuance_harness.obtain()
    fleet_harness.now += WAIT
    (url,) = issuance_harness.issuer.orders
    issuance_harness.issuer.hand_out(
        url, fleet_harness.fleet.authority.issue(node.api_endpoint, now=NOW)
    )
    await issuance_harness.obtain()
    row = await fleet_harness.fleet.database.reader.issued.find(node.api_endpoint)
    assert row is not None
    assert (row.chain, row.order_url, row.refusals) == (None, "", 1)


async def test_a_chain_is_read_beside_the_event_loop(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.look()
    await issuance_harness.obtain()
    fleet_harness.now += WAIT
    release = threading.Event()
    taken = asyncio.create_task(PARSING.run("alice", partial(release.wait, 30)))
    await asyncio.sleep(0)
    obtaining = asyncio.create_task(issuance_harness.obtain())
    try:
        done, _ = await asyncio.wait({obtaining}, timeout=0.2)
        assert not done, "it waits for the thread, while this loop goes on"
    finally:
        release.set()
        await asyncio.gather(taken, obtaining)
    row = await fleet_harness.fleet.database.reader.issued.find(node.api_endpoint)
    assert row is not None
    assert row.chain is not None


async def test_a_certificate_that_was_handed_in_is_left_alone(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.all_obtained()
    handed_in = open_or_create(tmp_path / "theirs", now=fleet_harness.now).issue(
        node.api_endpoint, now=fleet_harness.now
    )
    await renew(fleet_harness, node, handed_in)
    await fleet_harness.work()
    assert issuance_harness.served(node) == handed_in
    await issuance_harness.look()
    assert await issuance_harness.obtain() == 0
    fleet_harness.now += timedelta(days=80)
    await issuance_harness.obtain()
    await restarted(fleet_harness, node)
    assert issuance_harness.served(node) == handed_in
    # Until its owner asks for ours again.
    await renew(fleet_harness, node)
    await fleet_harness.work()
    assert issuance_harness.ours(issuance_harness.served(node))
    await issuance_harness.all_obtained()
    await restarted(fleet_harness, node)
    assert issuance_harness.theirs(issuance_harness.served(node))


async def test_one_that_is_handed_in_while_names_are_looked_for_is_left_alone(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    node = await fleet_harness.running()
    handed_in = open_or_create(tmp_path / "theirs", now=fleet_harness.now).issue(
        node.api_endpoint, now=fleet_harness.now
    )
    db, now = fleet_harness.fleet.database, fleet_harness.now
    async with db.transaction() as tx:
        await tx.tasks.put(CERTIFICATES, EVERYTHING, due=now)
        (claim,) = await tx.tasks.claim(
            CERTIFICATES, now=now, until=now + CLAIM_FOR, limit=1
        )
    late = PausingDatabase(db, partial(renew, fleet_harness, node, handed_in))
    await issuance.request_missing(issuance_harness.issuance, Work(late, claim))
    await fleet_harness.work()
    await issuance_harness.all_obtained()
    await restarted(fleet_harness, node)
    assert issuance_harness.served(node) == handed_in


async def test_who_asks_for_a_new_one_is_given_theirs(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.all_obtained()
    await renew(fleet_harness, node)
    chain = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    await fleet_harness.work()
    assert issuance_harness.theirs(issuance_harness.served(node))
    assert chain.startswith(issuance_harness.served(node).chain_pem)


async def test_what_is_given_to_trust_outlasts_the_change(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    ours, theirs = (
        fleet_harness.fleet.authority.root_pem,
        issuance_harness.issuer.authority.root_pem,
    )
    first = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    assert first == issuance_harness.served(node).chain_pem + ours
    await issuance_harness.all_obtained()
    second = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    assert second == issuance_harness.served(node).chain_pem + ours + theirs
    await restarted(fleet_harness, node)
    third = await views.certificate(fleet_harness.fleet, HARBOUR, node.id)
    assert third == issuance_harness.served(node).chain_pem + theirs + ours


async def test_nothing_is_asked_for_a_node_that_is_gone(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.all_obtained()
    await fleet_harness.ask(await fleet_harness.node(node.id), Action.DELETE)
    await fleet_harness.work()
    await issuance_harness.look()
    fleet_harness.now += timedelta(days=8)
    await fleet_harness.work()
    assert (
        await fleet_harness.fleet.database.reader.issued.find(node.api_endpoint) is None
    )
    fleet_harness.now += timedelta(days=60)
    assert await issuance_harness.obtain() == 1
    assert await issuance_harness.due() is None
    assert len(issuance_harness.issuer.orders) == 1


async def test_a_node_deleted_while_its_order_is_open_is_let_go(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.look()
    await issuance_harness.obtain()
    await fleet_harness.ask(await fleet_harness.node(node.id), Action.DELETE)
    fleet_harness.now += WAIT
    assert await issuance_harness.obtain() == 1
    assert (
        await fleet_harness.fleet.database.reader.issued.find(node.api_endpoint) is None
    )


async def test_the_api_has_a_name_of_its_own(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness
) -> None:
    issuance_harness.issuance = replace(
        issuance_harness.issuance, own_name=API, fleet=None
    )
    await issuance_harness.all_obtained()
    reader, sealer = fleet_harness.fleet.database.reader, fleet_harness.fleet.sealer
    tls = await issuance.newest(sealer, reader, API, now=fleet_harness.now)
    assert tls is not None
    assert issuance_harness.theirs(tls)
    ended = fleet_harness.now + timedelta(days=91)
    assert await issuance.newest(sealer, reader, API, now=ended) is None
    # Another name by now: the old one is let go.
    issuance_harness.issuance = replace(issuance_harness.issuance, own_name="")
    fleet_harness.now += timedelta(days=60)
    await issuance_harness.obtain()
    assert await reader.issued.find(API) is None


async def test_one_account_for_every_process(db: Database, sealer: Sealer) -> None:
    directory = "https://authority.test/dir"
    key = await issuance.account_key(db, sealer, directory)
    assert await issuance.account_key(db, sealer, directory) == key
    assert await issuance.account_key(db, sealer, directory + "2") != key
    stored = await db.reader.issued.account(directory)
    assert stored is not None
    assert key not in stored
    assert b"PRIVATE KEY" not in stored


async def test_nothing_is_written_beside_another_order(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, db: Database
) -> None:
    """As by somebody who slept while another took over, and gave up, and began anew."""
    node = await fleet_harness.running()
    await issuance_harness.look()
    name, one, other = node.api_endpoint, "https://a.test/1", "https://a.test/2"
    async with db.transaction() as tx:
        await tx.issued.set_order(name, other, key=b"sealed")
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.issued.set_order(name, one, key=b"sealed too")
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.issued.keep(name, one, chain=b"chain", until=fleet_harness.now)
    with pytest.raises(Stale):
        async with db.transaction() as tx:
            await tx.issued.end_order(name, one)
    row = await db.reader.issued.find(name)
    assert row is not None
    assert (row.order_url, row.order_key, row.chain) == (other, b"sealed", None)


async def test_keys_are_kept_sealed(
    issuance_harness: IssuanceHarness, fleet_harness: FleetHarness, db: Database
) -> None:
    node = await fleet_harness.running()
    await issuance_harness.look()
    await issuance_harness.obtain()
    begun = await db.reader.issued.find(node.api_endpoint)
    fleet_harness.now += WAIT
    await issuance_harness.obtain()
    done = await db.reader.issued.find(node.api_endpoint)
    assert begun is not None
    assert begun.order_key is not None
    assert b"PRIVATE KEY" not in begun.order_key
    assert done is not None
    assert done.key == begun.order_key
    stranger = Sealer(Keyring.new())
    with pytest.raises(SetupError):
        await issuance.newest(
            stranger, db.reader, node.api_endpoint, now=fleet_harness.now
        )


async def renew(
    fleet_harness: FleetHarness, node: Node, handed_in: Tls | None = None
) -> None:
    await commands.renew_certificate(
        fleet_harness.fleet,
        HARBOUR,
        node.id,
        actor="key:7",
        now=fleet_harness.now,
        certificate=handed_in.chain_pem.decode() if handed_in else "",
        key=handed_in.key_pem.decode() if handed_in else "",
    )
