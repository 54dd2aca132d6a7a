"""The egress policy, with the kernel's own nftables and processes of other users.

A listener is what proves it: what was refused has not arrived.
"""

import contextlib
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from typing import Self

import pytest

from leyden.errors import SetupError
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.egress_policy import AllowedDestination, EgressPolicy
from leyden.nodes.runtimes.local.placement import Placement, can_be_reached
from leyden.values import replace
from tests.nodes.contracts.runtimes import a_loopback_network
from tests.programs import as_root_with_nft

FIRST_UID = 7_000 << 16
WITHIN_S = 10
CALL = """
import socket, sys
host, port, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
with socket.socket(family, getattr(socket, kind)) as caller:
    caller.settimeout(5)
    try:
        caller.connect((host, port))
        caller.send(b"harbour light")
        print(caller.recv(100).decode() if kind == "SOCK_STREAM" else "sent")
    except OSError as error:
        print(type(error).__name__, error.errno)
"""


def python_for_all() -> Path | None:
    """Return a Python that others can run: ours may lie in a closed home folder."""
    for each in (Path(sys.executable), Path("/usr/bin/python3")):
        if each.exists() and can_be_reached(each.resolve()):
            return each.resolve()
    return None


PYTHON = python_for_all()
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(PYTHON is None, reason="no Python within reach of other users"),
    as_root_with_nft(),
]


@pytest.fixture
def policy(tmp_path: Path) -> Iterator[EgressPolicy]:
    """A policy in place, and gone whatever becomes of the test."""
    block = secrets.randbelow(20_000)
    placement = Placement(
        network=a_loopback_network(), first_uid=FIRST_UID + (block << 8)
    )
    policy = EgressPolicy(home=tmp_path / "home", placement=placement)
    policy.home.mkdir()  # else whoever starts an installation meanwhile clears it away
    try:
        nftables.apply(policy)
        yield policy
    finally:
        nftables.remove(policy.home)
        assert policy.table not in nftables.applied()


class Listener:
    """Somebody at an address who answers, and remembers that they were called."""

    def __init__(
        self, host: str, port: int = 0, kind: int = socket.SOCK_STREAM
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, kind)
        self._socket.bind((host, port))
        self._socket.settimeout(WITHIN_S)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        if kind == socket.SOCK_STREAM:
            self._socket.listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def answers(self, caller: "subprocess.Popen[str]") -> str:
        with self._socket.accept()[0] as line:
            line.settimeout(WITHIN_S)
            assert line.recv(100) == b"harbour light"
            line.send(b"welcome")
            return line_of(caller)

    def heard_nothing(self) -> bool:
        self._socket.settimeout(0)
        try:
            if self._socket.type == socket.SOCK_STREAM:
                self._socket.accept()[0].close()
            else:
                self._socket.recv(100)
        except BlockingIOError:
            return True
        return False


def user(policy: EgressPolicy, slot: int) -> int:
    return (policy.placement.first_uid or 0) + slot


def address(policy: EgressPolicy, slot: int) -> str:
    return str(policy.placement.network.network_address + slot)


def calling(
    uid: int | None, host: str, port: int, kind: str = "SOCK_STREAM", *before: str
) -> "subprocess.Popen[str]":
    """Call as that user; as ourselves without one."""
    become = () if uid is None else ("setpriv", f"--reuid={uid}", "--clear-groups")
    return subprocess.Popen(
        [*before, *become, str(PYTHON), "-S", "-c", CALL, host, str(port), kind],
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(caller: "subprocess.Popen[str]") -> str:
    with caller:
        return caller.communicate(timeout=2 * WITHIN_S)[0].strip()


def call(
    uid: int | None, host: str, port: int, kind: str = "SOCK_STREAM", *before: str
) -> str:
    return line_of(calling(uid, host, port, kind, *before))


# No route, or no permission for IPv6: at once, not after minutes.
REFUSED = {"OSError 113", "PermissionError 13"}


def test_a_node_reaches_itself(policy: EgressPolicy) -> None:
    with Listener(address(policy, 3), policy.placement.rest_port) as own:
        caller = calling(user(policy, 3), own.host, own.port)
        assert own.answers(caller) == "welcome"


@pytest.mark.parametrize("slot", [1, 2, 4, 7, 11, 131, 254])
def test_a_node_reaches_no_other_node(policy: EgressPolicy, slot: int) -> None:
    with Listener(address(policy, slot), policy.placement.rest_port) as other:
        assert call(user(policy, 3), other.host, other.port) in REFUSED
        assert other.heard_nothing()


def test_a_node_reaches_nothing_else_at_its_own_address(policy: EgressPolicy) -> None:
    with Listener(address(policy, 3)) as other:
        assert call(user(policy, 3), other.host, other.port) in REFUSED
        assert other.heard_nothing()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_a_node_does_not_reach_the_platform(policy: EgressPolicy, host: str) -> None:
    listens = host.removeprefix("::ffff:")
    with Listener(listens) as api:
        assert call(user(policy, 3), host, api.port) in REFUSED
        assert api.heard_nothing()
    with Listener(listens, kind=socket.SOCK_DGRAM) as resolver:
        call(user(policy, 3), host, resolver.port, "SOCK_DGRAM")
        assert resolver.heard_nothing()


def test_a_node_does_not_reach_this_machine_by_its_other_addresses(
    policy: EgressPolicy,
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: it asks for the way
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = probe.getsockname()[0]
    with Listener(own) as database:
        assert call(user(policy, 3), own, database.port) in REFUSED
        assert database.heard_nothing()


def test_a_node_reaches_what_is_opened_and_hears_when_nobody_is_there(
    policy: EgressPolicy,
) -> None:
    with Listener("127.0.0.1") as chain:
        opening = AllowedDestination(ip_network("127.0.0.1/32"), chain.port)
        nftables.apply(replace(policy, openings=(opening,)))
        caller = calling(user(policy, 3), "127.0.0.1", chain.port)
        assert chain.answers(caller) == "welcome"
    gone = call(user(policy, 3), "127.0.0.1", chain.port)
    assert gone == "ConnectionRefusedError 111", "the kernel's reset arrives"


def test_a_node_reaches_others_by_the_gateways_peer_ports_alone(
    policy: EgressPolicy,
) -> None:
    with Listener("127.0.0.1") as gateway, Listener("127.0.0.1") as api:
        first = max(gateway.port - 1, 1)
        opening = AllowedDestination(
            ip_network("127.0.0.1/32"), first, last_port=gateway.port
        )
        if first <= api.port <= gateway.port:
            pytest.skip("the system gave two neighbours")
        nftables.apply(replace(policy, openings=(opening,)))
        caller = calling(user(policy, 3), "127.0.0.1", gateway.port)
        assert gateway.answers(caller) == "welcome"
        assert call(user(policy, 3), "127.0.0.1", api.port) in REFUSED
        assert api.heard_nothing()
    with Listener(address(policy, 4), policy.placement.peer_port) as other:
        assert call(user(policy, 3), other.host, other.port) in REFUSED
        assert other.heard_nothing()


@pytest.mark.parametrize("listens", ["rest_port", "peer_port"])
def test_others_go_where_they_went_and_the_gateway_comes_in(
    policy: EgressPolicy, listens: str
) -> None:
    serve = (
        "import socket, sys; s = socket.create_server((sys.argv[1], int(sys.argv[2])));"
        "print('serves', flush=True); line, _ = s.accept(); line.recv(100);"
        "line.send(b'welcome')"
    )
    with Listener("127.0.0.1") as api:
        assert api.answers(calling(None, "127.0.0.1", api.port)) == "welcome"
        stranger = calling(user(policy, 256), "127.0.0.1", api.port)
        assert api.answers(stranger) == "welcome"
    port = str(getattr(policy.placement, listens))
    become = ["setpriv", f"--reuid={user(policy, 3)}", "--clear-groups"]
    with subprocess.Popen(
        [*become, str(PYTHON), "-S", "-c", serve, address(policy, 3), port],
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        assert node.stdout is not None
        assert node.stdout.readline() == "serves\n"
        assert call(None, address(policy, 3), int(port)) == "welcome"
    refused = call(None, address(policy, 3), int(port))
    assert refused == "ConnectionRefusedError 111", "the kernel's reset arrives"


@pytest.fixture
def isolated_network() -> Iterator[Sequence[str]]:
    """The words that lead to a network in which every address is out there.

    It has no name, so that it ends with the process that is in it.
    """
    with subprocess.Popen(["unshare", "--net", "/bin/sleep", "600"]) as settler:
        try:
            ours = Path("/proc/self/ns/net").readlink()
            deadline = time.monotonic() + WITHIN_S
            while Path(f"/proc/{settler.pid}/ns/net").readlink() == ours:
                assert settler.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.001)
            inside = ("nsenter", f"--net=/proc/{settler.pid}/ns/net")
            for words in (
                "link set lo up",
                "link add out arp off type veth peer name void",
                "link set void up",
                "link set out up",
                "addr add 45.45.45.1/24 dev out",
                "addr add 2a00:45::1/64 dev out nodad",
                "route add default dev out",
                "-6 route add default dev out",
            ):
                subprocess.run([*inside, "ip", *words.split()], check=True)
            yield inside
        finally:
            settler.kill()


@pytest.mark.parametrize(
    ("host", "leaves"),
    [
        ("45.45.45.2", True),
        ("8.8.8.8", True),
        ("2a00:46::2", True),
        ("64:ff9b::808:808", True),
        ("10.1.2.3", False),
        ("172.31.0.1", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("192.0.0.192", False),
        ("198.18.0.1", False),
        ("224.0.0.1", False),
        ("fd00::1", False),
        ("fec0::1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b:1::1", False),
        ("45.45.45.66", False),  # a public one that the operator closed
        ("45.45.45.3", False),  # and one of which a port is ours
        ("64:ff9b::2d2d:2d42", False),  # the same two, by NAT64
        ("64:ff9b::2d2d:2d03", False),
    ],
)
def test_only_what_is_public_leaves_the_machine(
    isolated_network: Sequence[str],
    host: str,
    leaves: bool,  # noqa: FBT001  a line of the table
) -> None:
    placement = Placement(network=IPv4Network("127.64.0.0/16"), first_uid=FIRST_UID)
    closed = (ip_network("45.45.45.64/28"),)
    ours = (
        AllowedDestination(ip_network("45.45.45.3"), 7, "udp"),
        AllowedDestination(ip_network("45.45.45.2"), 5432, "udp"),
    )
    home = Path("/an/island")
    policy = EgressPolicy(home=home, placement=placement, closed=closed, locked=ours)
    leaving = (
        "table inet leaving { counter sent { }\nchain leaving { type filter hook "
        "postrouting priority 0; udp dport 7 counter name sent\n}\n}"
    )
    subprocess.run(
        [*isolated_network, "nft", "-f", "-"],
        input=policy.rules() + leaving,
        text=True,
        check=True,
    )
    said = call(user(policy, 3), host, 7, "SOCK_DGRAM", *isolated_network)
    listed = subprocess.run(
        [*isolated_network, "nft", "list", "counter", "inet", "leaving", "sent"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("packets 1 " in listed.stdout) is leaves, said


def test_whoever_takes_it_away_is_noticed(policy: EgressPolicy) -> None:
    assert nftables.is_applied(policy)
    subprocess.run(["nft", "delete", "table", "inet", policy.table], check=True)
    assert not nftables.is_applied(policy)


def test_the_policy_of_a_home_that_is_gone_makes_room_once_nobody_runs_there(
    policy: EgressPolicy,
) -> None:
    policy.home.rmdir()
    become = ["setpriv", f"--reuid={user(policy, 3)}", "--clear-groups"]
    with subprocess.Popen([*become, "/bin/sleep", "60"]) as left_over:
        while Path(f"/proc/{left_over.pid}").stat().st_uid == 0:
            time.sleep(0.01)
        nftables.remove_abandoned()
        assert nftables.is_applied(policy)
        left_over.kill()
    nftables.remove_abandoned()
    assert not nftables.is_applied(policy)

    policy.home.mkdir()
    nftables.apply(policy)
    nftables.remove_abandoned()
    assert nftables.is_applied(policy)


def test_two_installations_do_not_hold_the_same_users(
    policy: EgressPolicy, tmp_path: Path
) -> None:
    other = replace(policy, home=tmp_path / "another home")
    with (
        pytest.raises(SetupError, match="are those of another installation"),
        contextlib.ExitStack() as stack,
    ):
        stack.callback(nftables.remove, other.home)
        nftables.apply(other)
    nftables.apply(
        replace(policy, openings=(AllowedDestination(ip_network("10.0.0.0/8")),))
    )
    assert nftables.is_applied(policy), "our own is replaced"


def test_users_begin_at_a_multiple_of_their_number(tmp_path: Path) -> None:
    placement = Placement(network=IPv4Network("127.64.0.0/16"), first_uid=200_000)
    with pytest.raises(SetupError, match="must be a multiple of 65536"):
        nftables.apply(EgressPolicy(home=tmp_path, placement=placement))
