"""Nodes of which nothing is known are counted, whichever runtime cannot see them."""

from prometheus_client import REGISTRY

from leyden.runtimes.unknown import UnknownNodes


def counted() -> float | None:
    return REGISTRY.get_sample_value("leyden_nodes_unknown")


def test_nodes_of_two_runtimes_are_counted_together() -> None:
    here, pods = UnknownNodes("processes"), UnknownNodes("pods")
    pods.add("1", "its machine does not respond")
    pods.add("2", "its machine does not respond")
    here.add("3", "its folder is missing")
    assert counted() == 3
    here.discard("3")
    here.discard("1")  # as it is told to forget any node
    assert counted() == 2
    assert "1" in pods


def test_of_a_runtime_that_was_replaced_none_is_counted() -> None:
    UnknownNodes("pods").add("1", "its machine does not respond")
    UnknownNodes("pods").discard("1")
    UnknownNodes("processes").discard("1")
    assert counted() == 0
