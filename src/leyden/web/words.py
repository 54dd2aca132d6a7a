"""Figures and times as people read them."""

from datetime import datetime, timedelta

from markupsafe import Markup

_MINUTE = 60
_HOUR = 3600
_FIGURES = 10  # seconds of which tenths are worth telling
_DAY = 86_400
_KILO = 1024.0
# What a browser says of itself, and what people call it; the first that is there.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def sats(number: int) -> str:
    """Write a sum: `1,234,567 sat`."""
    return f"{number:,} sat".replace("-", "−")  # noqa: RUF001  a minus, not a hyphen


def size(number: int) -> str:
    """Write a number of bytes: `1.5 MiB`."""
    left = float(number)
    for unit in _UNITS:
        if left < _KILO or unit == _UNITS[-1]:
            break
        left /= _KILO
    return f"{left:.0f} {unit}" if unit == "B" else f"{left:.1f} {unit}"


def duration(span: timedelta | int) -> str:
    """Write how long: `3 d`, `2 h`, `5 min`, `12 s`."""
    seconds = int(span.total_seconds() if isinstance(span, timedelta) else span)
    for most, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= most:
            return f"{seconds // most} {unit}"
    return f"{max(0, seconds)} s"


def after(span: timedelta) -> str:
    """Write how long it took: `0.4 s later`, `12 min later`."""
    seconds = max(0.0, span.total_seconds())
    took = f"{seconds:.1f} s" if seconds < _FIGURES else duration(span)
    return f"{took} later"


def when(at: datetime | None, otherwise: str = "never") -> str:
    """Write a time, to the minute, in UTC; machines find it whole."""
    if at is None:
        return otherwise
    shown = at.strftime("%Y-%m-%d %H:%M UTC")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), shown)


def browser(said: str) -> str:
    """Write which browser it was: `Firefox on Linux`; else what it said of itself."""
    name = next((name for sign, name in _BROWSERS if sign in said), "")
    system = next((name for sign, name in _SYSTEMS if sign in said), "")
    if name and system:
        return f"{name} on {system}"
    return name or said or "unknown"


def state(word: str) -> str:
    """Write a state as words: `waiting_unlock` is `waiting unlock`."""
    return word.replace("_", " ")
