"""Words of pages for numbers, times and states; the API keeps its own."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from markupsafe import Markup

_MINUTE = 60
_HOUR = 3600
_TENTHS_BELOW_S = 10  # where tenths of a second are worth telling
_DAY = 86_400
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
LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Nodes
        "provisioning": "Setting up",
        "starting": "Starting",
        "waiting_init": "Waiting for wallet",
        "waiting_unlock": "Wallet locked",
        "running": "Running",
        "stopping": "Stopping",
        "stopped": "Stopped",
        "restarting": "Restarting",
        "updating": "Updating",
        "deleting": "Deleting",
        # Orders
        "waiting_payment": "Waiting for payment",
        "creating": "Creating ticket",
        "created": "Register your ticket",
        "submitted": "Finding a seller",
        "filled": "Channel bought",
        "expired": "Expired",
        "cancelled": "Cancelled",
        # Deliveries, and what is sent to a receiver
        "pending": "Pending",
        "delivered": "Delivered",
        "superseded": "Superseded",
        "active": "Active",
        "paused": "Paused",
        # Both nodes and orders, and deliveries
        "failed": "Failed",
    }
)


def sats(number: int) -> str:
    """Format an amount: `1,234,567 sat`."""
    return f"{number:,} sat".replace("-", "−")  # noqa: RUF001  a minus, not a hyphen


def duration(span: timedelta | int) -> str:
    """Format a duration: `3 d`, `2 h`, `5 min`, `12 s`."""
    seconds = int(span.total_seconds() if isinstance(span, timedelta) else span)
    for limit, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= limit:
            return f"{seconds // limit} {unit}"
    return f"{max(0, seconds)} s"


def span(of: timedelta) -> str:
    """Format a duration in a sentence: `7 days`, `1 hour`."""
    seconds = max(0, int(of.total_seconds()))
    for limit, unit in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= limit:
            number = seconds // limit
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    return f"{seconds} seconds"


def after(span: timedelta) -> str:
    """Format the time that passed: `0.4 s later`, `12 min later`."""
    seconds = max(0.0, span.total_seconds())
    took = f"{seconds:.1f} s" if seconds < _TENTHS_BELOW_S else duration(span)
    return f"{took} later"


def when(at: datetime | None, otherwise: str = "never") -> str:
    """Format a time to the minute, in UTC; the markup has the full time."""
    if at is None:
        return otherwise
    shown = at.strftime("%Y-%m-%d %H:%M UTC")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), shown)


def value(is_: object) -> str:
    """Format a value of the audit log: `none` where there is none."""
    if isinstance(is_, bool):
        return "on" if is_ else "off"
    return "none" if is_ is None or is_ == "" else str(is_)


def browser(said: str) -> str:
    """Format a browser: `Firefox on Linux`, or else its own description."""
    name = next((name for sign, name in _BROWSERS if sign in said), "")
    system = next((name for sign, name in _SYSTEMS if sign in said), "")
    if name and system:
        return f"{name} on {system}"
    return name or said or "unknown"


def label(word: str) -> str:
    """Return the words for a state: `waiting_init` is `Waiting for wallet`."""
    found = LABELS.get(word)
    return word.replace("_", " ").capitalize() if found is None else found
