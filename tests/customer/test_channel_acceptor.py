"""What an owner's acceptor says about channels that peers want to open."""

import base64

import pytest

from leyden.customer.channel_acceptor import answer

TRUSTED, OTHER = "02" + "ab" * 32, "03" + "cd" * 32


def asked(peer: str, *, zero_conf: bool) -> dict[str, object]:
    return {
        "node_pubkey": base64.b64encode(bytes.fromhex(peer)).decode(),
        "pending_chan_id": "AAEC",
        "wants_zero_conf": zero_conf,
    }


@pytest.mark.parametrize(
    ("peer", "wants", "accepts", "at_once"),
    [
        (TRUSTED, True, True, True),
        (TRUSTED, False, True, False),
        # What lnd does without an acceptor.
        (OTHER, False, True, False),
        (OTHER, True, False, False),
    ],
)
def test_one_peer_is_trusted(
    peer: str,
    wants: bool,  # noqa: FBT001
    accepts: bool,  # noqa: FBT001
    at_once: bool,  # noqa: FBT001
) -> None:
    said = answer(asked(peer, zero_conf=wants), TRUSTED)
    assert (said["accept"], said["zero_conf"]) == (accepts, at_once)
    assert said["pending_chan_id"] == "AAEC"
    assert ("error" in said) is not accepts
