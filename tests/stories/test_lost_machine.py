"""A machine burns: its installation is restored from the store, and all goes on."""

import asyncio
import base64
import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from leyden.backups.backup_files import Programs
from tests.backups.conftest import programs
from tests.stories.guest import Guest
from tests.stories.orders import Orders
from tests.stories.platform import LEYDEN, PASSWORD, Owned, Refused, RunningPlatform
from tests.stories.test_node_story import has_channel, in_business

pytestmark = [
    pytest.mark.real,
    pytest.mark.full,
    pytest.mark.long,
    pytest.mark.timeout(500),
    pytest.mark.asyncio(loop_scope="session"),
]

__all__ = ["programs"]  # a fixture, which skips where restic is not built


@pytest_asyncio.fixture(loop_scope="session")
async def guest(
    platform: RunningPlatform, open_folder: Path, programs: Programs
) -> AsyncIterator[Guest]:
    assert programs.restic.exists()
    folder = Path(tempfile.mkdtemp(prefix="guest-", dir=open_folder))
    folder.chmod(0o755)
    guest = Guest(platform, folder, "old")
    await guest.run("migrate")
    await guest.up()
    await guest.furnish()
    try:
        yield guest
    finally:
        guest.burn()
        await guest._stack.aclose()
        await guest.platform.wait()


@pytest.mark.parametrize("lost", ["nothing", "some seconds", "all since the backup"])
async def test_whoever_loses_the_machine_is_back_from_the_store(
    platform: RunningPlatform, guest: Guest, lost: str
) -> None:
    node = await guest.create("harbour light")
    owner = Owner(guest, guest.home.parent)
    await owner.creates_the_wallet(guest, node)
    await in_business(guest, node)
    await drills(owner, node)
    key = (await node.call("GET", "/v1/getinfo"))["identity_pubkey"]
    orders = Orders(guest, node)
    await orders.make_all()
    before = (await guest.of(node, "GET", "/backup"))["channel_backup"]

    recovery = str(guest.home.parent / "recovery.key")
    await guest.run("backup", "init", "--recovery-key", recovery)
    first = json.loads(await guest.run("backup", "run", "--json"))["backup"]
    assert "this backup can be restored" in await guest.run("backup", "drill")
    await is_examined(guest)
    # And the backup knows nothing of it:
    await orders.pay("paid later")
    await orders.pay_on_chain("paid on chain later")
    orders.match("matched later")
    await orders.are({"paid later": "created", "matched later": "filled"})
    await orders.create("late")
    await orders.pay("late")
    await orders.become("late", "created")
    if lost == "nothing":
        await all_is_sent(guest)

    others = await unknown_to(guest)  # the treasury is the whole town's
    guest.burn()
    await guest.platform.wait()
    auction = orders.market_file.read_bytes()  # elsewhere, it goes on
    shutil.rmtree(guest.home)

    guest.home = guest.home.parent / "new"
    guest.environment["LEYDEN_HOME"] = str(guest.home)
    shown = await guest.run(
        *("backup", "restore", "--key", recovery),
        *(("--backup", first) if lost == "all since the backup" else ()),
    )
    assert "This home can't start yet" in shown
    orders.market_file.write_bytes(auction)
    assert "--old-machine-is-destroyed" in await guest.refused("serve")
    assert not guest.has_lnds
    await guest.run("backup", "restore", "--old-machine-is-destroyed")
    await guest.up()

    await orders.are(
        {
            "waiting": "waiting_payment",
            "lightning": "created",
            "chain": "created",
            "submitted": "submitted",
            **{name: name for name in ("expired", "filled", "failed", "cancelled")},
            "paid later": "created",
            "paid on chain later": "created",
            "matched later": "filled",
        }
    )
    await is_known(orders, lost, await unknown_to(guest) - others)
    assert "the books are right" in await guest.run("verify")

    again = await guest.found(node.id)
    await guest.says(again, "waiting_init")
    channels = (await guest.of(again, "GET", "/backup"))["channel_backup"]
    assert channels == before
    await restore_wallet(again, await owner.seed_of(again), channels)
    await guest.says(again, "running")
    assert (await again.call("GET", "/v1/getinfo"))["identity_pubkey"] == key
    await comes_home(platform, guest, again)
    assert "the books are right" in await guest.run("verify")
    assert "this backup can be restored" in await drilled_again(guest, recovery)


async def test_a_restored_private_chain_comes_up_for_its_owner(
    open_folder: Path, programs: Programs
) -> None:
    assert programs.restic.exists()
    folder = Path(tempfile.mkdtemp(prefix="chain-", dir=open_folder))
    folder.chmod(0o755)
    platform = RunningPlatform(folder)
    platform.environment["LEYDEN_BACKUP_STORE"] = str(folder / "store")
    recovery = str(folder / "recovery.key")
    try:
        await platform.up()
        before, node = platform.facts, await platform.create("harbour light")
        await platform.run("backup", "init", "--recovery-key", recovery)
        await platform.run("backup", "run")
        await platform.down()
        shutil.rmtree(platform.home)
        await platform.run("backup", "restore", "--key", recovery)
        await platform.run("backup", "restore", "--old-machine-is-destroyed")
        await platform.up()
        assert platform.facts["organization_id"] == before["organization_id"]
        teams = json.loads(await platform.run("orgs", "list", "--json"))[
            "organizations"
        ]
        assert [each["name"] for each in teams] == ["My team"]
        await platform.says(node, "waiting_init")
    finally:
        await platform.down()


async def restore_wallet(node: Owned, seed: list[str], channels: str) -> None:
    """Make the wallet again of its seed, and let its channels come home."""
    made = await node.call(
        "POST",
        "/v1/initwallet",
        {
            "wallet_password": PASSWORD,
            "cipher_seed_mnemonic": seed,
            "stateless_init": True,
            "recovery_window": 50,
            "channel_backups": {"multi_chan_backup": {"multi_chan_backup": channels}},
        },
    )
    node.macaroon = base64.b64decode(made["admin_macaroon"]).hex()


class Owner:
    """Whoever owns the node: with a shell, a key of the API, and a password."""

    def __init__(self, guest: Guest, folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **{name: guest.environment[name] for name in ("PATH", "HOME")},
            "LEYDEN_URL": guest.facts["base_url"],
            "LEYDEN_KEY": guest.facts["api_key"],
            "LEYDEN_CA": str(folder / "root.pem"),
            "LEYDEN_GATEWAY": "{host}:{rest_port}".format(**guest.facts["gateway"]),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        shutil.copy(guest.facts["ca_path"], folder / "root.pem")
        (folder / "password").write_text("harbour light\n")

    async def creates_the_wallet(self, guest: Guest, node: Owned) -> None:
        """Store the seed and the macaroon in the vault, encrypted."""
        await guest.says(node, "waiting_init")
        await node.init()
        await guest.says(node, "running")
        (self._folder / "seed").write_text(" ".join(node.seed))
        (self._folder / "macaroon").write_bytes(bytes.fromhex(node.macaroon))
        await self.runs("keep", node.id, "--seed", "seed")
        await self.runs("keep", node.id, "--macaroon", "macaroon", "--name", "admin")

    async def seed_of(self, node: Owned) -> list[str]:
        """Open the seed in the vault."""
        found: list[str] = json.loads(await self.runs("seed", node.id))["seed"]
        return found

    async def runs(self, *words: str) -> str:
        """Run a `leyden wallet` command."""
        command = await asyncio.create_subprocess_exec(
            LEYDEN,
            "wallet",
            *words,
            *("--password-file", "password", "--json"),
            cwd=self._folder,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        answer, said = await command.communicate()
        assert command.returncode == 0, f"{words}: {answer!r}\n{said.decode()}"
        return answer.decode()


async def drills(owner: Owner, node: Owned) -> None:
    """Have an lnd of the seed alone verify the channel's backup; it stays open."""
    channels = (await node.call("GET", "/v1/channels"))["channels"]
    found = json.loads(await owner.runs("drill", node.id))
    assert found["channels"] == [each["channel_point"] for each in channels]
    assert len(found["channels"]) == 1
    assert await has_channel(node)


async def unknown_to(guest: Guest) -> set[str]:
    """Return the orders that were paid at the treasury, and that the platform lacks."""
    body = json.loads(await guest.run("treasury", "--unknown", "--json"))["payments"]
    return {each["order_id"] for each in body}


async def is_known(orders: Orders, lost: str, unknown: set[str]) -> None:
    """Look for an order that was paid right before the machine was lost."""
    if lost == "nothing":
        assert await orders.status("late") == "created"
        assert not unknown
    elif lost == "all since the backup":
        with pytest.raises(Refused):
            await orders.status("late")
        assert unknown == {orders.id("late")}


async def all_is_sent(guest: Guest) -> None:
    """Wait until the store has all that is committed now."""
    now = time.time()

    async def is_reached() -> bool:
        with contextlib.suppress(OSError):
            path = guest.home / "backup/changes/state.json"
            return bool(json.loads(path.read_bytes())["until"] > now)
        return False

    await guest.until("what was committed is in the store", is_reached, seconds=100)


async def is_examined(guest: Guest) -> None:
    """Try what can be ready for production on a private chain."""
    answer = await guest.refused("doctor", "--production")
    for what in (
        "the chain backends respond and are synced",
        "the treasury responds, is synced, and is the expected lnd",
        "the treasury's macaroon cannot spend",
        "the last backup is recent",
        "the last restore drill is recent and succeeded",
    ):
        assert f"ok     {what}" in answer, answer


async def comes_home(platform: RunningPlatform, guest: Guest, node: Owned) -> None:
    """Mine until the treasury has closed the channel, and its coins are the node's."""

    async def is_home() -> bool:
        await platform.run("dev", "mine", "6")
        await asyncio.sleep(0.5)
        pending = await node.call("GET", "/v1/channels/pending")
        channels = await node.call("GET", "/v1/channels")
        balance = await node.call("GET", "/v1/balance/blockchain")
        return (
            not pending["total_limbo_balance"].strip("0")
            and not channels["channels"]
            and int(balance["confirmed_balance"]) > 2 * 1_000_000
        )

    await guest.until("the coins of the channel are home", is_home, seconds=200)


async def drilled_again(guest: Guest, recovery: str) -> str:
    await guest.run("backup", "run")
    return await guest.run("backup", "drill", "--key", recovery)
