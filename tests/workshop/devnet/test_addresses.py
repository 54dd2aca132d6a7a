"""Addresses, with the examples of BIP 173 and BIP 350."""

import pytest

from leyden.errors import Malformed
from leyden_workshop.devnet import addresses
from leyden_workshop.devnet.addresses import Kinds, output_script, witness_address

KEY_HASH = "751e76e8199196d454941c45d1b3a323f1433bd6"
GOOD = {
    "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4": f"0014{KEY_HASH}",
    "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y": (
        f"5128{KEY_HASH}{KEY_HASH}"
    ),
    "BC1SW50QGDZ25J": "6002751e",
    "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs": "5210751e76e8199196d454941c45d1b3a323",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0": (
        "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    ),
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2": (
        "76a91477bff20c60e522dfaa3350c39b030a5d004e839a88ac"
    ),
    "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy": (
        "a914b472a266d0bd89c13706a4132ccfb16f7c3b9fcb87"
    ),
}
BAD = [
    "tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut",  # another prefix
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",  # the older sum
    "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL",  # the same
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",  # the later sum
    "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",  # a letter
    "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R",  # version 17
    "bc1pw5dgrnzv",  # one byte
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",
    "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",  # 16 bytes
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf",  # padding
    "bc1gmk9yu",  # nothing
    "bc1qW508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",  # two cases
    "bc1",
    "",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
    "2J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
    "1" * 500,
    "z" * 100,
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN0",
]


@pytest.fixture(autouse=True)
def mainnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples are of a chain that we never mine on."""
    monkeypatch.setitem(addresses.CHAINS, "mainnet", Kinds("bc", 0, 5))


@pytest.mark.parametrize("address", GOOD)
def test_an_address_says_what_an_output_has_to_say(address: str) -> None:
    assert output_script("mainnet", address).hex() == GOOD[address]


@pytest.mark.parametrize("address", BAD)
def test_what_is_no_address_of_the_chain_is_refused(address: str) -> None:
    with pytest.raises(Malformed, match="is not an address of mainnet"):
        output_script("mainnet", address)


def test_each_chain_has_addresses_of_its_own() -> None:
    program = bytes.fromhex(KEY_HASH)
    regtest = witness_address("regtest", program)
    assert regtest == "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
    assert witness_address("simnet", program).startswith("sb1q")
    with pytest.raises(Malformed):
        output_script("simnet", regtest)
