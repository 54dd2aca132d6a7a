"""Installations with backups: real restic and age, a real database, a store.

One home, with its store and its first backup, is made for all tests of a process;
each test has a copy.
"""

import asyncio
import contextlib
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from leyden.app.migration import migrate
from leyden.backups import backup_files, running
from leyden.backups.backup_files import Programs
from leyden.backups.store import recovery
from leyden.backups.store.store import Store
from leyden.backups.wiring import backup_setup, restoring
from leyden.backups.wiring.restored import Restored
from leyden.base.database.stores import Stores
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Person
from leyden.base.rules.sign_in import Session
from leyden.base.settings import Settings, load
from leyden.channels.tickets.simulated import SimulatedMarket
from leyden.nodes.backups import seed_purpose
from tests.backups.quick_keys import make_quick
from tests.channels.orders_harness import HARBOUR, PRICE, OrdersHarness
from tests.nodes.rules.nodes import a_node
from tests.programs import built

Result = TypeVar("Result")
NODE = a_node().id


@dataclass(frozen=True)
class StoredHome:
    """A home, its store, and the recovery key."""

    folder: Path
    programs: Programs
    more: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def key_file(self) -> Path:
        return self.folder / "recovery.key"

    @property
    def files(self) -> Path:
        return self.folder / "store"

    @property
    def given(self) -> Settings:
        return self.settings("home")

    @property
    def store(self) -> Store:
        return backup_files.store(self.given, self.programs)

    def settings(self, home: str, **more: str) -> Settings:
        return load(
            {
                "LEYDEN_HOME": str(self.folder / home),
                "LEYDEN_BACKUP_STORE": str(self.files),
                **self.more,
                **more,
            }
        )

    async def on(self, step: Callable[[Platform], Awaitable[Result]]) -> Result:
        async with opened(self.given) as platform:
            return await step(platform)

    async def restore(
        self,
        home: str = "new",
        *,
        wanted: str = "latest",
        revoke_keys_as: str = "",
        **more: str,
    ) -> Restored:
        given, key = self.settings(home, **more), recovery.read(self.key_file)
        return await restoring.restore(
            given, self.programs, key, wanted=wanted, revoke_keys_as=revoke_keys_as
        )

    async def run(self) -> None:
        await self.on(lambda platform: running.run(platform, self.programs))

    def damage(self, path: Path) -> None:
        """Flip one bit in the middle of a file."""
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.chmod(0o600)
        path.write_bytes(content)


@pytest.fixture(scope="session")
def programs() -> Programs:
    built("restic", "age", "age-keygen")
    return asyncio.run(backup_files.programs(os.environ))


async def fill(platform: Platform) -> None:
    """Sell a channel for credit, and store a node with a seed."""
    market = SimulatedMarket(platform.settings.home_path / "tickets.json")
    harness = OrdersHarness(platform.database, platform.sealer, market=market)
    harness.now = platform.clock()
    await harness.open()
    await harness.give_credit(2 * PRICE)
    await harness.create()
    await harness.settle_down()
    async with platform.database.transaction() as tx:
        await add_node(tx, platform)
        await sign_in(tx, platform.clock())


async def add_node(tx: Stores, platform: Platform) -> None:
    node = a_node(organization_id=HARBOUR)
    await tx.nodes.add(node)
    sealed = platform.sealer.seal(b"ciphertext", purpose=seed_purpose(node.id))
    await tx.backups.add_seed(node.id, sealed, now=platform.clock())


async def sign_in(tx: Stores, now: datetime) -> None:
    ada = Person(id="ada", email="ada@example.org", created=now)
    await tx.accounts.add_person(ada, password=None)
    session = Session(
        id="phone",
        user_id=ada.id,
        created=now,
        last_seen=now,
        expires=now + timedelta(days=1),
        is_complete=True,
        address="192.0.2.7",
        browser="a phone",
    )
    await tx.sessions.add(session, digest=b"cookie")


async def made(folder: Path, programs: Programs, **more: str) -> StoredHome:
    """Make an installation with something in it, its store and a backup."""
    case = StoredHome(folder=folder, programs=programs, more=more)
    case.home.mkdir(mode=0o700)
    macaroon = folder / "treasury.macaroon"
    macaroon.write_bytes(b"\x01macaroon")
    line = f'treasury_macaroon = "{macaroon}"\n'
    (case.home / "leyden.toml").write_text(line)
    await asyncio.to_thread(migrate, case.given)
    async with opened(case.given) as platform:
        await fill(platform)
        await backup_setup.set_up(platform, programs, case.key_file)
        make_quick(case.files, case.store.access.password)
        await running.run(platform, programs)
    return case


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, programs: Programs) -> Path:
    folder = tmp_path_factory.mktemp("backups")
    asyncio.run(made(folder, programs))
    with contextlib.closing(sqlite3.connect(folder / "home/leyden.db")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@pytest.fixture
async def case(template: Path, programs: Programs, memory_path: Path) -> StoredHome:
    shutil.copytree(template, memory_path, dirs_exist_ok=True)
    found = StoredHome(folder=memory_path, programs=programs, more={})
    text = found.key_file.read_text()
    found.key_file.write_text(text.replace(str(template), str(memory_path)))
    return found
