"""Prometheus's own parser reads what we write."""

from prometheus_client.parser import text_string_to_metric_families

from leyden import figures
from leyden.figures import Figure


def read(figure: Figure) -> dict[tuple[str, ...], float]:
    (family,) = text_string_to_metric_families(figure.text())
    return {tuple(each.labels.values()): each.value for each in family.samples}


def test_a_gauge_without_labels_is_there_from_the_start() -> None:
    depth = Figure("harbour_depth", "Metres.", (), kind="gauge")
    assert read(depth) == {(): 0}
    depth.set(-12.5)
    assert read(depth) == {(): -12.5}


def test_a_counter_has_a_figure_for_each_set_of_labels() -> None:
    calls = Figure("calls_total", "Calls.", ("port", "of"), kind="counter")
    assert read(calls) == {}
    for _ in range(3):
        calls.count("east", "200")
    calls.count('a "b"\\\n', "404")
    assert read(calls) == {("east", "200"): 3, ('a "b"\\\n', "404"): 1}
    assert calls.value("east", "200") == 3
    assert calls.value("west", "200") is None


def test_a_figure_of_one_name_is_one_figure() -> None:
    first = figures.gauge("harbour_ships", "Ships.")
    first.set(7)
    assert figures.gauge("harbour_ships", "Ships.") is first
    assert b"harbour_ships 7.0\n" in figures.text()
