import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.channels.rules import destinations
from leyden.errors import Malformed
from leyden.nodes.rules import public_keys

G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
PRIME = 2**256 - 2**32 - 977


@pytest.mark.parametrize(
    ("text", "host"),
    [
        (G, ""),
        (G.upper(), ""),
        (f" {G} ", ""),
        (f"{G}@node.example.org", "node.example.org:9735"),
        (f"{G}@node.example.org:1234", "node.example.org:1234"),
        (f"{G}@198.51.100.7:9735", "198.51.100.7:9735"),
        (f"{G}@[2001:db8::1]:9735", "[2001:db8::1]:9735"),
    ],
)
def test_a_node_is_a_key_and_maybe_a_host(text: str, host: str) -> None:
    assert destinations.parse(text, field="node") == (G, host)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "02",
        "04" + G[2:],  # not compressed
        "02" + "00" * 32,  # 7 is no square
        f"02{5:064x}",  # x of no point
        f"02{PRIME:064x}",
        "03" + "ff" * 32,
        G[:-1],
        G + "0",
        "0x" + G[2:],
        "02" + "g" * 64,
    ],
)
def test_a_key_that_is_no_point_of_the_curve_is_refused(key: str) -> None:
    assert not public_keys.is_valid(key)
    with pytest.raises(Malformed, match=r"^node: "):
        destinations.parse(key, field="node")


@given(st.sampled_from(["02", "03"]), st.integers(0, 2**256 - 1))
def test_a_key_is_the_x_of_a_point_of_the_curve(sign: str, x: int) -> None:
    """Found by the root itself: the prime is 3 beyond a multiple of 4."""
    square = (x**3 + 7) % PRIME
    y = pow(square, (PRIME + 1) // 4, PRIME)
    has_point = x < PRIME and y * y % PRIME == square
    assert public_keys.is_valid(f"{sign}{x:064x}") is has_point


def test_a_text_longer_than_any_node_is_not_read() -> None:
    assert destinations.parse(G.ljust(400), field="node") == (G, "")
    with pytest.raises(Malformed, match=r"^node: must be a public key, or"):
        destinations.parse(G.ljust(401), field="node")


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":9735",
        "a b:1",
        "host:0",
        "host:65536",
        "host:x",
        "2130706433:9735",
        "127.1:9735",
        "[::1%eth0]:9735",
        "[fe80::1",
        "x" * 300,
        "abcdefghij234567.onion:9735",
        "ABC.ONION",
    ],
)
def test_a_host_that_cannot_be_dialled_is_refused(host: str) -> None:
    with pytest.raises(Malformed, match=r"^node: "):
        destinations.parse(f"{G}@{host}", field="node")
