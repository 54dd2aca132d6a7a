"""Wiring of events: from settings to services."""
