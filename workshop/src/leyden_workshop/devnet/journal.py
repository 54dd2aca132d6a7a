"""The block journal of a private chain, written before blocks are used.

btcd holds new blocks in memory for up to five minutes: when killed, it
comes back without them (450 blocks mined, kill -9, height 0). On a private
chain nobody else has them, and an lnd that has seen a lost block has lost
its money. So each block is appended here, and is submitted to btcd again
before other programs see the chain.
"""

import fcntl
import os
from pathlib import Path

from leyden.errors import Refused
from leyden_workshop.devnet.chain import BtcdCalls

_GENESIS = 0


class Journal:
    """An append-only block file; several processes may write to it.

    Its lines are `HEIGHT HASH BLOCK`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hashes: list[str] = []
        self._known: set[str] = set()
        self._read_to = 0

    @property
    def empty(self) -> bool:
        """Whether the journal has no blocks."""
        return not self._path.exists() or self._path.stat().st_size == 0

    async def catch_up(self, chain: BtcdCalls) -> int:
        """Append the chain's missing blocks; return their number."""
        missing: list[tuple[int, str]] = []
        self._read_new()
        block_hash: str = await chain.call("getbestblockhash")
        while block_hash not in self._known:
            header = await chain.call("getblockheader", block_hash, True)  # noqa: FBT003
            if header["height"] == _GENESIS:
                break
            missing.append((header["height"], block_hash))
            block_hash = header["previousblockhash"]
        lines = {}
        for height, wanted in reversed(missing):
            block = await chain.call("getblock", wanted, 0)
            lines[wanted] = f"{height} {wanted} {block}\n".encode()
        if lines:
            self._append(lines)
        return len(lines)

    async def restore(self, chain: BtcdCalls) -> int:
        """Submit journaled blocks that btcd lacks; return their number."""
        self._read_new()
        # What btcd lost are the last ones: find the first that it does not know.
        low, high = 0, len(self._hashes)
        while low < high:
            middle = (low + high) // 2
            if await _has(chain, self._hashes[middle]):
                low = middle + 1
            else:
                high = middle
        lost = set(self._hashes[low:])
        if lost:
            with self._path.open() as file:
                for line in file:
                    _, block_hash, block = line.split()
                    if block_hash in lost:
                        await chain.call("submitblock", block)
        return len(lost)

    def _read_new(self) -> None:
        """Read blocks that any process appended since the last read."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # someone is writing, or was killed while writing
                self._read_to += len(line)
                block_hash = line.split()[1].decode()
                if block_hash not in self._known:
                    self._known.add(block_hash)
                    self._hashes.append(block_hash)

    def _append(self, lines: dict[str, bytes]) -> None:
        number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(number, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._read_new()
            # Beyond this lies at most the half line of a writer that was killed.
            file.truncate(self._read_to)
            file.seek(self._read_to)
            file.writelines(v for k, v in lines.items() if k not in self._known)
            file.flush()
            os.fsync(number)
        self._read_new()


async def _has(chain: BtcdCalls, block_hash: str) -> bool:
    try:
        await chain.call("getblockheader", block_hash)
    except Refused:
        return False
    return True
