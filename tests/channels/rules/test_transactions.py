"""The ids of signed transactions."""

import hashlib

import pytest

from leyden.channels.direct.rules.transactions import txid_of

# Of BIP 144's form: one witness input, one output, and a witness of two items.
_INPUT = f"{'ab' * 32}00000000" + "00" + "ffffffff"
_OUTPUT = "a086010000000000" + "16" + "0014" + "cd" * 20
SIGNED = f"02000000000101{_INPUT}01{_OUTPUT}02" + "01aa" + "02bbcc" + "00000000"


def test_the_id_is_that_of_the_transaction_without_its_witness() -> None:
    other_witness = SIGNED.replace("01aa", "01dd")
    assert txid_of(SIGNED) == txid_of(other_witness)
    assert txid_of(SIGNED) != txid_of(SIGNED.replace("a086", "a186"))


def test_the_id_is_what_the_network_calls_it() -> None:
    plain = bytes.fromhex(f"0200000001{_INPUT}01{_OUTPUT}00000000")
    digest = hashlib.sha256(hashlib.sha256(plain).digest()).digest()
    assert txid_of(SIGNED) == digest[::-1].hex()


@pytest.mark.parametrize(
    "strange",
    [
        SIGNED.replace("000000000101", "0000000001", 1),
        SIGNED.replace("00" + "ffffffff", "0151" + "ffffffff", 1),
        SIGNED[:60],
    ],
    ids=["without a witness", "with a script", "cut off"],
)
def test_what_signing_would_have_changed_is_refused(strange: str) -> None:
    with pytest.raises(ValueError, match="transaction"):
        txid_of(strange)
