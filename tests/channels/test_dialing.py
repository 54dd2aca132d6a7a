"""Where the seller may be told to connect to: strangers choose."""

import ipaddress
import socket
from collections.abc import Sequence

import pytest

from leyden.base.rules.addresses import Network, Reach
from leyden.channels.direct.dialing import Dialing
from leyden.channels.rules import destinations
from leyden.errors import Malformed
from leyden.nodes.rules.peer_ports import PeerPorts
from tests.nodes.rules.test_reach import SPECIAL_V4, SPECIAL_V6, SPELLINGS

KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
PRIVATE = (
    "127.0.0.1",
    "10.0.0.7",
    "169.254.169.254",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[fd00::1]",
    "[64:ff9b::7f00:1]",
    "localhost",
    "x.localhost",
)
NAMES = {
    "good.example.org": ["8.8.8.8", "2606:4700::1"],
    "inner.example.org": ["10.0.0.7"],
    "mixed.example.org": ["8.8.8.8", "169.254.169.254"],
}


async def look_up(host: str, port: int, organization_id: str) -> Sequence[str]:
    assert (port, organization_id) == (9735, "harbour")
    if host not in NAMES:
        raise socket.gaierror
    return NAMES[host]


@pytest.fixture
def dialing() -> Dialing:
    return Dialing(
        peer_host="203.0.113.9",
        peer_ports=PeerPorts(((21_000, 21_009),)),
        look_up=look_up,
    )


async def addresses(dialing: Dialing, host: str) -> list[str]:
    return await dialing.addresses(host, "harbour")


@pytest.mark.parametrize("host", PRIVATE)
async def test_private_addresses_are_refused_and_not_dialled(
    dialing: Dialing, host: str
) -> None:
    with pytest.raises(
        Malformed, match=r"^node: .*(private or reserved|ambiguous IP address)"
    ):
        dialing.check(f"{host}:9735", field="node")
    if "localhost" not in host:
        assert await addresses(dialing, f"{host}:9735") == []


@pytest.mark.parametrize("special", [*SPECIAL_V4, *SPECIAL_V6])
async def test_no_name_leads_where_webhooks_may_not_go(special: str) -> None:
    """It was public when it was ordered, and is not when it is dialled."""
    answers = [["8.8.8.8"], [special], ["8.8.8.8", special], [special, "8.8.8.8"]]

    async def turning(_host: str, _port: int, _organization_id: str) -> Sequence[str]:
        return answers.pop(0)

    dialing = Dialing(look_up=turning)
    dialing.check("turns.example.org:9735", field="node")
    assert await addresses(dialing, "turns.example.org:9735") == ["8.8.8.8:9735"]
    for _ in range(3):
        assert await addresses(dialing, "turns.example.org:9735") == []


@pytest.mark.parametrize(
    "host", [*SPECIAL_V4, *SPELLINGS, *(f"[{each}]" for each in SPECIAL_V6)]
)
def test_no_spelling_of_such_an_address_is_taken(dialing: Dialing, host: str) -> None:
    with pytest.raises(Malformed, match=r"^node: "):
        dialing.check(
            destinations.parse(f"{KEY}@{host}:9735", field="node")[1], field="node"
        )


@pytest.mark.parametrize(
    ("name", "dialled"),
    [
        ("good.example.org", ["8.8.8.8:9735", "[2606:4700::1]:9735"]),
        ("inner.example.org", []),
        ("mixed.example.org", []),
        ("nowhere.example.org", []),
    ],
)
async def test_what_a_name_leads_to_is_judged_and_dialled_as_a_number(
    dialing: Dialing, name: str, dialled: list[str]
) -> None:
    dialing.check(f"{name}:9735", field="node")
    assert await addresses(dialing, f"{name}:9735") == dialled


async def test_public_addresses_are_dialled(dialing: Dialing) -> None:
    dialing.check("8.8.8.8:9735", field="node")
    assert await addresses(dialing, "8.8.8.8:9735") == ["8.8.8.8:9735"]
    assert await addresses(dialing, "") == []


async def test_hosted_nodes_are_dialled_at_their_ports_and_no_others(
    dialing: Dialing,
) -> None:
    dialing.check("203.0.113.9:21000", field="node")
    assert await addresses(dialing, "203.0.113.9:21000") == ["203.0.113.9:21000"]
    for port in (20_999, 21_010, 9_735):
        with pytest.raises(Malformed):
            dialing.check(f"203.0.113.9:{port}", field="node")


async def test_the_operator_makes_exceptions() -> None:
    inside: Network = ipaddress.ip_network("10.0.0.0/8")
    dialing = Dialing(reach=Reach(openings=((inside, 9735),)))
    dialing.check("10.0.0.7:9735", field="node")
    assert await addresses(dialing, "10.0.0.7:9735") == ["10.0.0.7:9735"]
    assert await addresses(dialing, "10.0.0.7:9736") == []
