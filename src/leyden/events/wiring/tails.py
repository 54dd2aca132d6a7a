"""Wiring of readers that wait for events."""

from leyden.base.platform import Platform
from leyden.events.tails import Tails


def tails_of(platform: Platform) -> Tails:
    """Return the object that wakes readers that wait for events in this process."""
    return Tails(platform.database, most=platform.settings.event_waits_per_key)
