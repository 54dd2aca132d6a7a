"""Whom nodes run as, and what the settings open to them: with nft where it is."""

import secrets
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.lnd.chains import Bitcoind, BtcdBackend, Chain, Neutrino
from leyden.nodes.rules.nodes import Network
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.egress_policy import AllowedDestination
from leyden.nodes.runtimes.local.layout import Ground
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.wiring import local_egress, node_openings
from leyden.values import replace
from tests.nodes.contracts.runtimes import a_loopback_network
from tests.programs import as_root_with_nft

BTCD = BtcdBackend(host="127.0.0.1:18556", user="u", password="p", certificate=b"c")


@pytest.fixture
def placement() -> Placement:
    # Far from the usual users, and from other runs of these tests on this machine.
    block = 9_000 + secrets.randbelow(10_000)
    return Placement(network=a_loopback_network(), first_uid=block << 16)


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[list[Settings]]:
    """Two installations, whose policies are removed whatever happens."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    try:
        yield [Settings(home=str(folder)) for folder in folders]
    finally:
        for folder in folders:
            nftables.remove(folder)


def grounds(*backends: Any) -> dict[Network, Ground]:
    networks = dict(zip(Network, backends, strict=False))
    return {
        network: Ground(chain=Chain.REGTEST, backend=backend)
        for network, backend in networks.items()
    }


def test_a_signer_may_be_where_nodes_or_webhooks_reach() -> None:
    reach = node_openings.signers(
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
    assert not node_openings.signers(Settings()).permits_host("10.1.2.3", 10_009)


@as_root_with_nft()
def test_each_installation_has_users_of_its_own_and_keeps_them(
    homes: list[Settings], placement: Placement
) -> None:
    one, two = (local_egress.enforce(home, placement, grounds(BTCD)) for home in homes)
    assert one.first_uid == placement.first_uid
    assert two.first_uid == (one.first_uid or 0) + 65_536

    nftables.remove(homes[0].home_path)
    assert local_egress.enforce(homes[1], placement, grounds(BTCD)) == two, "as before"
    assert local_egress.enforce(homes[0], placement, grounds(BTCD)) == one


@as_root_with_nft()
def test_users_that_were_set_are_taken_or_refused(
    homes: list[Settings], placement: Placement
) -> None:
    one, two = homes
    local_egress.enforce(one, placement, grounds(BTCD))
    settled = replace_setting(two, nodes_first_uid=placement.first_uid)
    with pytest.raises(SetupError, match="are those of another installation"):
        local_egress.enforce(settled, placement, grounds(BTCD))


def test_where_a_policy_is_required_nothing_starts_without(
    placement: Placement,
) -> None:
    placement = replace(placement, first_uid=None)
    given = Settings(nodes_fence="required")
    with pytest.raises(
        SetupError,
        match=r"required, but (nodes don't run as their own|nft is not installed)",
    ):
        local_egress.enforce(given, placement, grounds(BTCD))
    assert local_egress.enforce(Settings(), placement, grounds(BTCD)) == placement
    off = Settings(nodes_fence="off", nodes_first_uid=7)
    assert local_egress.enforce(off, placement, grounds(BTCD)) == placement


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
    placement: Placement, backend: Any, opened: tuple[str, int | None]
) -> None:
    policy = node_openings.make_policy(Settings(), placement, grounds(backend))
    assert AllowedDestination(ip_network(opened[0]), opened[1]) in policy.openings


def test_the_operator_opens_and_closes(placement: Placement) -> None:
    given = Settings(
        nodes_may_reach="127.0.0.1:19735, 10.4.0.0/16, 10.5.0.0/16:9735, [fd00::1]:9",
        nodes_may_not_reach="45.45.45.0/24",
        database_url="postgresql://leyden:secret@45.1.2.3:5432/leyden",
        treasury_host="45.1.2.4:8080",
        pool_host="45.1.2.5:12010",
        seller_host="45.1.2.6:8081",
    )
    policy = node_openings.make_policy(given, placement, {})
    own = [each for each in policy.openings if each.port != 53]
    assert own == [
        AllowedDestination(ip_network("10.4.0.0/16")),
        AllowedDestination(ip_network("10.5.0.0/16"), 9735),
        AllowedDestination(ip_network("127.0.0.1/32"), 19735),
        AllowedDestination(ip_network("fd00::1/128"), 9),
    ]
    assert policy.closed == (ip_network("45.45.45.0/24"),)
    assert policy.locked == (
        AllowedDestination(ip_network("45.1.2.3/32"), 5432),
        AllowedDestination(ip_network("45.1.2.4/32"), 8080),
        AllowedDestination(ip_network("45.1.2.5/32"), 12010),
        AllowedDestination(ip_network("45.1.2.6/32"), 8081),
    )


def test_nodes_reach_the_socks_port_of_tor_and_no_other_port_there(
    placement: Placement,
) -> None:
    given = Settings(tor_socks="[fd00::7]:9050", tor_control="[fd00::7]:9051")
    policy = node_openings.make_policy(given, placement, {})
    existing = [each for each in policy.openings if each.port != 53]
    assert existing == [AllowedDestination(ip_network("fd00::7/128"), 9050)]


def test_nodes_reach_the_peer_ports_of_the_gateway_and_no_other_port_of_it(
    placement: Placement,
) -> None:
    given = Settings(peer_ports="21000-21009, 21020")
    policy = node_openings.make_policy(given, placement, {})
    here = ip_network("127.0.0.1/32")
    own = [each for each in policy.openings if each.network == here]
    assert [(each.port, each.last_port) for each in own if each.port != 53] == [
        (21000, 21009),
        (21020, 21020),
    ]
    assert "ip daddr 127.0.0.1/32 tcp dport 21000-21009 accept" in policy.rules()


@pytest.mark.parametrize(
    "text",
    ["peer.example:9735", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1/8", "::1; accept"],
)
def test_what_is_no_network_is_refused(placement: Placement, text: str) -> None:
    with pytest.raises(SetupError, match="nodes_may_reach: "):
        node_openings.make_policy(Settings(nodes_may_reach=text), placement, {})


def replace_setting(given: Settings, **changes: Any) -> Settings:
    return Settings(home=given.home, **changes)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:abc"])
def test_a_backend_without_a_port_opens_nothing(
    host: str, homes: list[Settings], placement: Placement
) -> None:
    for backend in (replace(BTCD, host=host), Neutrino(only_peers=(host,))):
        with pytest.raises(SetupError, match="must be HOST:PORT"):
            node_openings.make_policy(homes[0], placement, grounds(backend))
