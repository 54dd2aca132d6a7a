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
from typing import Any

import pytest
import pytest_asyncio

from leyden.services.operators.backups.places import Programs
from tests.acceptance.guest import Guest
from tests.acceptance.test_node_story import in_business
from tests.acceptance.town import PASSWORD, Owned, Refused, Town
from tests.backups.conftest import programs

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,
    pytest.mark.timeout(500),
    pytest.mark.asyncio(loop_scope="session"),
]
CAPACITY = 500_000

__all__ = ["programs"]  # a fixture, which skips where restic is not built


@pytest_asyncio.fixture(loop_scope="session")
async def guest(
    town: Town, open_folder: Path, programs: Programs
) -> AsyncIterator[Guest]:
    assert programs.restic.exists()
    folder = Path(tempfile.mkdtemp(prefix="guest-", dir=open_folder))
    folder.chmod(0o755)
    guest = Guest(town, folder, "old")
    await guest.run("migrate")
    await guest.up()
    await guest.furnish()
    try:
        yield guest
    finally:
        guest.burn()
        await guest._stack.aclose()
        await guest.platform.wait()


async def status(guest: Guest, order: dict[str, Any]) -> str:
    told = await guest.api("POST", "/flow/status", {"order_id": order["order_id"]})
    return str(told["status"])


async def becomes(guest: Guest, order: dict[str, Any], wanted: str) -> None:
    async def there() -> bool:
        return await status(guest, order) == wanted

    await guest.until(f"the order is {wanted}", there, seconds=100)


async def order(guest: Guest) -> dict[str, Any]:
    wish = {"capacity": CAPACITY}
    found: dict[str, Any] = await guest.api("POST", "/flow/create", wish)
    return found


async def pay(node: Owned, order: dict[str, Any]) -> None:
    """Pay over Lightning, and do not wait for the answer: it comes with the ticket."""
    bill = {"payment_request": order["lightning_invoice"]}
    paid = await node.call("POST", "/v1/channels/transactions", bill)
    assert paid["payment_error"] == ""


async def restore_wallet(node: Owned, channels: str) -> None:
    """Make the wallet again of its seed, and let its channels come home."""
    made = await node.call(
        "POST",
        "/v1/initwallet",
        {
            "wallet_password": PASSWORD,
            "cipher_seed_mnemonic": node.seed,
            "stateless_init": True,
            "recovery_window": 50,
            "channel_backups": {"multi_chan_backup": {"multi_chan_backup": channels}},
        },
    )
    node.macaroon = base64.b64decode(made["admin_macaroon"]).hex()


@pytest.mark.parametrize("lost", ["nothing", "some seconds", "all since the backup"])
async def test_whoever_loses_the_machine_is_back_from_the_store(
    town: Town, guest: Guest, lost: str
) -> None:
    node = await guest.create("harbour light")
    await guest.says(node, "waiting_init")
    await node.init()
    await guest.says(node, "running")
    await in_business(guest, node)
    key = (await node.call("GET", "/v1/getinfo"))["identity_pubkey"]
    bought, paid_since, unpaid = [await order(guest) for _ in range(3)]
    await pay(node, bought)
    await becomes(guest, bought, "created")
    before = (await guest.of(node, "GET", "/backup"))["channel_backup"]

    recovery = str(guest.home.parent / "recovery.key")
    await guest.run("backup", "init", "--recovery-key", recovery)
    first = json.loads(await guest.run("backup", "run", "--json"))["backup"]
    assert "this backup restores" in await guest.run("backup", "drill")
    await is_examined(guest)
    await pay(node, paid_since)  # and the backup knows nothing of it
    await becomes(guest, paid_since, "created")
    late = await order(guest)
    if lost == "nothing":
        await all_is_sent(guest)

    guest.burn()
    await guest.platform.wait()
    shutil.rmtree(guest.home)

    guest.home = guest.home.parent / "new"
    guest.environment["LEYDEN_HOME"] = str(guest.home)
    which = ("--backup", first) if lost == "all since the backup" else ()
    shown = await guest.run("backup", "restore", "--key", recovery, *which)
    assert "This home stays stopped" in shown
    assert "--old-machine-is-destroyed" in await guest.refused("serve")
    assert not guest.has_lnds
    await guest.run("backup", "restore", "--old-machine-is-destroyed")
    await guest.up()

    await becomes(guest, paid_since, "created")
    assert await status(guest, bought) == "created"
    assert await status(guest, unpaid) == "waiting_payment"
    await is_known(guest, late, lost)
    assert "the books are right" in await guest.run("verify")

    again = await guest.found(node.id)
    again.seed = node.seed
    await guest.says(again, "waiting_init")
    channels = (await guest.of(again, "GET", "/backup"))["channel_backup"]
    assert channels == before
    await restore_wallet(again, channels)
    await guest.says(again, "running")
    assert (await again.call("GET", "/v1/getinfo"))["identity_pubkey"] == key
    await comes_home(town, guest, again)
    assert "the books are right" in await guest.run("verify")
    assert "this backup restores" in await drilled_again(guest, recovery)


async def is_known(guest: Guest, late: dict[str, Any], lost: str) -> None:
    """Look for an order that was created right before the machine was lost."""
    if lost == "nothing":
        assert await status(guest, late) == "waiting_payment"
    elif lost == "all since the backup":
        with pytest.raises(Refused):
            await status(guest, late)


async def all_is_sent(guest: Guest) -> None:
    """Wait until the store has all that is committed now."""
    now = time.time()

    async def there() -> bool:
        with contextlib.suppress(OSError):
            path = guest.home / "backup/changes/state.json"
            return bool(json.loads(path.read_bytes())["until"] > now)
        return False

    await guest.until("what was committed is in the store", there, seconds=100)


async def is_examined(guest: Guest) -> None:
    """Try what can be ready for production on a private chain."""
    told = await guest.refused("doctor", "--production")
    for what in (
        "the chain backends answer and are synced",
        "the treasury answers, is synced and is the known one",
        "the treasury's macaroon cannot spend",
        "the last backup is fresh",
        "the last drill is fresh and found nothing",
    ):
        assert f"ok     {what}" in told, told


async def comes_home(town: Town, guest: Guest, node: Owned) -> None:
    """Mine until the treasury has closed the channel, and its coins are the node's."""

    async def is_home() -> bool:
        await town.run("dev", "mine", "6")
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
