"""Wiring of tickets: from settings to services."""
