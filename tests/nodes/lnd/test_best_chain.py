"""Which confirmations count: those of the chain that is the best one now."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from leyden.errors import NodeRefused
from leyden.nodes.lnd.best_chain import BLOCK_HASH, BestChain, Confirmation

_TIP = 110
_MIDDLE = 9  # calls: some of the blocks that will be undone are answered by then


def raw(height: int) -> bytes:
    """Return a transaction, another one for each height."""
    paid = b"\x01" + bytes(36) + b"\x00" + bytes(4) + b"\x01" + bytes(8) + b"\x01\x51"
    return bytes(4) + paid + height.to_bytes(4, "little")


def named(height: int, branch: str = "") -> Confirmation:
    txid = hashlib.sha256(hashlib.sha256(raw(height)).digest()).digest()[::-1].hex()
    found = hashlib.sha256(f"{branch}{height}".encode()).hexdigest()
    return Confirmation(txid, height, found)


class Backend:
    """A chain whose newest blocks another branch may replace."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.opened: list[str] = []
        self.tip, self.branch, self.fork = _TIP, "", _TIP
        self.again: dict[str, int] = {}  # transactions of the other branch, by block
        self.meanwhile: Callable[[], None] = lambda: None

    def reorganise(self, depth: int, branch: str = "other") -> None:
        self.branch, self.fork = branch, self.tip - depth
        self.tip += 1

    async def call(self, method: str, path: str) -> dict[str, Any]:
        assert method == "GET"
        request = parse_qs(urlsplit(path).query)
        if not path.startswith(BLOCK_HASH):
            return self._block(request["block_hash"][0])
        height = int(request["block_height"][0])
        self.asked.append(height)
        if height > self.tip:
            raise NodeRefused("-1: Block number out of range")
        found = named(height, self.branch if height > self.fork else "").block_hash
        if len(self.asked) == _MIDDLE:
            meanwhile, self.meanwhile = self.meanwhile, lambda: None
            meanwhile()
        return {"block_hash": base64.b64encode(bytes.fromhex(found)[::-1])}

    def _block(self, name: str) -> dict[str, Any]:
        found = base64.urlsafe_b64decode(name)[::-1].hex()
        self.opened.append(found)
        has = [raw(self.again[found])] if found in self.again else []
        block = bytes(80) + bytes([len(has)]) + b"".join(has)
        return {"raw_block": base64.b64encode(block)}


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest.fixture
def chain(backend: Backend) -> BestChain:
    return BestChain(backend)


async def test_a_confirmation_counts_if_the_chain_has_its_block(
    chain: BestChain,
) -> None:
    ours = {named(100), named(108)}
    assert await chain.having({*ours, named(107, "gone")}) == ours
    assert await chain.having([]) == set()


async def test_a_known_block_is_asked_for_no_more(
    chain: BestChain, backend: Backend
) -> None:
    before = [named(each) for each in range(90, 109)]
    await chain.having(before)
    backend.asked.clear()
    backend.tip += 1
    assert await chain.having(before) == set(before)
    assert set(backend.asked) == {108}
    more = [*before, named(110)]
    assert await chain.having(more) == set(more)
    assert set(backend.asked) == {108, 110}
    assert backend.opened == []


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
async def test_after_a_reorganisation_what_was_undone_counts_no_more(
    chain: BestChain, backend: Backend, depth: int
) -> None:
    before = [named(each) for each in range(100, _TIP + 1)]
    assert await chain.having(before) == set(before)
    backend.reorganise(depth)
    left = {each for each in before if each.height <= _TIP - depth}
    assert await chain.having(before) == left
    assert await chain.having([named(_TIP, "other")]) == {named(_TIP, "other")}


async def test_a_block_named_wrongly_counts_if_that_at_its_height_has_it(
    chain: BestChain, backend: Backend
) -> None:
    """lnd names the block that is gone for what is in the one that replaced it."""
    before = [named(_TIP - 1), named(_TIP)]
    backend.reorganise(2)
    backend.again[named(_TIP, "other").block_hash] = _TIP
    for _ in range(2):
        assert await chain.having(before) == {named(_TIP)}
    assert len(backend.opened) == 2, "each block was read once"


async def test_all_answers_are_of_one_chain(chain: BestChain, backend: Backend) -> None:
    before = [named(each) for each in range(100, _TIP + 1)]
    backend.meanwhile = lambda: backend.reorganise(6)
    left = {each for each in before if each.height <= _TIP - 6}
    assert await chain.having(before) == left


async def test_of_a_shorter_chain_nothing_is_known(chain: BestChain) -> None:
    """The backend may be catching up: that is no reorganisation."""
    with pytest.raises(NodeRefused, match="out of range"):
        await chain.having([named(100), named(_TIP + 1)])
