"""The journal of blocks, with a small chain that can forget as btcd does."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leyden.errors import Refused
from leyden_workshop.devnet.journal import Journal


class ForgetfulChain:
    """The calls that the journal makes; blocks are their own names."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self.best = "genesis"
        self.submitted: list[str] = []

    async def call(self, method: str, *params: Any) -> Any:
        await asyncio.sleep(0)
        match method:
            case "getbestblockhash":
                return self.best
            case "getblockheader":
                if params[0] not in self.blocks:
                    raise Refused("Block not found")
                return {
                    "height": self.height(params[0]),
                    "previousblockhash": self.parents.get(params[0], ""),
                }
            case "getblock":
                return f"block:{params[0]}:{self.parents[params[0]]}"
            case "submitblock":
                _, name, parent = params[0].split(":")
                assert parent in self.blocks
                assert name not in self.blocks
                self.submitted.append(name)
                self.mine(name, on=parent)
        return None

    @property
    def blocks(self) -> set[str]:
        return {"genesis", *self.parents}

    def height(self, name: str) -> int:
        return 0 if name == "genesis" else 1 + self.height(self.parents[name])

    def mine(self, *names: str, on: str | None = None) -> None:
        for name in names:
            self.parents[name] = on or self.best
            if self.height(name) > self.height(self.best):
                self.best = name
            on = None

    def forget(self, *names: str) -> None:
        for name in names:
            del self.parents[name]
        self.best = max(self.blocks, key=self.height)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "blocks.journal"


@pytest.fixture
def chain() -> ForgetfulChain:
    chain = ForgetfulChain()
    chain.mine("spring", "summer", "autumn")
    return chain


def _stored_lines(path: Path) -> list[str]:
    return [line.split()[1] for line in path.read_text().splitlines()]


async def test_new_blocks_are_kept_once_in_their_order(
    path: Path, chain: ForgetfulChain
) -> None:
    journal = Journal(path)
    assert journal.empty
    assert await journal.catch_up(chain) == 3
    assert await journal.catch_up(chain) == 0
    chain.mine("winter")
    assert await Journal(path).catch_up(chain) == 1
    assert _stored_lines(path) == ["spring", "summer", "autumn", "winter"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not journal.empty


@pytest.mark.parametrize(
    "forgotten",
    [(), ("autumn",), ("autumn", "summer"), ("autumn", "summer", "spring")],
)
async def test_what_was_forgotten_is_given_back_and_nothing_else(
    path: Path, chain: ForgetfulChain, forgotten: tuple[str, ...]
) -> None:
    await Journal(path).catch_up(chain)
    chain.forget(*forgotten)
    assert await Journal(path).restore(chain) == len(forgotten)
    assert chain.best == "autumn"
    assert chain.submitted == list(reversed(forgotten))


async def test_both_sides_of_a_fork_are_kept(path: Path, chain: ForgetfulChain) -> None:
    await Journal(path).catch_up(chain)
    chain.mine("dry-autumn", "dry-winter", on="summer")
    chain.mine("dry-winter", on="dry-autumn")
    await Journal(path).catch_up(chain)
    chain.forget("autumn", "dry-autumn", "dry-winter")
    await Journal(path).restore(chain)
    assert chain.best == "dry-winter"
    assert chain.submitted == ["autumn", "dry-autumn", "dry-winter"]


async def test_two_who_write_at_once_keep_each_block_once(
    path: Path, chain: ForgetfulChain
) -> None:
    await asyncio.gather(*(Journal(path).catch_up(chain) for _ in range(5)))
    assert _stored_lines(path) == ["spring", "summer", "autumn"]


async def test_half_a_line_of_a_killed_writer_is_no_block(
    path: Path, chain: ForgetfulChain
) -> None:
    await Journal(path).catch_up(chain)
    with path.open("a") as file:
        file.write("4 winter block:winter:" + "0" * 500)
    chain.mine("winter")
    journal = Journal(path)
    assert await journal.restore(chain) == 0
    assert await journal.catch_up(chain) == 1
    assert _stored_lines(path) == ["spring", "summer", "autumn", "winter"]
