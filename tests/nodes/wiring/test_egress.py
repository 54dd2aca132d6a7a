"""When nodes must be held by the egress policy, and what happens where they are not."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from leyden.base.settings import Settings
from leyden.errors import Away
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.egress_policy import table_of
from leyden.nodes.runtimes.local.layout import Layout
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.wiring import egress, local_egress
from leyden.nodes.wiring.egress import Gate
from tests.nodes.contracts.runtimes import a_loopback_network
from tests.ports import free_port
from tests.programs import as_root_with_nft

# Root keeps all it is but what nft needs; whoever is not root lacks that already.
WITHOUT_NFT = (
    ["setpriv", "--bounding-set", "-net_admin"] if os.geteuid() == 0 else list[str]()
)
_LEYDEN = "from leyden.app.main import main; main()"
EVERYWHERE = "0.0.0.0"  # noqa: S104  it is refused
LOOPBACK = ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "::ffff:127.0.0.1"]
PUBLIC = [EVERYWHERE, "::", "", "192.168.1.7", "fe80::1", "45.1.2.3", "no.such.invalid"]
TESTNET: dict[str, Any] = {"testnet_chain": "simnet", "testnet_backend": "neutrino"}
MAINNET: dict[str, Any] = {
    "mainnet_backend": "neutrino",
    "mainnet_fee_url": "https://fees.example.com",
}


@pytest.mark.parametrize("host", LOOPBACK)
def test_loopback_is_not_public(host: str) -> None:
    assert not egress.is_public(host)


@pytest.mark.parametrize("host", [*PUBLIC, "0"])
def test_everything_else_is_public(host: str) -> None:
    assert egress.is_public(host)


@pytest.mark.parametrize("fence", ["auto", "required", "off"])
@pytest.mark.parametrize("host", [*LOOPBACK, *PUBLIC])
@pytest.mark.parametrize(
    ("chains", "nodes", "real_money"),
    [
        ({}, False, False),
        (TESTNET, True, False),
        (MAINNET, True, True),
        ({**TESTNET, **MAINNET}, True, True),
    ],
    ids=["no chain", "testnet", "mainnet", "both"],
)
def test_who_must_be_held(
    fence: Literal["auto", "required", "off"],
    host: str,
    chains: dict[str, Any],
    nodes: bool,  # noqa: FBT001  parameters of the test
    real_money: bool,  # noqa: FBT001
) -> None:
    given = Settings(nodes_fence=fence, api_host=host, **chains)
    expected = {
        "off": False,
        "required": True,
        "auto": real_money or (nodes and host in PUBLIC),
    }[fence]
    assert bool(egress.required_because(given)) == expected
    taken = egress.demanded(given).nodes_fence
    assert taken == ("required" if expected else fence)
    assert bool(egress.startup_error(given, "nft is not installed")) == expected


def test_a_refusal_says_why_and_what_to_do() -> None:
    given = Settings(api_host=EVERYWHERE, **TESTNET)
    said = egress.startup_error(given, "nft is not installed")
    for part in (
        "nodes_fence: ",
        "nft is not installed",
        'api_host = "0.0.0.0"',
        "apt-get install nftables",
        "as root",
        'nodes_fence = "off"',
    ):
        assert part in said
    assert "\n" not in said


async def test_starts_wait_while_the_policy_is_missing() -> None:
    looks: list[bool] = [True, False, False, True]
    gate = Gate(lambda: looks.pop(0), fresh_s=0)
    await gate.passed()
    for _ in range(2):
        with pytest.raises(Away, match="not in place"):
            await gate.passed()
    await gate.passed()
    assert looks == []


async def test_a_storm_of_starts_shares_a_look() -> None:
    looks = [True]  # a second look would find nothing here
    gate = Gate(looks.pop, fresh_s=60)
    await asyncio.gather(*(gate.passed() for _ in range(50)))
    assert looks == []


@as_root_with_nft()
async def test_a_start_puts_the_policy_back_that_somebody_flushed(
    tmp_path: Path,
) -> None:
    placement = Placement(network=a_loopback_network(), first_uid=21_000 << 16)
    given = Settings(home=str(tmp_path), nodes_fence="required")
    try:
        placement = local_egress.enforce(given, placement, {})
        layout = Layout(root=tmp_path, placement=placement, grounds={})
        held = local_egress.LocalEgress(given, layout)
        nftables.remove(tmp_path)
        await held.admit()
        assert table_of(tmp_path) in nftables.applied()
    finally:
        nftables.remove(tmp_path)


def run(
    command: str, home: Path, *prefix: str, **given: str
) -> "subprocess.CompletedProcess[str]":
    environment = {
        "PATH": os.environ["PATH"],
        "LEYDEN_HOME": str(home),
        "LEYDEN_API_PORT": str(free_port()),
        "LEYDEN_METRICS_PORT": "0",
        "LEYDEN_ENVOY": "/bin/false",  # should it start, nothing outlives it
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        **{f"LEYDEN_{name.upper()}": value for name, value in given.items()},
    }
    return subprocess.run(
        [*prefix, sys.executable, "-c", _LEYDEN, command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


@pytest.mark.parametrize(
    "given",
    [
        {"api_host": EVERYWHERE, **TESTNET},
        pytest.param(MAINNET, marks=pytest.mark.long),
    ],
    ids=["public", "mainnet"],
)
def test_serve_refuses_in_one_line_and_migrate_says_so_before(
    given: dict[str, str], tmp_path: Path
) -> None:
    migrated = run("migrate", tmp_path, *WITHOUT_NFT, **given)
    assert migrated.returncode == 0
    (warned,) = migrated.stderr.splitlines()
    assert "`leyden serve` or `leyden worker` will refuse to start" in warned
    refused = run("serve", tmp_path, *WITHOUT_NFT, **given)
    assert refused.returncode == 1
    said = refused.stderr.splitlines()[-1]
    assert said.startswith(
        "leyden: nodes_fence: the egress policy of nodes is required"
    )
    assert said.removeprefix("leyden: ") in warned
    assert "Traceback" not in refused.stderr
    doctor = run("doctor", tmp_path, *WITHOUT_NFT, **given)
    assert doctor.returncode == 1
    missing = doctor.stdout.partition("MISSING  nftables keeps nodes from each other")[
        2
    ]
    mend = missing.splitlines()[1]
    assert "it is required because" in mend
    assert "apt-get install nftables" in mend


def test_on_loopback_without_mainnet_nothing_is_required(tmp_path: Path) -> None:
    migrated = run("migrate", tmp_path, *WITHOUT_NFT, **TESTNET)
    assert migrated.stderr == ""
    doctor = run("doctor", tmp_path, *WITHOUT_NFT, **TESTNET)
    without = doctor.stdout.partition("without  nftables keeps nodes from each other")[
        2
    ]
    assert "the current settings don't require it" in without.splitlines()[1]


def test_a_worker_refuses_as_well(postgres_url: str, tmp_path: Path) -> None:
    given = {**MAINNET, "database_url": postgres_url}
    assert run("migrate", tmp_path, *WITHOUT_NFT, **given).returncode == 0
    refused = run("worker", tmp_path, *WITHOUT_NFT, **given)
    assert refused.returncode == 1
    assert "mainnet_backend is set" in refused.stderr.splitlines()[-1]
    assert "Traceback" not in refused.stderr
