"""Charts say when, how much, and nothing where nothing is known."""

from datetime import timedelta
from typing import Any

from leyden.nodes.pages.charts import charts
from leyden.nodes.rules.samples import DAY, MONTH, Sample
from tests.conftest import NOW


def sample(minutes: float, **changes: float | None) -> Sample:
    known: dict[str, Any] = {
        "memory": 1 << 20,
        "cpu_cores": None,
        "bytes_in": 0,
        "bytes_out": 0,
        "height": 0,
        **changes,
    }
    return Sample(at=NOW + timedelta(minutes=minutes), **known)


def test_there_is_no_chart_of_one_sample() -> None:
    assert charts([]) is None
    assert charts([sample(0)]) is None


def test_each_value_belongs_to_a_time() -> None:
    found = charts(
        [sample(0), sample(1, bytes_in=6000, memory=3 << 20), sample(2, bytes_in=6000)]
    )
    assert found is not None
    assert [each.name for each in found.each] == ["Memory", "Traffic in", "Traffic out"]
    began = int(NOW.timestamp())
    assert found.times == f"{began},{began + 60},{began + 120}"
    memory, traffic, _ = found.each
    assert memory.values == f"{1 << 20},{3 << 20},{1 << 20}"
    assert (memory.latest, memory.note) == ("1.0 MiB", "at most 3.0 MiB")
    assert (traffic.values, traffic.unit) == (",100,0", "bytes/s")
    assert traffic.path == "M50.0 1.0L100.0 29.0"


def test_no_line_is_drawn_over_a_time_in_which_the_node_was_down() -> None:
    found = charts([sample(0), sample(0.5), sample(10), sample(10.5)])
    assert found is not None
    assert found.each[0].path.count("M") == 2


def test_a_height_that_is_not_known_is_left_out() -> None:
    found = charts([sample(0), sample(1, height=811), sample(2, height=814)])
    assert found is not None
    block = found.each[0]
    assert (block.name, block.values) == ("Block height", ",811,814")
    assert (block.latest, block.note) == ("814", "3 new")
    undone = charts([sample(0, height=814), sample(1, height=813)])
    assert undone is not None
    assert undone.each[0].note == "1 undone"


def test_of_what_is_not_known_there_is_no_chart() -> None:
    unknown = {"memory": None, "bytes_in": None, "bytes_out": None}
    found = charts([sample(0, **unknown), sample(1, **unknown)])
    assert found is not None
    assert found.each == []
    some = charts([sample(0, bytes_in=None), sample(1), sample(2, bytes_in=6000)])
    assert some is not None
    assert [each.name for each in some.each] == ["Memory", "Traffic in", "Traffic out"]
    assert some.each[1].values == ",,100"


def test_processors_are_shown_in_parts_of_one() -> None:
    found = charts([sample(0), sample(1, cpu_cores=0.1254), sample(2, cpu_cores=0)])
    assert found is not None
    processor = found.each[1]
    assert (processor.name, processor.unit) == ("Processor", "cores")
    assert processor.values == ",125,0"
    assert processor.latest == "0.0 % of a core"
    assert processor.note == "at most 12.5 % of a core"


def test_times_below_the_chart_are_round() -> None:
    hour = charts([sample(3), sample(30), sample(63)])
    assert hour is not None
    assert [each.at.minute for each in hour.ticks] == [15, 30, 45, 0]
    assert hour.ticks[0].x == "20.0"
    assert hour.ticks[-1].anchor == "end"
    moments = charts([sample(0.2), sample(0.7)])
    assert moments is not None
    assert [each.anchor for each in moments.ticks] == ["start", "end"]


def test_a_day_and_a_month_have_steps_and_round_times_of_their_own() -> None:
    day = charts([sample(15 * each) for each in range(96)], DAY)
    assert day is not None
    assert day.each[0].path.count("M") == 1
    assert len(day.ticks) in {3, 4}
    assert {each.at.hour % 6 for each in day.ticks} == {0}
    month = charts([sample(60 * each) for each in range(720)], MONTH)
    assert month is not None
    assert month.each[0].path.count("M") == 1
    assert len(month.ticks) in {4, 5}
    assert {each.at.hour for each in month.ticks} == {0}
