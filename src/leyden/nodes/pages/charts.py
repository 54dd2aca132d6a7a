"""Charts of a node's last hour, day or month, as SVG that reads without scripts.

What is under the pointer is shown by `static/charts.js`, from the values in
the markup.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from leyden.base.rules import units
from leyden.nodes.rules.samples import HOUR, Sample, Span
from leyden.values import Struct

_WIDTH: Final = 100
_HEIGHT: Final = 30
_STEPS: Final = (
    *(timedelta(minutes=each) for each in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=each) for each in (1, 2, 3, 6, 12)),
    *(timedelta(days=each) for each in (1, 2, 7)),
)
_MAX_TICKS: Final = 5
_EDGE: Final = 0.06  # words in the middle of a tick there would leave the chart
_GAP: Final = 3  # so many steps without a sample: the node was down

Values = Sequence[int | None]


class Tick(Struct, frozen=True, kw_only=True):
    """A time below the charts."""

    at: datetime
    x: str  # in percent
    anchor: str  # which end of its words stands there


class Chart(Struct, frozen=True, kw_only=True):
    """A chart, and what it says in words."""

    name: str
    unit: str  # how charts.js formats a value: block, bytes, bytes/s or cores
    latest: str
    note: str
    top: str
    path: str
    values: str  # one for each time, empty where nothing is known


class _Times(Struct, frozen=True, kw_only=True):
    """When there were samples, and how far they are apart."""

    each: Sequence[datetime]
    step: timedelta


class Charts(Struct, frozen=True, kw_only=True):
    """All charts of a page, over the same times."""

    times: str  # seconds since 1970, separated by commas
    ticks: Sequence[Tick]
    each: Sequence[Chart]


def charts(samples: Sequence[Sample], span: Span = HOUR) -> Charts | None:
    """Return the charts of a node's page; none before there are two samples."""
    if len(samples) < 2:  # noqa: PLR2004  a line has two ends
        return None
    times = _Times(each=[each.at for each in samples], step=span.step)
    drawn = (
        _chain([each.height or None for each in samples], times),
        _bytes("Memory", [each.memory for each in samples], times),
        _processor([each.cpu_cores for each in samples], times),
        _bytes("Traffic in", _rates(samples, "bytes_in"), times, per="/s"),
        _bytes("Traffic out", _rates(samples, "bytes_out"), times, per="/s"),
    )
    return Charts(
        times=",".join(str(int(each.timestamp())) for each in times.each),
        ticks=_ticks(times.each[0], times.each[-1]),
        each=[each for each in drawn if each is not None],
    )


def _rates(samples: Sequence[Sample], field: str) -> Values:
    rates: list[int | None] = [None]
    for before, after in pairwise(samples):
        seconds = max(1.0, (after.at - before.at).total_seconds())
        was, is_ = getattr(before, field), getattr(after, field)
        if was is None or is_ is None:
            rates.append(None)
        else:
            # A gateway that was started anew counts from nought.
            rates.append(round(max(0, is_ - was) / seconds))
    return rates


def _bytes(name: str, values: Values, times: _Times, *, per: str = "") -> Chart | None:
    """Draw bytes; nothing where none are known."""
    highest = max((each for each in values if each is not None), default=None)
    if highest is None:
        return None
    return _chart(
        name,
        f"bytes{per}",
        values,
        times,
        note=f"at most {units.size(highest)}{per}",
        shown=lambda value: units.size(value) + per,
        bottom=0,
    )


def _processor(cores: Sequence[float | None], times: _Times) -> Chart | None:
    """Draw the use of processors in thousandths of one; nothing if it is not known."""
    values = [None if each is None else round(each * 1000) for each in cores]
    highest = max((each for each in values if each is not None), default=None)
    if highest is None:
        return None
    return _chart(
        "Processor",
        "cores",
        values,
        times,
        note=f"at most {units.cores(highest / 1000)}",
        shown=lambda value: units.cores(value / 1000),
        bottom=0,
    )


def _chain(heights: Values, times: _Times) -> Chart | None:
    """Draw the growth of the chain from its first to its last height, if known."""
    known = [each for each in heights if each is not None]
    if len(known) < 2:  # noqa: PLR2004  growth has two ends
        return None
    grown = known[-1] - known[0]
    return _chart(
        "Block height",
        "block",
        heights,
        times,
        note=f"{grown:,} new" if grown >= 0 else f"{-grown:,} undone",
        shown=lambda value: f"{value:,}",
        bottom=min(known),
    )


def _chart(
    name: str,
    unit: str,
    values: Values,
    times: _Times,
    *,
    note: str,
    shown: Callable[[int], str],
    bottom: int,
) -> Chart:
    known = [each for each in values if each is not None]
    return Chart(
        name=name,
        unit=unit,
        latest=shown(known[-1]),
        note=note,
        top=shown(max(known)),
        path=_path(values, times, bottom=bottom),
        values=",".join("" if each is None else str(each) for each in values),
    )


def _path(values: Values, times: _Times, *, bottom: int) -> str:
    highest = max(each for each in values if each is not None)
    span = max(highest - bottom, 1)
    first = times.each[0]
    span_s = max((times.each[-1] - first).total_seconds(), 1.0)
    points, last = [], None
    for value, at in zip(values, times.each, strict=True):
        if value is None:
            continue
        x = (at - first).total_seconds() / span_s * _WIDTH
        y = _HEIGHT - 1 - (value - bottom) / span * (_HEIGHT - 2)
        goes_on = last is not None and at - last <= _GAP * times.step
        points.append(f"{'L' if goes_on else 'M'}{x:.1f} {y:.1f}")
        last = at
    return "".join(points)


def _ticks(first: datetime, last: datetime) -> list[Tick]:
    """Return round times between the two, or the two where none is."""
    span = last - first
    step = next((each for each in _STEPS if span / each <= _MAX_TICKS), _STEPS[-1])
    beginning = datetime.fromtimestamp(0, UTC)
    at = beginning + ((first - beginning) // step + 1) * step
    found = []
    while at < last:
        found.append(_tick(at, (at - first) / span))
        at += step
    return found or [_tick(first, 0), _tick(last, 1)]


def _tick(at: datetime, share: float) -> Tick:
    anchor = "start" if share < _EDGE else "end" if share > 1 - _EDGE else "middle"
    return Tick(at=at, x=f"{share * _WIDTH:.1f}", anchor=anchor)
