"""Whom nodes run as, and what the settings open to them: with nft where it is."""

import os
import secrets
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from leyden.app import fencing
from leyden.domain.nodes import Network
from leyden.errors import SetupError
from leyden.lnd.chains import Bitcoind, Btcd, Chain, Neutrino
from leyden.runtimes import nftables
from leyden.runtimes.fence import Opening
from leyden.runtimes.layout import Ground, Layout
from leyden.runtimes.seats import Seats
from leyden.settings import Settings
from leyden.values import replace
from tests.contracts.runtimes import a_loopback_network

BTCD = Btcd(host="127.0.0.1:18556", user="u", password="p", certificate=b"c")
WITH_NFT = pytest.mark.skipif(
    os.geteuid() != 0 or bool(nftables.trouble()),
    reason="only root can fence users in, and with nft",
)


@pytest.fixture
def seats() -> Seats:
    # Far from the usual users, and from other runs of these tests on this machine.
    block = 9_000 + secrets.randbelow(10_000)
    return Seats(network=a_loopback_network(), first_uid=block << 16)


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[list[Settings]]:
    """Two installations, whose fences are taken down whatever happens."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    try:
        yield [Settings(home=str(folder)) for folder in folders]
    finally:
        for folder in folders:
            nftables.take_down(folder)


def grounds(*backends: Any) -> dict[Network, Ground]:
    networks = dict(zip(Network, backends, strict=False))
    return {
        network: Ground(chain=Chain.REGTEST, backend=backend)
        for network, backend in networks.items()
    }


def test_a_signer_may_be_where_nodes_or_webhooks_reach() -> None:
    reach = fencing.signers(
        Settings(
            nodes_may_reach="10.1.0.0/16, 10.2.0.1:10009",
            nodes_may_not_reach="93.184.216.0/24",
            webhook_networks="127.0.0.0/8",
        )
    )
    assert [
        reach.permits_host(host, port)
        for host, port in (
            ("10.1.2.3", 443),
            ("10.2.0.1", 10_009),
            ("10.2.0.1", 443),
            ("127.0.0.1", 10_009),
            ("localhost", 10_009),
            ("::1", 10_009),
            ("93.184.216.34", 10_009),
            ("93.184.215.34", 10_009),
        )
    ] == [True, True, False, True, True, False, False, True]
    assert not fencing.signers(Settings()).permits_host("10.1.2.3", 10_009)


@WITH_NFT
def test_each_installation_has_users_of_its_own_and_keeps_them(
    homes: list[Settings], seats: Seats
) -> None:
    one, two = (fencing.seated(home, seats, grounds(BTCD)) for home in homes)
    assert one.first_uid == seats.first_uid
    assert two.first_uid == (one.first_uid or 0) + 65_536

    nftables.take_down(homes[0].home_path)
    assert fencing.seated(homes[1], seats, grounds(BTCD)) == two, "as before"
    assert fencing.seated(homes[0], seats, grounds(BTCD)) == one


@WITH_NFT
def test_users_that_were_set_are_taken_or_refused(
    homes: list[Settings], seats: Seats
) -> None:
    one, two = homes
    fencing.seated(one, seats, grounds(BTCD))
    settled = replace_setting(two, nodes_first_uid=seats.first_uid)
    with pytest.raises(SetupError, match="are those of another installation"):
        fencing.seated(settled, seats, grounds(BTCD))


@WITH_NFT
async def test_a_fence_that_was_taken_away_is_put_up_again(
    homes: list[Settings], seats: Seats
) -> None:
    seats = fencing.seated(homes[0], seats, grounds(BTCD))
    nftables.take_down(homes[0].home_path)
    layout = Layout(root=homes[0].home_path, seats=seats, grounds=grounds(BTCD))
    fence = fencing.mended(homes[0], layout, None)
    assert fence is not None
    assert nftables.stands(fence)
    nftables.take_down(homes[0].home_path)
    assert fencing.mended(homes[0], layout, fence) == fence
    assert nftables.stands(fence)


def test_where_a_fence_is_required_nothing_starts_without(seats: Seats) -> None:
    seats = replace(seats, first_uid=None)
    given = Settings(nodes_fence="required")
    with pytest.raises(SetupError, match="required, but nodes have no users"):
        fencing.seated(given, seats, grounds(BTCD))
    assert fencing.seated(Settings(), seats, grounds(BTCD)) == seats
    off = Settings(nodes_fence="off", nodes_first_uid=7)
    assert fencing.seated(off, seats, grounds(BTCD)) == seats


@pytest.mark.parametrize(
    ("backend", "opened"),
    [
        (BTCD, ("127.0.0.1/32", 18556)),
        (Bitcoind(host="10.1.2.3:8332", user="u", password="p"), ("10.1.2.3/32", 8332)),
        (
            Neutrino(only_peers=("192.168.1.7:8333",)),
            ("192.168.1.7/32", 8333),
        ),
        (Neutrino(only_peers=("[fd00::7]:8333",)), ("fd00::7/128", 8333)),
        (
            Neutrino(fee_url="https://u:p@192.168.1.9:8080/fees"),
            ("192.168.1.9/32", 8080),
        ),
    ],
)
def test_the_chain_backend_is_open(
    seats: Seats, backend: Any, opened: tuple[str, int | None]
) -> None:
    fence = fencing.fence(Settings(), seats, grounds(backend))
    assert Opening(ip_network(opened[0]), opened[1]) in fence.openings


def test_the_operator_opens_and_closes(seats: Seats) -> None:
    given = Settings(
        nodes_may_reach="127.0.0.1:19735, 10.4.0.0/16, 10.5.0.0/16:9735, [fd00::1]:9",
        nodes_may_not_reach="45.45.45.0/24",
        database_url="postgresql://leyden:secret@45.1.2.3:5432/leyden",
        treasury_host="45.1.2.4:8080",
        pool_host="45.1.2.5:12010",
    )
    fence = fencing.fence(given, seats, {})
    own = [each for each in fence.openings if each.port != 53]
    assert own == [
        Opening(ip_network("10.4.0.0/16")),
        Opening(ip_network("10.5.0.0/16"), 9735),
        Opening(ip_network("127.0.0.1/32"), 19735),
        Opening(ip_network("fd00::1/128"), 9),
    ]
    assert fence.closed == (ip_network("45.45.45.0/24"),)
    assert fence.locked == (
        Opening(ip_network("45.1.2.3/32"), 5432),
        Opening(ip_network("45.1.2.4/32"), 8080),
        Opening(ip_network("45.1.2.5/32"), 12010),
    )


@pytest.mark.parametrize(
    "text",
    ["peer.example:9735", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1/8", "::1; accept"],
)
def test_what_is_no_network_is_refused(seats: Seats, text: str) -> None:
    with pytest.raises(SetupError, match="nodes_may_reach: "):
        fencing.fence(Settings(nodes_may_reach=text), seats, {})


def replace_setting(given: Settings, **changes: Any) -> Settings:
    return Settings(home=given.home, **changes)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:abc"])
def test_a_backend_without_a_port_opens_nothing(
    host: str, homes: list[Settings], seats: Seats
) -> None:
    for backend in (replace(BTCD, host=host), Neutrino(only_peers=(host,))):
        with pytest.raises(SetupError, match="name its port"):
            fencing.fence(homes[0], seats, grounds(backend))
