"""The public key that an lnd writes down, read without asking it."""

import random
from pathlib import Path

import pytest

from leyden.nodes.lnd import home, identity
from leyden.nodes.rules import public_keys
from leyden_workshop.devnet import access
from leyden_workshop.devnet.wallet import opened
from tests.channels.contracts.treasuries import TreasuryHarness

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


async def test_it_is_the_one_that_lnd_says(treasury: TreasuryHarness) -> None:
    """While lnd runs, and goes on writing."""
    network = access.load(treasury.home)
    for each in network.lnds.values():
        folder = Path(each.certificate).parent
        file = home.graph(folder, network.chain)  # type: ignore[arg-type]
        async with opened(each) as lnd:
            assert identity.read(file) == await lnd.key()


async def test_no_page_that_is_broken_breaks_the_reader(
    treasury: TreasuryHarness, tmp_path: Path
) -> None:
    """What is in the folder is written by somebody's lnd."""
    network = access.load(treasury.home)
    folder = Path(network.lnds["treasury"].certificate).parent
    file = home.graph(folder, network.chain)  # type: ignore[arg-type]
    complete, copy = file.read_bytes(), tmp_path / "channel.db"
    copy.write_bytes(complete)
    key = identity.read(copy)
    assert public_keys.is_valid(key)
    jitter = random.Random(17)  # noqa: S311  the same pages each time
    for _ in range(300):
        broken = bytearray(complete)
        for _ in range(jitter.randrange(1, 200)):
            broken[jitter.randrange(len(broken))] = jitter.randrange(256)
        copy.write_bytes(
            broken[: jitter.choice([len(broken), jitter.randrange(70_000)])]
        )
        found = identity.read(copy)
        assert found == "" or public_keys.is_valid(found)
    for meta in (16, 4096 + 16):  # a root that leads to itself, or nowhere
        broken = bytearray(complete)
        broken[meta + 16 : meta + 24] = (2**63 - 1).to_bytes(8, "little")
        copy.write_bytes(broken)
        assert identity.read(copy) in {"", key}
    copy.unlink()
    copy.symlink_to(file)
    assert identity.read(copy) == "", "links are not followed"
    assert identity.read(tmp_path / "none") == ""
