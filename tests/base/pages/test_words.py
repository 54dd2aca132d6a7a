"""What people read for a state."""

import pytest

from leyden.base.pages.words import LABELS, label
from leyden.channels.rules import orders
from leyden.events.rules import deliveries
from leyden.nodes.rules import nodes

STATES = (*nodes.NodeStatus, *orders.OrderStatus, *deliveries.DeliveryState)


@pytest.mark.parametrize("state", sorted(set(STATES)))
def test_every_state_has_words_for_people(state: str) -> None:
    assert state in LABELS
    assert "_" not in label(state)
    assert label(state)[0].isupper()


def test_no_two_states_of_a_thing_read_the_same() -> None:
    for states in (nodes.NodeStatus, orders.OrderStatus, deliveries.DeliveryState):
        assert len({label(each) for each in states}) == len(states)


def test_a_word_without_a_label_is_written_out() -> None:
    assert label("credit_used") == "Credit used"
