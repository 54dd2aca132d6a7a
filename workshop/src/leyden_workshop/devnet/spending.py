"""Transactions that spend coins of the mining key (BIP 143, BIP 144)."""

import hashlib
from collections.abc import Sequence

from leyden.values import Struct
from leyden_workshop.devnet.mining_key import MiningKey

_VERSION = (2).to_bytes(4, "little")
_NO_LOCK_TIME = bytes(4)
_FINAL = b"\xff\xff\xff\xff"
_REPLACEABLE = b"\xfd\xff\xff\xff"  # by a transaction that pays more (BIP 125)
_SIGHASH_ALL = (1).to_bytes(4, "little")
_MARKER_AND_FLAG = b"\x00\x01"


class SpendableOutput(Struct, frozen=True):
    """A spendable output."""

    txid: str
    vout: int
    sats: int

    @property
    def outpoint(self) -> bytes:
        """The outpoint as transactions encode it: shown hashes are reversed."""
        return bytes.fromhex(self.txid)[::-1] + self.vout.to_bytes(4, "little")


class ScriptOutput(Struct, frozen=True):
    """An amount and the script that locks it."""

    sats: int
    script: bytes

    def __bytes__(self) -> bytes:
        return self.sats.to_bytes(8, "little") + _with_length(self.script)


def spend(
    coins: Sequence[SpendableOutput],
    outputs: Sequence[ScriptOutput],
    key: MiningKey,
    *,
    replaceable: bool = False,
) -> bytes:
    """Return the signed transaction; the remainder is the miner's fee."""
    sequence = _REPLACEABLE if replaceable else _FINAL
    inputs = b"".join(coin.outpoint + b"\x00" + sequence for coin in coins)
    paid = b"".join(map(bytes, outputs))
    witnesses = b""
    for coin in coins:
        signature = key.sign(_digest(coin, coins, paid, key.witness_script, sequence))
        witnesses += b"\x02" + _with_length(signature)
        witnesses += _with_length(key.witness_script)
    return (
        _VERSION
        + _MARKER_AND_FLAG
        + (_size(len(coins)) + inputs)
        + (_size(len(outputs)) + paid)
        + witnesses
        + _NO_LOCK_TIME
    )


def virtual_size(coins: int, outputs: Sequence[ScriptOutput]) -> int:
    """Return the virtual size for fees, with signatures of maximum size."""
    base = 10 + 41 * coins + sum(len(bytes(output)) for output in outputs)
    witness = 2 + coins * (1 + 1 + 73 + 1 + 35)
    return base + (witness + 3) // 4


def _digest(
    coin: SpendableOutput,
    coins: Sequence[SpendableOutput],
    paid: bytes,
    script: bytes,
    sequence: bytes,
) -> bytes:
    """Return the digest that one input signs (BIP 143)."""
    return _twice(
        _VERSION
        + _twice(b"".join(each.outpoint for each in coins))
        + _twice(sequence * len(coins))
        + coin.outpoint
        + _with_length(script)
        + coin.sats.to_bytes(8, "little")
        + sequence
        + _twice(paid)
        + _NO_LOCK_TIME
        + _SIGHASH_ALL
    )


def _twice(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def _with_length(data: bytes) -> bytes:
    return _size(len(data)) + data


def _size(number: int) -> bytes:
    one_byte, two_bytes = 0xFD, 0x10000
    if number < one_byte:
        return number.to_bytes(1)
    if number < two_bytes:
        return b"\xfd" + number.to_bytes(2, "little")
    return b"\xfe" + number.to_bytes(4, "little")
