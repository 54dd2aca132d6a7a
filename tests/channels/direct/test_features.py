"""What an lnd that sells channels says of its peers."""

from leyden.channels.direct.lnd import features_of

HARBOUR, REEF, CLIFF = "02aa", "02bb", "02cc"


def test_a_peer_that_has_not_yet_told_its_features_is_not_known_to_have_none() -> None:
    known = {"is_known": True}
    peers = [
        {"pub_key": HARBOUR, "features": {"46": known, "50": known}},
        {"pub_key": REEF, "features": {}},
    ]
    assert features_of(HARBOUR, peers) == frozenset({46, 50})
    assert features_of(REEF, peers) is None
    assert features_of(CLIFF, peers) is None
