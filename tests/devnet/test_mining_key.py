"""The key that all coins of a private chain are mined to, and what it signs."""

import hashlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
)

from leyden.errors import SetupError
from leyden_workshop.devnet.addresses import output_script
from leyden_workshop.devnet.mining_key import MiningKey
from leyden_workshop.devnet.spending import Coin, Output, spend, virtual_size

HALF = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 // 2


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "mining.key"
    made = MiningKey.load_or_create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert MiningKey.load_or_create(path).witness_program == made.witness_program
    assert [each.name for each in tmp_path.iterdir()] == ["mining.key"]


@pytest.mark.parametrize("text", ["", "walrus", "0", "f" * 65])
def test_a_spoilt_file_is_told_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mining.key"
    path.write_text(text)
    with pytest.raises(SetupError, match="has no key"):
        MiningKey.load_or_create(path)
    assert path.read_text() == text


def test_its_address_pays_to_its_script(tmp_path: Path) -> None:
    key = MiningKey.load_or_create(tmp_path / "mining.key")
    for chain in ("simnet", "regtest"):
        assert output_script(chain, key.address(chain)) == key.output_script


def test_its_signatures_are_the_ones_that_nodes_relay(tmp_path: Path) -> None:
    key = MiningKey.load_or_create(tmp_path / "mining.key")
    for number in range(40):
        digest = hashlib.sha256(bytes([number])).digest()
        signature, kind = key.sign(digest)[:-1], key.sign(digest)[-1]
        assert kind == 1
        assert decode_dss_signature(signature)[1] <= HALF
        key.secret.public_key().verify(
            signature, digest, ec.ECDSA(Prehashed(hashes.SHA256()))
        )


@pytest.mark.parametrize("coins", [1, 2, 100, 300])
def test_a_fee_is_counted_by_no_less_than_the_transaction_is(
    tmp_path: Path, coins: int
) -> None:
    key = MiningKey.load_or_create(tmp_path / "mining.key")
    owned = [Coin(f"{number:064x}", number, 5_000) for number in range(coins)]
    outputs = [Output(1_000, key.output_script)] * 2
    whole = spend(owned, outputs, key)
    witness = 2 + coins * (3 + len(key.witness_script)) + _signatures(whole, coins)
    weight = 4 * (len(whole) - witness) + witness
    assert weight <= 4 * virtual_size(coins, outputs) <= weight + 4 * (coins + 8)


def _signatures(whole: bytes, coins: int) -> int:
    """Count the bytes of all signatures, which vary by one or two each."""
    rest, total = whole[:-4], 0
    for _ in range(coins):
        rest = rest[: -(1 + 35)]
        length = next(size for size in (72, 71, 70, 69) if rest[-size - 1] == size)
        rest = rest[: -(1 + length + 1)]
        total += length
    return total
