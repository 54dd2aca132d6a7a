"""No packet goes to an address that a webhook may not reach; a listener proves it."""

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.base.rules.addresses import Address, is_public
from leyden.errors import Refused
from leyden.events.webhooks.connector import CheckedResolver, Egress
from leyden.events.webhooks.sender import HttpSender
from tests.events.webhooks.conftest import ANYTHING, LOOPBACK, FixedResolver, Receiver

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
EVERYWHERE = "0.0.0.0"  # noqa: S104  to be refused, and for a listener to catch all
SOMEWHERE = "93.184.216.34"


@pytest.mark.parametrize(
    "text",
    [
        *(EVERYWHERE, "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255"),
        *("127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1"),
        *("172.31.255.255", "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
        *("192.168.1.1", "192.31.196.1", "192.52.193.1", "192.175.48.1"),
        *("198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7"),
        *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1"),
        *("100:0:0:1::1", "2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::1"),
        *("2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::"),
        *("2002:5db8:d822::1", "2620:4f:8000::1", "3ffe::1", "3fff::1", "4000::1"),
        *("5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%1", "fec0::1"),
        *("ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::ffff:0:127.0.0.1"),
    ],
)
def test_special_addresses_are_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        *("1.1.1.1", SOMEWHERE, "100.63.255.255", "100.128.0.0", "172.32.0.1"),
        *("192.0.1.1", "223.255.255.255", "::ffff:93.184.216.34"),
        *("2606:4700::1111", "2a00:1450::1", "2001:200::1", "64:ff9b::5db8:d822"),
    ],
)
def test_ordinary_addresses_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses(v=4))
def test_python_and_we_agree_where_python_says_no(
    address: ipaddress.IPv4Address,
) -> None:
    if not address.is_global:
        assert not is_public(address)
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    assert is_public(mapped) is is_public(address)


@given(st.ip_addresses(v=6))
def test_of_ipv6_only_unicast_is_public(address: ipaddress.IPv6Address) -> None:
    if is_public(address) and address not in ipaddress.ip_network("2000::/3"):
        inside = address.ipv4_mapped or ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        assert is_public(inside)


def test_exceptions_open_and_forbidden_networks_close() -> None:
    egress = Egress(
        exceptions=[LOOPBACK, ipaddress.ip_network("fd00::/8")],
        forbidden=[ipaddress.ip_network("127.0.0.53/32")],
    )

    def permits(text: str) -> bool:
        address: Address = ipaddress.ip_address(text)
        return egress.permits(address)

    assert permits("127.0.0.1")
    assert permits("::ffff:127.0.0.1")
    assert permits("fd00::1")
    assert permits(SOMEWHERE)
    assert not permits("127.0.0.53")
    assert not permits("::1")
    assert not permits("10.0.0.1")


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], [SOMEWHERE, "127.0.0.1"], ["::1", SOMEWHERE]]
)
async def test_name_is_refused_when_one_of_its_addresses_is_forbidden(
    addresses: list[str],
) -> None:
    egress = Egress()
    with pytest.raises(Refused) as refusal:
        await CheckedResolver(egress, FixedResolver(addresses)).resolve("hooks.test")
    assert "127" not in refusal.value.message


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1%1"]
)
def test_egress_refuses_an_address_of_this_machine(address: str) -> None:
    with pytest.raises(Refused):
        Egress().check(address)


def spellings(port: int) -> list[str]:
    hosts = [
        *("127.0.0.1", "127.0.0.1.", "localhost", "LOCALHOST", "localhost."),
        *("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", EVERYWHERE),
        *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
        *("[64:ff9b::7f00:1]", "①②⑦.⓪.⓪.①", "ⓛocalhost", "127。0。0。1"),
        *(
            socket.gethostname(),
            "localtest.internal",
            "user@localhost",
            "x:y@127.0.0.1",
        ),
    ]
    return [f"http://{host}:{port}/" for host in hosts]


async def test_no_spelling_of_this_machine_gets_through() -> None:
    sender = HttpSender(Egress(), allowed=ANYTHING, deadline_s=5)
    with Receiver(OK, host=EVERYWHERE) as receiver:
        for url in spellings(receiver.port):
            async with sender.open(url, "harbour") as line:
                answer = await line.post({}, b"{}")
            assert answer.status is None, url
            assert answer.error, url
        assert receiver.connections == 0


async def test_a_name_that_changes_its_address_is_checked_every_time() -> None:
    with (
        Receiver(OK, host="127.0.0.2") as allowed,
        socket.create_server(("127.0.0.3", allowed.port)) as forbidden,
    ):
        resolver = FixedResolver(["127.0.0.2"], ["127.0.0.3"], ["127.0.0.2"])
        egress = Egress(exceptions=[ipaddress.ip_network("127.0.0.2/32")])
        sender = HttpSender(
            egress, allowed=ANYTHING, deadline_s=30, resolver=lambda: resolver
        )
        url = f"http://hooks.harbour.test:{allowed.port}/"
        outcomes = []
        for _ in range(3):
            async with sender.open(url, "harbour") as line:
                outcomes.append((await line.post({}, b"{}")).status)
        assert outcomes == [200, None, 200]

        forbidden.settimeout(0.05)
        with pytest.raises(TimeoutError):
            forbidden.accept()
