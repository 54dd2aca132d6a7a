"""Local nodes belong to one home: every process of another one is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leyden.app.migration import migrate
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.base.tasks.rows.tasks import TaskClaim
from leyden.errors import Lost, SetupError
from leyden.nodes.fleet import EVERYTHING, NODE, OF_THE_HOME, WATCH
from leyden.nodes.rows.homes import Process
from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus
from leyden.nodes.rules.starts import Start
from leyden.nodes.wiring import adoption, identity, ownership
from leyden.nodes.wiring.ownership import registered
from tests.nodes.rules.nodes import a_node

MINUTE = timedelta(minutes=1)


@pytest.fixture
def given(tmp_path: Path, database_url: str) -> Settings:
    return settings(tmp_path / "home", database_url, tmp_path)


def settings(home: Path, database_url: str, shared: Path) -> Settings:
    return Settings(
        home=str(home),
        database_url=database_url,
        secrets_file=str(shared / "secrets.json"),
        metrics_port=0,
        testnet_chain="simnet",
        testnet_backend="neutrino",
        nodes_fence="off",
    )


@pytest.fixture
async def platform(given: Settings) -> AsyncIterator[Platform]:
    migrate(given)
    async with opened(given) as platform:
        yield platform


@asynccontextmanager
async def another(platform: Platform, home: Path) -> AsyncIterator[Platform]:
    """Open the same database from another home."""
    given = settings(
        home, platform.settings.database, platform.settings.secrets_path.parent
    )
    migrate(given)
    async with opened(given) as other:
        yield other


async def keep(platform: Platform, **changes: object) -> Node:
    node = a_node(
        NodeStatus.RUNNING,
        **{"process": "4711 88@boot /lnd", "launched_revision": 1, "host": "127.0.0.9"}
        | changes,
    )
    async with platform.database.transaction() as tx:
        await tx.accounts.add(
            Organization(id="harbour", name="Harbour Light", created=utc_now())
        )
        await tx.nodes.add(node)
    return node


async def refused(platform: Platform, why: str) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match=why):
            await stack.enter_async_context(registered(platform))


async def test_the_first_home_has_the_nodes_and_another_is_told_what_to_do(
    platform: Platform, tmp_path: Path
) -> None:
    async with registered(platform):
        pass
    async with another(platform, tmp_path / "other") as other:
        await refused(other, "belong to another home.*Kubernetes")
    async with registered(platform):
        pass


async def test_who_runs_no_nodes_needs_no_home(platform: Platform) -> None:
    given = Settings(
        home="/nowhere", database_url=platform.settings.database, metrics_port=0
    )
    async with registered(
        Platform(
            settings=given,
            database=platform.database,
            sealer=platform.sealer,
            clock=platform.clock,
        )
    ):
        assert await platform.database.reader.homes.find() is None


async def test_a_home_from_before_takes_its_nodes_if_it_has_their_folders(
    platform: Platform, tmp_path: Path
) -> None:
    node = await keep(platform)
    async with another(platform, tmp_path / "other") as other:
        await refused(other, "1 nodes of this database have no folder")
    await refused(platform, f"no folder in .*, such as {node.id}")
    (platform.settings.home_path / "nodes" / node.id).mkdir(parents=True)
    async with registered(platform):
        pass


async def test_a_copy_is_refused_and_a_folder_that_was_renamed_is_not(
    platform: Platform, tmp_path: Path
) -> None:
    async with registered(platform):
        pass
    home = platform.settings.home_path
    home.rename(tmp_path / "renamed")
    home.symlink_to(tmp_path / "renamed")
    async with registered(platform):
        pass
    stored = home / identity.FILE
    copy = home / "copy"
    copy.write_bytes(stored.read_bytes())
    copy.rename(stored)
    await refused(platform, "is a copy of the home .* `leyden data-dir adopt`")


async def test_another_authority_is_refused(platform: Platform, tmp_path: Path) -> None:
    async with registered(platform):
        pass
    home = platform.settings.home_path
    (home / "authority").rename(tmp_path / "lost")
    migrate(platform.settings)
    await refused(platform, "not the authority that clients .* --new-authority")
    with pytest.raises(SetupError, match="new-authority"):
        await adopted(platform)
    await adopted(platform, new_authority=True)
    async with registered(platform):
        pass


async def claimed_watch(
    platform: Platform, process_id: str, *, now: datetime
) -> TaskClaim | None:
    """Claim what a process watches nodes by, if it may."""
    async with platform.database.transaction() as tx:
        await tx.tasks.put(WATCH, EVERYTHING, due=now)
        until = now + MINUTE
        found = await tx.tasks.claim(
            WATCH, now=now, until=until, limit=1, holder=process_id
        )
    return found[0] if found else None


async def adopted(platform: Platform, **how: bool) -> adoption.HomeComparison:
    return await adoption.adopt(
        platform,
        **{"new_authority": False, "start_empty": False} | how,
        actor="operator:alice",
    )


async def test_an_adopted_home_has_the_nodes_and_whoever_had_them_has_nothing(
    platform: Platform, tmp_path: Path
) -> None:
    node = await keep(platform)
    (platform.settings.home_path / "nodes" / node.id).mkdir(parents=True)
    now = utc_now()
    async with registered(platform) as before:
        shard = await claimed_watch(platform, before, now=now)
        assert shard is not None
    async with another(platform, tmp_path / "moved") as moved:
        migrate(moved.settings)
        await adopted(moved, new_authority=True)
        async with registered(moved) as after:
            async with platform.database.transaction() as tx:
                with pytest.raises(Lost):
                    await tx.tasks.lock(shard)
            assert await claimed_watch(platform, before, now=now) is None
            taken = await claimed_watch(moved, after, now=now)
            assert taken is not None
            assert taken.fence > shard.fence
    await refused(platform, "belong to another home")
    line, *_ = await platform.database.reader.audit.latest(limit=1)
    assert line.action == "home adopted"


async def test_nodes_whose_wallets_are_lost_start_empty_if_that_is_said(
    platform: Platform,
) -> None:
    lost = await keep(platform, has_wallet=True)
    existing = a_node(
        NodeStatus.STOPPED,
        id="there",
        name="there",
        slot=8,
        api_endpoint="there",
        has_wallet=True,
        host="127.0.0.8",
        wanted=DesiredState.STOPPED,
    )
    async with platform.database.transaction() as tx:
        await tx.nodes.add(existing)
    wallet = platform.settings.home_path / "nodes/there/lnd/data/chain/bitcoin/simnet"
    wallet.mkdir(parents=True)
    (wallet / "wallet.db").touch()
    found = await adopted(platform)
    assert [each.id for each in found.without_wallet] == [lost.id]
    node = await platform.database.reader.nodes.get(lost.id)
    assert node == lost, "nothing changes unless it is said"
    found = await adopted(platform, start_empty=True)
    assert not found.without_wallet
    node = await platform.database.reader.nodes.get(lost.id)
    assert (node.has_wallet, node.process, node.wanted) == (
        False,
        "",
        DesiredState.RUNNING,
    )
    assert (await platform.database.reader.nodes.get("there")) == existing
    due = await platform.database.reader.tasks.next_due(NODE, now=utc_now())
    assert due is not None


async def test_a_copy_of_a_nodes_folder_starts_once_an_operator_has_said_so(
    platform: Platform,
) -> None:
    failed = await keep(platform, has_wallet=True, process="", crashes=9)
    with pytest.raises(SetupError, match="was never started"):
        await adoption.accept(platform, failed.id, actor="ops")
    async with platform.database.transaction() as tx:
        await tx.node_starts.save(failed.id, Start(number=3, copy="7"))
    await adoption.accept(platform, failed.id, actor="ops")
    assert await platform.database.reader.node_starts.get(failed.id) == Start(3, "")
    assert (await platform.database.reader.nodes.get(failed.id)).crashes == 0
    line, *_ = await platform.database.reader.audit.latest(limit=1)
    assert line.action == "copy of a node accepted"
    async with platform.database.transaction() as tx:
        await tx.node_starts.save(failed.id, Start(number=4, copy="8"))
    await adopted(platform, accept_copies=True)
    assert await platform.database.reader.node_starts.get(failed.id) == Start(4, "")


class TestOnPostgres:
    """Where several processes may run on one home."""

    @pytest.fixture
    def database_url(self, postgres_url: str) -> str:
        return postgres_url

    async def test_each_is_known_until_it_leaves(self, platform: Platform) -> None:
        async with registered(platform), registered(platform):
            assert len(await platform.database.reader.homes.processes()) == 2
        assert await platform.database.reader.homes.processes() == []

    @pytest.fixture
    def patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ownership, "SILENT", timedelta(seconds=1))

    @pytest.mark.usefixtures("patience")
    async def test_who_cannot_be_seen_is_waited_for_and_refused_if_it_lives(
        self, platform: Platform
    ) -> None:
        async with registered(platform):
            pass
        silent = Process(
            id="silent",
            session="another boot",
            host="harbour",
            pid=4711,
            beat=0,
            until=utc_now() + MINUTE,  # by a clock that need not be ours
        )
        async with platform.database.transaction() as tx:
            await tx.homes.enter(silent, delete_before=utc_now())
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with registered(platform):
            assert loop.time() - began >= 1
            async with platform.database.transaction() as tx:
                await tx.homes.enter(silent, delete_before=utc_now())

            async def live() -> None:
                while True:
                    async with platform.database.transaction() as tx:
                        await tx.homes.heartbeat("silent", until=utc_now())
                    await asyncio.sleep(0.2)

            living = asyncio.create_task(live())
            await refused(platform, "in use by process 4711 on harbour, in another")
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)

    async def test_who_has_lost_the_home_is_not_said_to_live(
        self, platform: Platform
    ) -> None:
        async with (
            registered(platform) as ours,
            platform.database.transaction() as tx,
        ):
            later = utc_now() + MINUTE
            assert await tx.homes.heartbeat(ours, until=later)
            known = await tx.homes.find()
            assert known is not None
            await tx.homes.take(known, kinds=OF_THE_HOME)
            assert not await tx.homes.heartbeat(ours, until=later)


def test_the_identity_is_made_once_and_checked(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="run `leyden migrate`"):
        identity.read(tmp_path)
    identity.ensure(tmp_path)
    first = identity.read(tmp_path)
    identity.ensure(tmp_path)
    assert identity.read(tmp_path) == first
    assert (tmp_path / identity.FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / identity.FILE).write_text("harbour\n")
    with pytest.raises(SetupError, match="restore it from your backup"):
        identity.read(tmp_path)
