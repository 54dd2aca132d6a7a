"""A home of the last release is migrated, read and run; no node is restarted.

See `old_home`: the home is as the release with schema 0007 wrote it.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.base import processes
from leyden.base.database import schema_check
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.channels.books.verify import verify
from leyden.channels.rules import ledger
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.services import TICKET
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.local.census import lnds
from leyden.people import api_keys, sign_in
from tests.channels.orders_harness import OrdersHarness
from tests.nodes.api.nodes.conftest import CIPHERTEXT
from tests.nodes.contracts.runtimes import install_stand_in
from tests.ports import free_port
from tests.upgrade.old_home import OldHome, call

# After everything that the last release did to its orders.
LATER = datetime(2026, 11, 22, 13, 50, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, memory_path: Path) -> str:
    """A database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{memory_path}/old.db"
    url: str = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return url


@pytest.fixture
def old(tmp_path: Path, database_url: str) -> OldHome:
    return OldHome(tmp_path / "home", database_url, rest_port=free_port())


@pytest.fixture
def given(old: OldHome) -> Settings:
    return Settings(
        home=str(old.folder),
        database_url=old.database_url,
        api_port=free_port(),
        gateway_rest_port=free_port(),
        gateway_grpc_port=free_port(),
        node_rest_port=old.rest_port,
        nodes_addresses="127.77.0.0/16",
        nodes_fence="off",
        nodes_cgroups="off",
        metrics_port=0,
        testnet_chain="simnet",
        testnet_backend="neutrino",
    )


@pytest.fixture
async def platform(old: OldHome, given: Settings) -> AsyncIterator[Platform]:
    """What was written then, migrated and opened by the code of today."""
    old.write_files()
    old.write_rows()
    assert migrate(given) == schema_check.newest()
    assert migrate(given) == schema_check.newest()
    async with opened(given) as platform:
        yield platform


async def test_the_books_are_right_and_orders_go_on(
    old: OldHome, platform: Platform
) -> None:
    database, shown = platform.database, old.shown
    assert await verify(database) == []
    assert dict(await database.reader.ledger.sums()) == shown["sums"]
    found = {order.id: order for order in await database.reader.orders.all_()}
    assert {each.id: each.status for each in found.values()} == {
        each["id"]: each["status"] for each in shown["orders"].values()
    }
    harness = OrdersHarness(
        database,
        platform.sealer,
        market=SimulatedMarket(old.folder / "market.json"),
        now=LATER,
    )
    for name in ("created", "submitted", "filled", "owed"):
        ticket = await harness.ticket(found[shown["orders"][name]["id"]])
        assert ticket in old.kept["files"]["market.json"]
    creating = found[shown["orders"]["creating"]["id"]]
    await harness.work(TICKET)
    assert await harness.status(creating) is OrderStatus.CREATED
    await harness.cancel(creating, who=shown["organization"])
    await harness.cancel(
        found[shown["orders"]["created"]["id"]], who=shown["organization"]
    )
    await harness.settle_down()
    credit = ledger.credit(shown["organization"])
    freed = shown["sums"][credit] + creating.total_fee + creating.total_fee
    assert await database.reader.ledger.balance(credit) == freed
    assert await verify(database) == []


async def test_keys_and_passwords_open_what_they_opened(
    old: OldHome, platform: Platform
) -> None:
    key = old.shown["key"]
    principal = await api_keys.authenticate(platform, key, now=LATER)
    assert principal.organization_id == old.shown["organization"]
    session, _ = await sign_in.sign_in(
        platform,
        "alice@example.com",
        "correct horse battery",
        address="127.0.0.1",
        browser="of the last release",
        now=LATER,
    )
    assert session.is_complete


async def test_running_nodes_are_adopted_and_none_is_restarted(
    old: OldHome, given: Settings, tmp_path: Path
) -> None:
    """Nor does one start that was stopped; what was shown of them is shown."""
    lnd = install_stand_in(tmp_path)
    started: list[Version] = []

    async def none_starts(version: Version) -> Path:
        started.append(version)
        return lnd

    old.write_files()
    root = old.kept["files"]["authority/root.pem"]
    async with AsyncExitStack() as stack:
        ran = [
            await stack.enter_async_context(old.running(name, lnd))
            for name in ("harbour light", "waiting")
        ]
        old.write_rows()
        migrate(given)
        stack.callback(_end_gateway, old.folder)
        await stack.enter_async_context(running(given, binary=none_starts))
        for name, shown in old.shown["nodes"].items():
            _compare(await _get(old, given, name), shown)
        for stored in ("seed", "macaroon/admin"):
            backup = await _get(old, given, "harbour light", stored)
            assert CIPHERTEXT in backup.values()
        light = old.nodes["harbour light"]["api_endpoint"]
        gateway = f"https://127.0.0.1:{given.gateway_rest_port}/v1/state"
        state = await call(gateway, None, name=light, root_pem=root)
        assert state == {"state": "SERVER_ACTIVE"}
        await old.call("waiting", "/v1/initwallet", {})
        async with asyncio.timeout(30):
            while (await _get(old, given, "waiting"))["status"] != "running":
                await asyncio.sleep(0.02)
        assert started == []
        assert all(processes.alive(each) for each in ran)
        assert lnds(old.folder / "nodes").total() == len(ran)
    assert (old.folder / "authority" / "root.pem").read_text() == root


async def _get(
    old: OldHome, given: Settings, name: str, of_it: str = ""
) -> dict[str, Any]:
    """Return what the API shows of a node."""
    node = f"nodes/{old.nodes[name]['id']}"
    path = f"/organizations/{old.shown['organization']}/{node}/{of_it}".rstrip("/")
    async with (
        aiohttp.ClientSession(headers={"X-SERVICE-AUTH": old.shown["key"]}) as session,
        session.get(f"http://127.0.0.1:{given.api_port}{path}") as answer,
    ):
        assert answer.status == 200, await answer.text()
        shown: dict[str, Any] = await answer.json()
        return shown


def _compare(shown: dict[str, Any], before: dict[str, Any]) -> None:
    """Compare what is shown of a node, but for what a release adds or is about."""
    may_change = {"settings", "service_version", "update_available"}
    assert before["settings"].items() <= shown["settings"].items()
    for name in before.keys() - may_change:
        assert shown[name] == before[name], name


def _end_gateway(home: Path) -> None:
    if held := processes.holder(home / "gateway" / "claim"):
        processes.signal(held, signal.SIGKILL)
