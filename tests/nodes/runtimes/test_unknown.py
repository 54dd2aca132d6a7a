"""Nodes of which nothing is known are counted, whichever runtime cannot see them."""

import pytest

from leyden.nodes.runtimes.unknown import UnknownNodes
from tests.metrics import unknown_nodes

pytestmark = pytest.mark.usefixtures("no_unknown_nodes")


def test_nodes_of_two_runtimes_are_counted_together() -> None:
    here, pods = UnknownNodes("processes"), UnknownNodes("pods")
    pods.add("1", "its machine does not respond")
    pods.add("2", "its machine does not respond")
    here.add("3", "its folder is missing")
    assert unknown_nodes() == 3
    here.discard("3")
    here.discard("1")  # as it is told to forget any node
    assert unknown_nodes() == 2
    assert "1" in pods


def test_of_a_runtime_that_was_replaced_none_is_unknown_nodes() -> None:
    UnknownNodes("pods").add("1", "its machine does not respond")
    UnknownNodes("pods")
    assert unknown_nodes() == 0
