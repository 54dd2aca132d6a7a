"""A private chain with real btcd and lnd: up, killed, back, down."""

import asyncio
import dataclasses
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import Malformed, SetupError
from leyden.values import replace
from leyden_workshop.devnet import access, actions
from leyden_workshop.devnet.btcd import FIRST_BLOCKS
from leyden_workshop.devnet.chain import connected
from leyden_workshop.devnet.network import stop
from leyden_workshop.devnet.wallet import opened
from tests.waiting import until
from tests.workshop.devnet.conftest import WorkshopHome

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(300)]
TREASURY = 1_000_000_000
HARBOUR_DUES = 21_000


async def test_a_chain_comes_up_with_a_funded_treasury_and_survives_everything(
    workshop_home: WorkshopHome,
) -> None:
    home = workshop_home.home
    said: list[str] = []
    await workshop_home.network().start(said.append)
    assert [line.split(" (")[0] for line in said] == [
        "btcd is up",
        "treasury is up",
        f"the treasury has {TREASURY:,} sat",
    ]
    status = await actions.status(home)
    assert status["height"] == FIRST_BLOCKS + 6
    [treasury] = status["lnds"]
    assert treasury == {
        "name": "treasury",
        "state": "SERVER_ACTIVE",
        "height": FIRST_BLOCKS + 6,
        "synced": True,
        "balance_sats": TREASURY,
    }
    assert _private(home)

    # A second start finds what runs.
    before = _running(home)
    said.clear()
    await workshop_home.network().start(said.append)
    assert _running(home) == before
    assert [line.split(" (")[0] for line in said] == ["btcd runs", "treasury runs"]

    # Everything is killed the moment after coins were paid and blocks were mined.
    async with opened(access.load(home).lnds["treasury"]) as wallet:
        await actions.fund(home, await wallet.address(), HARBOUR_DUES, confirmations=1)
    height = await actions.mine(home, 3)
    assert height == FIRST_BLOCKS + 10
    await _kill_all(home)
    await workshop_home.network().start()
    status = await actions.status(home)
    assert status["height"] == height
    assert status["lnds"][0]["balance_sats"] == TREASURY + HARBOUR_DUES

    # A database that a kill has broken is made anew from the journal.
    await stop(home)
    for file in (access.folder(home) / "btcd/data").rglob("*.log"):
        file.write_bytes(b"walrus" * 100)
    for file in (access.folder(home) / "btcd/data").rglob("CURRENT"):
        file.write_bytes(b"walrus")
    await workshop_home.network().start()
    assert (await actions.status(home))["height"] == height

    # An old chain gets a fresh block before lnd, which is not ready without one.
    await stop(home)
    programs = {**workshop_home.programs, "lnd": Path("/bin/false")}
    lnd_ends = WorkshopHome(home, programs, ports=workshop_home.ports)
    with pytest.raises(SetupError, match="treasury"):
        await lnd_ends.network(fresh_s=-3600.0).start()
    assert await actions.height(home) == height + 1
    await workshop_home.network().start()
    assert (await actions.status(home))["height"] == height + 1

    # Down leaves nothing running, and tells so the second time.
    left = _running(home)
    assert await stop(home)
    assert not any(processes.alive(identity) for identity in left)
    assert not await stop(home)
    assert (await actions.status(home))["height"] is None


async def test_blocks_come_while_a_transaction_waits_and_six_in_all(
    workshop_home: WorkshopHome,
) -> None:
    network, home = workshop_home.network(block_s=0.1), workshop_home.home
    await network.start()
    keeping = asyncio.create_task(network.supervise())
    height = await actions.height(home)

    async def are_mined() -> bool:
        return await actions.height(home) == height

    for _ in range(2):  # what waited before the start, and what is sent now
        height += 6
        await until(are_mined, within_s=60, every_s=0.1)
        await asyncio.sleep(1)
        assert await are_mined()
        async with opened(access.load(home).lnds["treasury"]) as wallet:
            address = await wallet.address()
        await actions.fund(home, address, HARBOUR_DUES, confirmations=0)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def test_daemons_that_die_are_started_again_while_supervised(
    workshop_home: WorkshopHome,
) -> None:
    network = workshop_home.network()
    await network.start()
    keeping = asyncio.create_task(network.supervise())
    home = workshop_home.home
    before = _running(home)
    await actions.mine(home, 2)
    await _kill_all(home)

    async def back() -> bool:
        status = await actions.status(home)
        synced: bool = status["lnds"][0]["synced"]
        return synced and status["height"] == FIRST_BLOCKS + 8

    await until(back, within_s=120, every_s=0.2)
    after = _running(home)
    assert len(after) == 2
    assert not set(after) & set(before)

    # What someone else mined is kept by whoever supervises.
    stored = actions.journal(home).read_text().count("\n")
    async with asyncio.timeout(60):
        async with connected(access.load(home).btcd) as chain:
            await chain.mine(1)
        while actions.journal(home).read_text().count("\n") != stored + 1:
            await asyncio.sleep(0.05)

    # Ending the supervision ends no daemon.
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert _running(home) == after


async def test_the_commands_mine_fund_and_look(workshop_home: WorkshopHome) -> None:
    home = workshop_home.home
    await workshop_home.network().start()
    assert _dev(home, "mine", "2") == {"height": FIRST_BLOCKS + 8}
    for kind in ("TAPROOT_PUBKEY", "WITNESS_PUBKEY_HASH", "NESTED_PUBKEY_HASH"):
        async with opened(access.load(home).lnds["treasury"]) as wallet:
            answer = await wallet.call("GET", f"/v1/newaddress?type={kind}")
        assert len(_dev(home, "fund", answer["address"], "100000")["txid"]) == 64
    # Unconfirmed ones do not get into each other's way, and coins never run out.
    async with opened(access.load(home).lnds["treasury"]) as wallet:
        address = await wallet.address()
    await asyncio.gather(
        *(actions.fund(home, address, 50_000, confirmations=0) for _ in range(5))
    )
    large = 150 * 100_000_000  # more than one block pays
    await actions.fund(home, address, large, confirmations=1)
    expected = TREASURY + 300_000 + 250_000 + large

    async def all_there() -> bool:
        status = _dev(home, "status")
        return [lnd["balance_sats"] for lnd in status["lnds"]] == [expected]

    await until(all_there, within_s=120, every_s=0.2)
    with pytest.raises(Malformed, match="is not an address of simnet"):
        await actions.fund(home, "bc1qharbour", 1000, confirmations=0)
    with pytest.raises(Malformed, match="amount: must be from"):
        await actions.fund(home, address, 999, confirmations=0)
    with pytest.raises(Malformed, match="blocks: must be from"):
        await actions.mine(home, 0)


async def test_another_port_starts_the_daemons_anew_and_a_taken_one_is_told(
    workshop_home: WorkshopHome,
) -> None:
    home = workshop_home.home
    network = workshop_home.network()
    await network.start()
    before = _running(home)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = replace(workshop_home.ports, treasury_rest=taken.getsockname()[1])
        moved = dataclasses.replace(workshop_home, ports=ports)  # noqa: TID251
        with pytest.raises(SetupError, match="devnet_treasury_rest_port"):
            await moved.network().start()
    await moved.network().start()
    after = _running(home)
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert access.load(home).lnds["treasury"].rest.endswith(str(ports.treasury_rest))


def _dev(home: Path, *words: str) -> Any:
    leyden = Path(sys.executable).with_name("leyden")
    command = ["dev", *words, "--home", str(home), "--json"]
    done = subprocess.run(
        [leyden, *command], capture_output=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def _running(home: Path) -> list[ProcessIdentity]:
    found = (
        processes.holder(access.folder(home) / name / "claim")
        for name in ("btcd", "treasury")
    )
    return [identity for identity in found if identity is not None]


async def _kill_all(home: Path) -> None:
    killed = _running(home)
    for identity in killed:
        processes.signal(identity, signal.SIGKILL)
    for identity in killed:
        await processes.exited(identity)


def _private(home: Path) -> bool:
    """Every file under the chain's folder is its owner's alone."""
    return all(
        path.stat().st_mode & 0o077 == 0
        for path in (access.folder(home), *access.folder(home).glob("*"))
    )
