"""A graph's file, written as bbolt writes it: what is read of it, and what is not."""

import struct
from pathlib import Path

import pytest

from leyden.nodes.lnd import identity

KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
OTHER = "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
SIZE = 4096


def leaf(number: int, *elements: tuple[int, bytes, bytes]) -> bytes:
    """Return a page, or what is inside a small bucket."""
    heads, bodies = b"", b""
    at = 16 * len(elements)
    for position, (kind, name, value) in enumerate(elements):
        where = at + len(bodies) - 16 * position
        heads += struct.pack("<IIII", kind, where, len(name), len(value))
        bodies += name + value
    return struct.pack("<QHHI", number, 2, len(elements), 0) + heads + bodies


def branch(number: int, *below: tuple[bytes, int]) -> bytes:
    heads, names = b"", b""
    for position, (name, page) in enumerate(below):
        where = 16 * (len(below) - position) + len(names)
        heads += struct.pack("<IIQ", where, len(name), page)
        names += name
    return struct.pack("<QHHI", number, 1, len(below), 0) + heads + names


def meta(number: int, *, root: int, transaction: int) -> bytes:
    answer = struct.pack(
        "<IIIIQQQQQ", 0xED0CDAED, 2, SIZE, 0, root, 0, 0, 9, transaction
    )
    found = 0xCBF29CE484222325
    for byte in answer:
        found = (found ^ byte) * 0x100000001B3 % 2**64
    header = struct.pack("<QHHI", number, 4, 0, 0)
    return header + answer + struct.pack("<Q", found)


def bucket(key: str, root: int = 0) -> bytes:
    inside = leaf(0, (0, b"source", bytes.fromhex(key)))
    return struct.pack("<QQ", root, 0) + (b"" if root else inside)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "channel.db"


def write(file: Path, *pages: bytes) -> str:
    file.write_bytes(b"".join(each.ljust(SIZE, b"\0") for each in pages))
    return identity.read(file)


def test_the_newest_of_both_metas_counts(file: Path) -> None:
    pages = (
        leaf(2, (1, b"graph-node", bucket(KEY))),
        leaf(3, (1, b"graph-node", bucket(OTHER))),
    )
    old, new = meta(0, root=2, transaction=7), meta(1, root=3, transaction=8)
    assert write(file, old, new, *pages) == OTHER
    torn = new[:-1] + bytes([new[-1] ^ 1])
    assert write(file, old, torn, *pages) == KEY, "half written"
    assert write(file, torn, torn, *pages) == ""


def test_it_is_found_below_branches(file: Path) -> None:
    both = meta(0, root=2, transaction=1), meta(1, root=2, transaction=2)
    top = branch(2, (b"a", 3), (b"graph-node", 4), (b"x", 3))
    first = leaf(3, (1, b"edge", b""))
    second = leaf(4, (1, b"graph-node", bucket(KEY, root=5)))
    inside = branch(5, (b"\x02", 3), (b"source", 6))
    last = leaf(6, (0, b"source", bytes.fromhex(KEY)))
    assert write(file, *both, top, first, second, inside, last) == KEY


@pytest.mark.parametrize(
    "root",
    [
        leaf(2, (1, b"graph-nodes", bucket(KEY))),
        leaf(2, (1, b"graph-node", bucket("02" + "00" * 32))),  # on no curve
        leaf(2, (1, b"graph-node", bucket(KEY + "00"))),
        leaf(2, (1, b"graph-node", bucket(KEY)))[:60],
        branch(2, (b"a", 2)),  # its own child
        branch(2, (b"a", 2**60)),
        branch(2),
        struct.pack("<QHHI", 2, 2, 65_535, 0),
        struct.pack("<QHHI", 2, 2, 1, 2**31),
    ],
)
def test_what_is_no_key_is_none(file: Path, root: bytes) -> None:
    both = meta(0, root=2, transaction=1), meta(1, root=2, transaction=2)
    assert write(file, *both, root) == ""


@pytest.mark.parametrize("content", [b"", b"\0" * 80, b"\xff" * 9_000])
def test_what_is_no_database_has_none(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert identity.read(file) == ""
