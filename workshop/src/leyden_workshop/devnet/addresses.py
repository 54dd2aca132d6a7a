"""Encoding and decoding of private chains' addresses.

btcd's own calls do not support taproot, which lnd's addresses use, so they
are parsed here: BIP 173, BIP 350, and base58 for older ones.
"""

import hashlib
from collections.abc import Iterable, Sequence

from leyden.errors import Malformed
from leyden.values import Struct

_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECK_BITS = 6
_OLDEST_CONSTANT, _LATER_CONSTANT = 1, 0x2BC830A3
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_NEWEST_VERSION = 16
_KEY_OR_SCRIPT_HASH = (20, 32)


class Kinds(Struct, frozen=True):
    """The address prefixes of one chain."""

    witness: str
    key_hash: int
    script_hash: int


CHAINS = {"simnet": Kinds("sb", 0x3F, 0x7B), "regtest": Kinds("bcrt", 0x6F, 0xC4)}


def witness_address(chain: str, program: bytes) -> str:
    """Return the address of a witness program of version 0."""
    prefix = CHAINS[chain].witness
    data = [0, *_regrouped(program, 8, 5, pad=True)]
    check = _polymod(prefix, [*data, *[0] * _CHECK_BITS]) ^ _constant(0)
    data += [(check >> 5 * (5 - i)) & 31 for i in range(_CHECK_BITS)]
    return prefix + "1" + "".join(_LETTERS[value] for value in data)


def output_script(chain: str, address: str) -> bytes:
    """Return the output script of an address; reject other chains' ones."""
    kinds = CHAINS[chain]
    if address.lower().startswith(kinds.witness + "1"):
        script = _witness_script(kinds.witness, address)
    else:
        script = _hash_script(kinds, address)
    if script is None:
        raise Malformed(f"address: {address[:100]!r} is not an address of {chain}")
    return script


def _witness_script(prefix: str, address: str) -> bytes | None:
    text = address.lower()
    values = [_LETTERS.find(letter) for letter in text[len(prefix) + 1 :]]
    if (
        address not in {text, text.upper()}
        or -1 in values
        or len(values) <= _CHECK_BITS
    ):
        return None
    version, data = values[0], values[1:-_CHECK_BITS]
    if _polymod(prefix, values) != _constant(version) or version > _NEWEST_VERSION:
        return None
    program = bytes(_regrouped(data, 5, 8, pad=False))
    lengths = _KEY_OR_SCRIPT_HASH if version == 0 else range(2, 41)
    # What is left over must be fewer than five bits, all zero: one way to write it.
    if len(program) not in lengths or _more_than_padding(data):
        return None
    opcode = 0 if version == 0 else 0x50 + version
    return bytes([opcode, len(program)]) + program


def _hash_script(kinds: Kinds, address: str) -> bytes | None:
    number = 0
    for digit in address:
        value = _DIGITS.find(digit)
        if value < 0:
            return None
        number = number * 58 + value
    length = 1 + 20 + 4
    if number >= 1 << 8 * length:
        return None
    data, check = number.to_bytes(length)[:-4], number.to_bytes(length)[-4:]
    if hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4] != check:
        return None
    if data[0] == kinds.key_hash:
        return b"\x76\xa9\x14" + data[1:] + b"\x88\xac"
    if data[0] == kinds.script_hash:
        return b"\xa9\x14" + data[1:] + b"\x87"
    return None


def _more_than_padding(data: Sequence[int]) -> bool:
    left = len(data) * 5 % 8
    return left >= 5 or bool(data and data[-1] & ((1 << left) - 1))  # noqa: PLR2004


def _constant(version: int) -> int:
    return _OLDEST_CONSTANT if version == 0 else _LATER_CONSTANT


def _regrouped(
    data: Iterable[int], bits_in: int, bits_out: int, *, pad: bool
) -> Iterable[int]:
    number = held = 0
    for value in data:
        number, held = (number << bits_in | value) & 0xFFF, held + bits_in
        while held >= bits_out:
            held -= bits_out
            yield number >> held & ((1 << bits_out) - 1)
    if pad and held:
        yield number << bits_out - held & ((1 << bits_out) - 1)


def _polymod(prefix: str, values: Iterable[int]) -> int:
    """Compute the bech32 checksum over the prefix and the values."""
    spelled = [*(ord(c) >> 5 for c in prefix), 0, *(ord(c) & 31 for c in prefix)]
    check = 1
    for value in (*spelled, *values):
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for i, generator in enumerate(_GENERATOR):
            if top >> i & 1:
                check ^= generator
    return check
