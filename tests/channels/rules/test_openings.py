"""What a node's features say about the channels that it takes."""

import pytest

from leyden.channels.direct.rules.openings import takes_zero_conf


@pytest.mark.parametrize(
    ("features", "takes"),
    [
        ({47, 51}, True),
        ({46, 50}, True),  # who insists on it knows it
        ({46, 51}, True),
        ({47, 50, 1, 8}, True),
        (set(), False),
        ({47}, False),
        ({51}, False),
        ({46, 47}, False),
        ({48, 52}, False),
        ({49, 53}, False),
    ],
)
def test_a_channel_usable_at_once_takes_two_features(
    features: set[int], *, takes: bool
) -> None:
    assert takes_zero_conf(features) is takes
